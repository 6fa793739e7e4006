"""The live part of a page: sent again when it changed, to who may see it, as long as they may."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from agentpost.web import streams
from tests.waiting import PATIENCE, eventually
from tests.web.site import Site


@contextmanager
def stream(browser: httpx2.Client, url: str, **headers: str) -> Iterator[Iterator[str]]:
    """The lines of a stream, without those that only say that it lives."""
    with browser.stream("GET", url, headers=headers, timeout=PATIENCE) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield (line for line in answer.iter_lines() if line and not line.startswith((":", "retry")))


def live(page: httpx2.Response) -> str:
    match = re.search(r'hx-sse:connect="(.*?)"', page.text)
    assert match is not None
    return match[1].replace("&amp;", "&")


def event(lines: Iterator[str]) -> tuple[str, str]:
    """The id and the first lines of the next event."""
    tag = next(line for line in lines if line.startswith("id: "))
    return tag.removeprefix("id: "), next(line for line in lines if line.startswith("data: <dl"))


def test_a_change_is_sent_and_what_is_known_is_not(site: Site, browser: httpx2.Client) -> None:
    url = live(browser.get("/dashboard"))
    with stream(browser, url) as lines:
        site.work(title="Fresh")
        site.ctx.wakeups.hint(site.ann)
        first, _ = event(lines)
        assert any("Fresh" in line for line in lines)
    with stream(browser, url, **{"Last-Event-ID": first}) as lines:
        site.work(title="Newer")
        site.ctx.wakeups.hint(site.ann)
        second, _ = event(lines)
        assert first not in url
        assert second != first, "the one it has is not sent again"
    with stream(browser, "/dashboard?live=") as lines:
        assert event(lines)[0] == second, "whichever server makes it, its name is the same"


def test_a_stream_is_for_who_is_signed_in(
    site: Site, stranger: httpx2.Client, browser: httpx2.Client
) -> None:
    assert stranger.get("/dashboard?live=").status_code == 401
    with stream(browser, "/dashboard?live=") as lines:
        event(lines)
        browser.post("/sessions")
        site.ctx.wakeups.hint(site.ann)
        rest = list(lines)  # it ends
    assert [line for line in rest if line.startswith("id: ")] == []
    assert browser.get("/dashboard?live=").status_code == 401


def test_an_account_has_a_bounded_number(
    browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "PER_ACCOUNT_MAX", 1)
    with stream(browser, "/dashboard?live=") as lines:
        event(lines)
        full = browser.get("/dashboard?live=")
        assert (full.status_code, full.headers["retry-after"]) == (503, "5")

    def free() -> bool:
        with browser.stream("GET", "/dashboard?live=") as answer:
            return answer.status_code == 200

    eventually(free, PATIENCE, "the place of the stream that ended")


def test_streams_end_when_the_server_does(site: Site, browser: httpx2.Client) -> None:
    with stream(browser, "/dashboard?live=") as lines:
        event(lines)
        threading.Thread(target=site.ctx.wakeups.begin_shutdown).start()
        assert [line for line in lines if line.startswith("id: ")] == []
