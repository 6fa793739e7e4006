"""The address of a list: its filter, its page, and where the pages around it are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request

from agentpost.domain import ids
from agentpost.web.forms import Form

NEW_MAX: Final = 100
"""How many new entries are counted at most."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter of a list: its name, the chosen value in words ("": none), the address without it,
    and each value in words with its address."""

    label: str
    choice: str
    without: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Listing:
    """Which entries of a list an address asks for.

    Attributes:
        path: of the list.
        filters: the filter, as it was given.
        before: only entries older than this id; None on the first page.
        top: the newest entry of the first page when it was loaded; its live part stays with that
            one and those below it, so that nothing moves under the mouse. "" at first.
    """

    path: str
    filters: Mapping[str, str]
    before: str | None
    top: str = ""

    @classmethod
    def of(cls, request: Request, path: str, prefix: str, fields: Sequence[str] = ()) -> "Listing":
        """What an address says; ``prefix`` is that of the entries' ids, ``fields`` are the names
        of the filter's."""
        query = request.query_params
        before = query.get("before", "")
        filters = {name: query[name] for name in fields if query.get(name)}
        top = query.get("top", "")
        return cls(
            path,
            filters,
            before if ids.is_id(prefix, before) else None,
            top if ids.is_id(prefix, top) else "",
        )

    @property
    def bound(self) -> str | None:
        """The shown entries are older than this; None: the newest are shown."""
        return ids.behind(self.top) if self.top else self.before

    @property
    def newer_than(self) -> str | None:
        """Entries from here on are newer than those shown and only counted; None: count none."""
        return ids.behind(self.top) if self.top else None

    def live(self, first: str | None) -> Mapping[str, str] | None:
        """What the live part of the page asks (`PageView.live`): None on a later page. ``first``:
        the id of the first entry shown; None: there is none."""
        if self.before:
            return None
        return {"top": first} if first else {}

    def model(self, more: str | None, new_count: int = 0) -> dict[str, Any]:
        """What the template needs: the form of the filter, whether there is one, and the addresses
        of the pages around this one.

        Args:
            more: where the next page begins; None at the end.
            new_count: how many newer entries are not shown.
        """
        return {
            "form": Form({name: [value] for name, value in self.filters.items()}),
            "filtered": bool(self.filters),
            "older": self._address({**self.filters, "before": more}) if more else None,
            "arrived": new_count,
            "newest": self._address(self.filters),
            "newer": self._address(self.filters) if self.before else None,
        }

    def chips(self, choices: Mapping[str, tuple[str, Sequence[tuple[str, str]]]]) -> list[Chip]:
        """The filters; ``choices``: by field, its label and its (value, words)."""
        return [self._chip(field, label, values) for field, (label, values) in choices.items()]

    def _chip(self, field: str, label: str, values: Sequence[tuple[str, str]]) -> Chip:
        others = {name: value for name, value in self.filters.items() if name != field}
        options = [(words, self._address({**others, field: value})) for value, words in values]
        value = self.filters.get(field, "")
        return Chip(label, dict(values).get(value, value), self._address(others), options)

    def _address(self, query: Mapping[str, str]) -> str:
        return f"{self.path}?{urlencode(query)}" if query else self.path
