"""Turns of phrase that no text for users has, and the words that stand instead.

Each is a pattern, in small or capital letters. It holds for the pages of the web app, mails, helps,
errors, the README and the pages of docs/ (`tests/house/test_words.py`).
"""

import re

_THINGS = (
    r"(?:API )?(?:key|account|user|endpoint|schedule|link|database|folder|upload|backup|session"
    r"|event|project|conversation|copy)s?"
)
_CLAUSE_FIRST = (
    r"(?:^|[.;:] )(?-i:What|Whoever|Whatever|Who|Whose)\b"
    # Not a section of the specification, a heading or a question.
    r"(?! the service does \d| went wrong| should| I have| it is)(?![^.]*\?)"
)
BANNED_TURNS = {
    rf"\bma(?:kes?|de|king) (?:an?|the|another|one|new)(?: new)? {_THINGS}\b": "create",
    rf"\b{_THINGS} (?:is|are|was|were) made\b": "is created",
    r"\bmade \{": "created",
    r"\bsend (?:it|them)? ?again\b": "retry, resend or repeat",
    r"\bturn(?:s|ed)? (?:it |them |the endpoint )?(?:on|off)\b": "enable, disable",
    r"\bis (?:on|off)(?= *[.,;:)|]| and\b| or\b|$)": "is enabled, is disabled",
    r"\bnothing (?:fits|found)\b|\bnothing (?:here|yet)$": "No results, No messages yet",
    r"\bfits? (?:this|the) (?:filter|search)\b": "No results",
    r"\bnone (?:has|is|yet)\b": "none delivered yet, no ... yet",
    r"\bwithout a choice\b": "leave all unchecked",
    r"(?<!there )\b(?:is|are|was) no (?!longer\b|more than\b|less\b|need\b|e-?mail)[a-z]+": "is not"
    " a",
    r"\b(?:key|secret) so far\b": "the old key",
    r"\btells? the story\b": "show what happened",
    r"\b(?:that|which|who) (?:is|are) gone\b": "was deleted",
    r"\bof (?:its|their|your|our|one's) own\b": "own, separate",
    r"\bso that it\b": "a second sentence",
    r"\bby which\b": "with",
    r"\bhand(?:s|ed)? (?:it|them|this|over|on)\b": "pass",
    r"\bwaits? (?:for|to) be\b": "is pending, is to be",
    r"\bmail me\b": "send a link",
    r"\bpresent password\b": "current password",
    r"\bsome(?:body|body's)\b": "someone, or the role",
    r"\b(?:everybody|nobody|anybody)\b": "everyone, no one, the role",
    r"\bcome back in\b": "try again in",
    r"\bmay (?:send|read|make|do|be used)\b": "can, or permissions",
    r"\banswers? 503\b": "responds with 503",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\btak(?:es?|en) (?:it |them )?up\b(?! to\b)|\btaken back up\b": "reload, resume",
    r"\b(?:their|its) time is over\b": "has expired",
    r"\b(?:goes|go|going|went) on\b": "continues",
    r"\b(?:becomes?|became) of\b": "the outcome of",
    r"\b(?:told(?! apart| otherwise)|whoever|whatever|whenever|ours|by itself|anew|said)\b": "a"
    " plain word",
    r"\bany more\b": "no longer",
    _CLAUSE_FIRST: "the subject",
}
BANNED = {re.compile(turn, re.IGNORECASE): word for turn, word in BANNED_TURNS.items()}


def banned(text: str) -> list[str]:
    """The turns in a text, each with the words that stand instead."""
    return [
        f"{match[0].strip()!r}: write {word}"
        for turn, word in BANNED.items()
        if (match := turn.search(text))
    ]
