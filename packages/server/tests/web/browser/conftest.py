"""A browser for all tests of this folder, and a visitor with clean pages for each."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.e2e.server import AgentServer
from tests.web.browser import chromium

FRAMED = "/frame/"
"""A browser complains of each thing that a page which an agent made wanted and did not get."""
FOLDER = Path(__file__).parent
BROWSER = pytest.StashKey[tuple[ExitStack, Browser]]()


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Browser:
    """One Chromium, until a test of another folder comes next."""
    if chromium.find_program() is None:
        pytest.skip(chromium.MISSING)
    stash = request.session.stash
    if BROWSER not in stash:
        running = ExitStack()
        request.config.add_cleanup(running.close)
        stash[BROWSER] = running, running.enter_context(chromium.started())
    return stash[BROWSER][1]


def end_browser(session: pytest.Session) -> None:
    """Harmless when there is none."""
    if BROWSER in session.stash:
        running, _ = session.stash[BROWSER]
        del session.stash[BROWSER]
        running.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """No test with an event loop runs beside the browser."""
    yield
    if nextitem is None or FOLDER not in nextitem.path.parents:
        end_browser(item.session)


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor without cookies; a complaint of the browser about a page fails the test."""
    with chromium.visiting(browser) as (context, problems):
        yield context
        assert [each for each in problems if FRAMED not in each] == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """The module's server, whose agent does what a message says."""
    running = AgentServer(tmp_path_factory.mktemp("server")).start()
    yield running
    running.stop()


@pytest.fixture
def page(visitor: BrowserContext, server: AgentServer) -> Page:
    """The visitor's page: signed in, at the list of chats."""
    return chromium.opened(visitor, server, "/chat")
