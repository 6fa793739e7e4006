"""The agent's vocabulary: the words of requests, and what a sentence wants made (pure).

A request names what it wants by the object of its verb. `objects` finds that object: it cuts the
sentence at the first preposition, so that where something comes *from* or is *about* never counts.
"""

from __future__ import annotations

import re

POLITE = re.compile(
    r"^(?:(?:please|pls|ok|okay|hey|hi|hello|so|and|now|then|also|well|yes|no|great|thanks"
    r"|thank you|could you|can you|would you|will you|i'?d like you to|i want you to|let'?s|kindly"
    r"|just)\b[,.!]?\s*)+"
)
STOP = re.compile(
    r"^(?:stop|cancel|abort|halt|kill|quit|never ?mind|forget (?:it|that|about it))\b"
    r"|^don'?t (?:bother|continue|do (?:it|that))|^leave it\b"
)
STATUS = re.compile(
    r"^(?:status|progress|update|any (?:news|progress|update)s?|how(?:'s| is| are) (?:it|that"
    r"|things|the \w+) (?:going|coming(?: along)?|doing)|how far|are you (?:done|ready|finished)"
    r"|is (?:it|that|the \w+) (?:done|ready|finished)|done\??$|what are you doing|still (?:running"
    r"|working)|how (?:much )?longer|what'?s (?:running|the status|happening))\b"
)
_MAKE = (
    r"make|create|build|generate|write|produce|prepare|render|compose|design|draft|put together"
    r"|whip up|draw|do|prepare|record|film|paint|code|develop|print|export"
)
_SOFT = (
    r"give me|show me|get me|send me|i need|i want|i'?d like|we need|need|want|how about|what about"
)
VERB = re.compile(rf"\b(?:(?P<hard>{_MAKE})|(?P<soft>{_SOFT}))\s+(?:me |us )?(?P<object>.+)$")
_TURN = re.compile(
    r"\b(?:turn|convert|transform|change|make|export|save|put|render|show|draw|visuali[sz]e|format)"
    r"\b.*?\s(?:into|to|as|in)\s+(?P<object>(?:an?|the|some)?\s*[\w ]+)$"
)
_CHART_VERB = re.compile(r"^(?:plot|graph|chart|visuali[sz]e)\s+\S")
SUMMARY_VERB = re.compile(
    r"^(?:summari[sz]e|sum up|recap|condense|shorten|describe (?:the|this|these|my|attached)"
    r"|tl;?dr|what(?:'s| is| are) (?:this|these|it|in (?:this|these|the|it)"
    r"|the (?:main|key) (?:points?|takeaways?|messages?|ideas?))(?! \w+ \w+ \w+ \w+ \w+)"
    r".*?(?:about|files?|documents?|points?|takeaways?|messages?|ideas?|of (?:it|this))?\??$)"
)
_SPLIT = re.compile(
    r"\b(?:from|of|for|using|based|about|with|by|out|showing|that|which|on|in|over|per|comparing"
    r"|where|from|titled|called|named|instead|so|to|as|at)\b|[.:;?!\n]"
)
_NOUNS: tuple[tuple[str, str], ...] = (
    ("chart", (
        r"charts?|graphs?|plots?|histograms?|pies?|donuts?|visuali[sz]ations?|diagrams?"
              r"|scatter ?plots?|bars|lines|trends?"
    )),
    ("summary", (
        r"summar(?:y|ies)|overviews?|recaps?|digests?|abstracts?|gist|tl;?dr|synopsis"
                r"|key points|main points|highlights|takeaways|bullet points"
    )),
    ("report", (
        r"reports?|documents?|docs?|docx|pdfs?|word files?|write-?ups?|papers?|memos?"
               r"|word"
    )),
)  # fmt: skip
_UNABLE: tuple[tuple[str, str], ...] = (
    ("slide decks", r"decks?|slides?|slide ?shows?|presentations?|power ?points?|pptx?|keynotes?"),
    ("websites", r"web ?sites?|sites?|web ?pages?|landing pages?|home ?pages?|blogs?"),
    ("videos", r"videos?|animations?|movies?|clips?|films?|reels?|gifs?"),
    ("pictures", (
        r"images?|pictures?|photos?|logos?|illustrations?|paintings?|icons?|posters?"
                 r"|banners?|cats?|dogs?"
    )),
    ("sound", r"audios?|podcasts?|songs?|music|voice ?overs?|sounds?"),
    ("spreadsheets", r"spread ?sheets?|excel(?: files?)?|xlsx|workbooks?|csvs?"),
    ("programs", r"apps?|games?|programs?|scripts?|code|functions?"),
    ("translations", r"translations?"),
    ("e-mails", r"e-?mails?|messages?|letters?|newsletters?"),
)  # fmt: skip
OTHER_WISH = re.compile(
    r"^(translate|send|e-?mail|call|book|buy|order|post|publish|tweet|schedule|remind|search the"
    r" (?:web|internet)|google|browse|download|edit|fix|rewrite|improve|proofread|sing|play|record"
    r"|sort|merge|delete|rename)\b"
)
QUESTION = re.compile(
    r"^(?:what|who|whom|whose|when|where|why|which|how|is|are|was|were|do|does|did|has|have|had"
    r"|can|could|should|will|would|may|might|find|tell|list|explain|look up|look for|count|compare"
    r"|calculate|compute|search|show|give|total|sum|average|mean|median|number of|name|quote"
    r"|according|highest|lowest|largest|max|min)\b"
)
ABILITY = re.compile(
    r"^(?:help|what can (?:you|i) (?:do|ask|make)|what do you do|who are you|what are you"
    r"|how does this work|how do i use|what (?:else )?(?:are you able|is possible)|commands?$)"
)
CHANGE = re.compile(
    r"^(?:make|change|turn|switch|set|colou?r|redo|redraw|try|use|show|draw|do|call|title|rename"
    r"|convert|keep|add|remove|have|can|could|i want|i'?d like)\b.{0,40}?\b(?:it|that|this|them"
    r"|the (?:chart|graph|plot|bars?|lines?|report|summary|title|document|pdf|colou?rs?))\b"
    r"|\binstead\b|^(?:a bit |much |even )?(?:shorter|longer|briefer|more detail(?:ed|s)?|less"
    r" detail|horizontal|vertical)\b|^(?:as|in|by|per|only|use|try)\s(?:\S+\s?){1,6}$"
    r"|^(?:top|largest) \d+\b|^title\b|^again\b"
)
_FILE_NAME = re.compile(r"\b[\w-]+\.(?:csv|tsv|xlsx?|md|txt|pdf|docx?|html?|json|pptx)\b")


_OTHER_CHARTS = re.compile(
    r"\b(radar|spider|bubble|area|stacked(?: (?:bar|area|line))?|box|candle ?stick|gantt|sankey"
    r"|waterfall|funnel|gauge|3-?d|animated|interactive|violin|sunburst|polar)"
    r" (?:charts?|graphs?|plots?|diagrams?|bars?)\b"
    r"|\b(heat ?maps?|tree ?maps?|box ?plots?|choropleths?|maps)\b"
)
_OTHER_FORMATS = {
    "chart": re.compile(
        r"\b(?:as|in|to|into) (?:an? )?(svg|jpe?g|gif|webp|html|tiff?|eps|bmp|pdf|docx?|word"
        r"|xlsx?|excel)\b(?! (?:i|you) (?:sent|attached))"
    ),
    "report": re.compile(
        r"\b(?:as|to|into) (?:an? )?(odt|rtf|epub|la ?tex|html|txt|xlsx?|excel|markdown|md|csv)\b"
    ),
}


def beyond(text: str, makes: tuple[str, ...]) -> str:
    """A kind or format asked for that we cannot make, as the object of a sentence; else empty."""
    for make in makes:
        if make == "chart" and (other := _OTHER_CHARTS.search(text)):
            kind = (other[1] or other[2]).removesuffix("s")
            return f"{kind} charts" if other[1] else f"{kind}s"
        pattern = _OTHER_FORMATS.get(make)
        if pattern is not None and (other := pattern.search(text)):
            return f"a {make} as {other[1].upper()}"
    return ""


def objects(text: str) -> tuple[tuple[str, ...], str]:
    """What a text wants made (``chart report summary``), and what it wants that we cannot make."""
    text = _FILE_NAME.sub("it", text).strip()
    if _CHART_VERB.search(text):
        return ("chart",), ""
    if SUMMARY_VERB.match(text):
        return ("summary",), ""
    turned = _TURN.search(text)
    if turned:
        found = _nouns(turned["object"])
        if found[0] or found[1]:
            return found
    wondering = re.match(r"^(?:what|who|when|where|why|how|which|whose)\b(?! about)", text)
    verb = None if wondering else VERB.search(text)
    if verb is not None:
        thing = _SPLIT.split(verb["object"], maxsplit=1)[0]
        found = _nouns(thing)
        if found[0] or found[1]:
            if found[1] == "pictures" and re.search(r"\b(?:charts?|graphs?|plots?)\b", text):
                return ("chart",), ""
            return found
        if verb["hard"] == "draw" and re.search(r"\bby\b|\bover\b|\bper\b", text):
            return ("chart",), ""
        known = re.match(r"(?:it|that|this|them|the|what|any|sure)\b", verb["object"])
        starts = text.startswith(verb["hard"] or "\0")
        if verb["hard"] not in (None, "do") and starts and not known:
            return (), "pictures" if verb["hard"] in ("draw", "paint") else thing.strip() or "that"
        return (), ""
    if wondering or QUESTION.match(text):
        return (), ""
    lead = _SPLIT.split(text, maxsplit=1)[0]
    return _nouns(lead) if len(lead.split()) <= 5 else ((), "")


def _nouns(phrase: str) -> tuple[tuple[str, ...], str]:
    makes: list[str] = []
    unable = ""
    for part in re.split(r"\band\b|\bplus\b|,|&|\bas well as\b", phrase):
        last = (-1, "", True)
        for able, table in ((True, _NOUNS), (False, _UNABLE)):
            for name, pattern in table:
                for match in re.finditer(rf"\b(?:{pattern})\b", part):
                    last = max(last, (match.end(), name, able))
        if last[1] and last[2]:
            makes.append(last[1])
        elif last[1]:
            unable = unable or last[1]
    return tuple(dict.fromkeys(makes)), unable
