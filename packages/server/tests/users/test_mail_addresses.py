"""E-mail addresses of accounts: what no mail can reach is refused."""

import pytest

from agentpost.users.address_rules import check_mail_address


@pytest.mark.parametrize(
    "address",
    [
        "owner@example.com",
        "owner@localhost",
        "first.last+tag@mail.example.co.uk",
        "o'neil_{a}!#$%&*/=?^`|~-@example.com",
        "jörg@example.com",
        "用户@例子.公司",
        "a@b_c-d",
        "a" * 242 + "@example.com",
    ],
)
def test_plain_addresses_are_taken_as_they_are(address: str) -> None:
    assert check_mail_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "@",
        "ops team",
        "\N{KELVIN SIGN}ate@example.com",
        "ops",
        "ops@",
        "@example.com",
        "ops team@example.com",
        " ops@example.com",
        "ops@example.com\n",
        "ops\r\nBcc: eve@example.com",
        "ops@exam\tple.com",
        "ops\x00@example.com",
        "ops\x7f@example.com",
        "ops\u200b@example.com",
        "ops\xa0@example.com",
        "ops\ud800@example.com",
        "a@b@c",
        "a@b, c@d",
        "a@b; c@d",
        "Ops <ops@example.com>",
        "<ops@example.com>",
        '"ops team"@example.com',
        "ops(team)@example.com",
        "ops:a@example.com",
        "ops\\a@example.com",
        "ops@[127.0.0.1]",
        ".ops@example.com",
        "ops.@example.com",
        "o..ps@example.com",
        "ops@example..com",
        "ops@example.com.",
        "ops@.example.com",
        "a" * 243 + "@example.com",
    ],
)
def test_an_address_no_mail_can_reach_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="name@host"):
        check_mail_address(address)
