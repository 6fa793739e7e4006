"""Turns of phrase that no text for users has, and the words that stand instead.

Each is a pattern, in small or capital letters. `texts.page_texts` collects the texts of the web app
and the mails, which have none of these turns.
"""

import re

BANNED_TURNS = {
    r"\bmakes? (a|an|the|another|one|it|them)\b": "create",
    r"\b(is|are|was) made\b": "created",
    r"\bmade \{": "created",
    r"\bsend (it|them)? ?again\b": "retry, resend or repeat",
    r"\bturn(ed)? (it |them |the endpoint )?(on|off)\b": "enable, disable",
    r"\bis (on|off)\b": "is enabled, is disabled",
    r"\bnothing (fits|here|yet|found)\b": "No results, No messages yet",
    r"\bfits? (this|the) (filter|search)\b": "No results",
    r"\bnone (has|is|yet)\b": "none delivered yet, no ... yet",
    r"\bwithout a choice\b": "leave all unchecked",
    r"\bis no\b(?! (longer|email|e-mail))": "is not a",
    r"\b(key|secret) so far\b": "the old key",
    r"\btells? the story\b": "show what happened",
    r"\b(that|which|who) (is|are) gone\b": "deleted",
    r"\bof (its|their|your|our) own\b": "own, separate",
    r"\bso that it\b": "a second sentence",
    r"\bby which\b": "with",
    r"\bat once\b": "immediately",
    r"\bhand(s|ed)? (it|them|this|over|on)\b": "pass on",
    r"\bwaits? (for|to) be\b": "pending",
    r"\bmail me\b": "send a link",
    r"\bpresent password\b": "current password",
    r"\bsomebody\b": "someone, or the role",
    r"\b(everybody|nobody|anybody)\b": "everyone, the role",
    r"\bcome back in\b": "try again in",
    r"\bmay (send|read|make|do|be used)\b": "can, or permissions",
    r"\banswers? 503\b": "responds with 503",
    r"\bmend(s|ed)?\b": "fix",
    r"\btaken? (up|back up)\b": "reload, resume",
    r"\b(until|till) you mend\b": "until you fix",
    r"\btheir time is over|its time is over\b": "has expired",
    r"(?:^|[.;:] )(What|Whoever|Whatever|Who|Whose)\b(?![^.]*\?)(?! went wrong)": "the subject",
}
BANNED = {re.compile(turn, re.IGNORECASE): word for turn, word in BANNED_TURNS.items()}


def banned(text: str) -> list[str]:
    """The turns in a text, each with the words that stand instead."""
    return [
        f"{match[0].strip()!r}: write {word}"
        for turn, word in BANNED.items()
        if (match := turn.search(text))
    ]
