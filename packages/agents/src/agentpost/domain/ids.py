"""Public ids: a prefix that names the kind and 32 hex digits that sort by time of creation.

Time order is what keeps inserts cheap: new rows land at the end of every index.
"""

import re
from typing import Final

ACCOUNT: Final = "acc_"
KEY: Final = "key_"
CONVERSATION: Final = "cnv_"
MESSAGE: Final = "msg_"
JOB: Final = "exe_"
REFUSAL: Final = "ref_"
WORK: Final = "wrk_"
UPLOAD: Final = "up_"
ENDPOINT: Final = "whe_"
EVENT: Final = "evt_"
REQUEST: Final = "req_"
LEDGER: Final = "led_"
SIGNAL: Final = "sig_"
NODE: Final = "node_"
MAIL: Final = "mail_"
SCHEDULE: Final = "sch_"
USER: Final = "usr_"
ACTION: Final = "act_"

_LATEST: Final = 2**56 - 1
_TAIL = re.compile(r"[0-9a-f]{32}")


def compose(prefix: str, now: int, entropy: bytes) -> str:
    """Build an id from a time in microseconds and 9 random bytes."""
    return prefix + now.to_bytes(7, "big").hex() + entropy.hex()


def at(prefix: str, now: int) -> str:
    """Sorts before every id of that kind made at that time (in microseconds) or later, and behind
    all earlier ones."""
    return prefix + min(max(now, 0), _LATEST).to_bytes(7, "big").hex()


def last(prefix: str) -> str:
    """Sorts behind every id of that kind, in whatever language's order a database sorts text."""
    return prefix + "f" * 32


def behind(one: str) -> str:
    """Sorts right behind that id: no other id of its kind is between them."""
    return one + "0"


def pattern(prefix: str) -> str:
    """What `is_id` takes, as a regular expression of JSON Schema."""
    return f"^{prefix}{_TAIL.pattern}$"


def is_id(prefix: str, text: str) -> bool:
    """Whether the text has the shape of an id of that kind; anything else is a plain 404."""
    return text.startswith(prefix) and _TAIL.fullmatch(text, len(prefix)) is not None
