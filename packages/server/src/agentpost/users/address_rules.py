"""E-mail addresses of accounts: plain ones, that mail can be sent to."""

import re

from agentpost.domain.limits import EMAIL_CHARACTERS_MAX

_ATOM = r"""[^\s.@()<>\[\]:;,\\"]+"""
_ADDRESS = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_ATOM}(?:\.{_ATOM})*")


def check_mail_address(address: str) -> str:
    """The address, if mail can be sent to it; raises `ValueError` saying what one looks like.

    One name and one host, parted by an @; letters of any language. Quoted names, comments and
    addresses in brackets are left out: nobody has one, and each is a way to mean something else.
    A host needs no dot (``owner@localhost``). A letter that becomes one of ASCII in lower case (the
    sign of the Kelvin) is refused: the address would be taken for another one.
    """
    plain = address.isprintable() and len(address) <= EMAIL_CHARACTERS_MAX
    turns_plain = any(not letter.isascii() and letter.lower().isascii() for letter in address)
    if not plain or turns_plain or not _ADDRESS.fullmatch(address):
        raise ValueError(f"an e-mail address looks like name@host, not like {address[:80]!a}")
    return address
