"""Open lists: what is shown keeps its place and tells its state, what is new is counted."""

import asyncio
from collections.abc import Iterator

import httpx2
import pytest

from agentpost.accounts import actions as accounts
from agentpost.domain import ids
from tests.messages.test_message_pages import add_message
from tests.requests.test_request_pages import add_record
from tests.web.site import Site
from tests.web.test_streams import live, stream


def part(lines: Iterator[str], last: str) -> str:
    """The next event, up to the line that has this text."""
    found = [next(lines)]
    while last not in found[-1]:
        found.append(next(lines))
    return "\n".join(found)


def live_address(browser: httpx2.Client, path: str) -> str:
    """The address of a list's live part, as one that has seen nothing."""
    return live(browser.get(path)).rpartition("live=")[0] + "live="


def test_new_messages_are_counted_and_old_ones_change(site: Site, browser: httpx2.Client) -> None:
    first = add_message(site, "the first", status="processing")
    url = live_address(browser, "/dashboard/messages?status=")
    add_message(site, "the second")
    add_message(site, "the third")
    done = "UPDATE messages SET status = 'completed' WHERE id = ?"
    site.write(lambda tx: tx.execute(done, (first,)))
    with stream(browser, url) as lines:
        shown = part(lines, "</table>")
    assert "Show 2 new messages" in shown
    assert 'href="/dashboard/messages"' in shown
    assert "the first" in shown
    assert '"state completed"' in shown
    assert "the second" not in shown


def test_only_new_ones_that_fit_are_counted(site: Site, browser: httpx2.Client) -> None:
    add_record(site, 1, status=404)
    url = live_address(browser, "/dashboard/requests?status=failed&since=1h")
    add_record(site, 2, status=200)
    add_record(site, 3, status=500)
    with stream(browser, url) as lines:
        shown = part(lines, "</table>")
    assert "Show 1 new request" in shown
    assert shown.count("<tr><td>") == 1


def test_the_first_one_appears_by_itself(site: Site, browser: httpx2.Client) -> None:
    """The request log gives no hint: the page looks every two seconds."""
    with stream(browser, live_address(browser, "/dashboard/requests")) as page:
        assert "No requests yet" in part(page, "No requests yet")
        add_record(site, path="/v1/uploads")
        assert "/v1/uploads" in part(page, "/v1/uploads")


@pytest.mark.parametrize("path", ["/dashboard/messages", "/dashboard/requests"])
@pytest.mark.parametrize("has_rows", [False, True])
def test_a_search_stays_a_list_when_what_it_names_arrives(
    site: Site, browser: httpx2.Client, path: str, has_rows: bool
) -> None:
    """A page that is loaded then opens it; a stream cannot."""
    request_id = f"{ids.REQUEST}{site.clock.now():014x}{7:018x}"
    for text in ("order-1042", request_id):
        if has_rows:
            add_message(site, f"about {text}")
        url = live_address(browser, f"{path}?q={text}")
        if text == request_id:
            add_record(site, 7, id=request_id)
        else:
            key = asyncio.run(accounts.create_key(site.ctx, site.ann, "shop")).record.id
            message_id = add_message(site, "Ship it", key_id=key, idempotency_key=text)
            add_record(site, 6, message_id=message_id)
        assert browser.get(path, params={"q": text}).status_code == (
            200 if (path, text) == ("/dashboard/requests", "order-1042") else 303
        )
        with stream(browser, url) as lines:
            assert part(lines, "data: ")


@pytest.mark.parametrize("path", ["/dashboard/messages", "/dashboard/requests"])
def test_a_later_page_stays_as_it_is(browser: httpx2.Client, path: str) -> None:
    prefix = ids.MESSAGE if path.endswith("messages") else ids.REQUEST
    assert "hx-sse:connect" in browser.get(path).text
    later = browser.get(path, params={"before": ids.last(prefix)})
    assert later.status_code == 200
    assert "hx-sse:connect" not in later.text
