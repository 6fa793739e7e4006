"""How long it takes to make a regular expression ready, told by its text.

The engine works it out in one piece, and nothing else runs meanwhile. Classes of characters take
long, some of which have hundreds of ranges, and repetitions, which are written out.
"""

import re
from typing import Final

_ANY: Final = 8
_SET: Final = 16
_DIGIT: Final = 20
_SPACE: Final = 120
_CLASS: Final = 60
_PROPERTY: Final = 350
_ANY_CASE: Final = 200
_WIDE_RANGE: Final = 4_500
"""In units that a literal character costs, about a microsecond. Without regard to case, each letter
of a range is looked up."""
_ATOM: Final = re.compile(
    r"""(?P<property>\\[pP](?:\{[^}]*\}|.))
      | (?P<digit>\\d)
      | (?P<space>\\s)
      | (?P<class>\\[wWDSbB]|\[\[:\^?\w+:\]\])
      | (?P<set>\[(?:\\.|\[[^\]]*\]|[^\]\\])*\])
      | (?P<any>\.)
      | (?P<open>\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?)
      | (?P<close>\))
      | (?P<counted>\{(?P<least>\d{1,6})(?P<comma>,(?P<most>\d{1,6})?)?\})
      | (?P<other>\\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_CLASSES: Final = re.compile(r"\\[A-Za-z]")
_COSTS: Final = {
    "property": _PROPERTY,
    "digit": _DIGIT,
    "space": _SPACE,
    "class": _CLASS,
    "set": _SET,
    "any": _ANY,
    "other": 1,
}
_INNER_CLASS: Final = re.compile(r"\\[wWdDsS]|\[:")
_INNER_PROPERTY: Final = re.compile(r"\\[pP]")
_RANGE: Final = re.compile(r"-(?:[^\x00-\x7f]|\\[xuU])")
"""A range to another end than a letter of ASCII."""
_IGNORE_CASE: Final = re.compile(r"\(\?[a-zA-Z]*i")


def pattern_cost(pattern: str) -> int:
    """About how many microseconds; a pattern that cannot be read has some cost as well.

    Compared with the engine (Rust's, of jsonschema-rs) on random patterns: a schema whose
    patterns cost 5,000 together takes 5 ms of a quiet machine at the most.
    """
    ignores_case = _IGNORE_CASE.search(pattern) is not None
    groups, last = [0], [0]  # of each open group: what it costs, and its last part
    for match in _ATOM.finditer(pattern):
        if match["open"]:
            groups.append(0)
            last.append(0)
        elif match["close"]:
            if len(groups) > 1:
                cost = groups.pop()
                last.pop()
                groups[-1] += cost
                last[-1] = cost
        elif match["counted"]:
            times = int(match["most"] or match["least"]) + (match["comma"] is not None)
            groups[-1] += last[-1] * max(times - 1, 0)
            last[-1] *= max(times, 1)
        else:
            cost = _atom_cost(match, ignores_case=ignores_case)
            groups[-1] += cost
            last[-1] = cost
    cost = sum(groups) + (_ANY_CASE if ignores_case else 0)
    # Classes in a row, each written out, take as long as their number squared.
    return max(cost, len(pattern) + 2 * len(_CLASSES.findall(pattern)) ** 2)


def _atom_cost(match: re.Match[str], *, ignores_case: bool) -> int:
    kind = next(name for name in _COSTS if match[name])
    cost = _COSTS[kind]
    if kind != "set":
        return 2 * cost if ignores_case else cost
    text = match[0]
    cost += len(text) + _CLASS * len(_INNER_CLASS.findall(text))
    cost += _PROPERTY * len(_INNER_PROPERTY.findall(text))
    if ignores_case:
        cost += _WIDE_RANGE * len(_RANGE.findall(text))
    return cost
