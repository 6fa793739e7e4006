"""A browser for each module, and a visitor with clean pages for each test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.web.browser import chromium

FRAMED = "/frame/"
"""A browser complains of each thing that a page which an agent made wanted and did not get."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium; started for a module, since no test with an event loop runs beside it."""
    if chromium.found() is None:
        pytest.skip(chromium.MISSING)
    with chromium.started() as started:
        yield started


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor without cookies; a complaint of the browser about a page fails the test."""
    with chromium.visiting(browser) as (context, problems):
        yield context
        assert [each for each in problems if FRAMED not in each] == []


@pytest.fixture
def page(visitor: BrowserContext) -> Page:
    """The visitor's page."""
    return visitor.new_page()
