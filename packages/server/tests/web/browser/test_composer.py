"""The composer in a real browser: files dropped, refused, cancelled and large; nothing typed is
lost."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from agentpost.domain import limits
from tests.e2e.server import AgentServer

MEGABYTE = 2**20
DROP = """([name, size, count]) => {
  const data = new DataTransfer();
  for (let n = 0; n < count; n += 1) {
    data.items.add(new File([new Uint8Array(size)], count > 1 ? `${n}-${name}` : name));
  }
  for (const kind of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector("main").dispatchEvent(event);
  }
}"""


def test_dropped_files_are_sent_and_too_many_are_not(page: Page) -> None:
    most = limits.UPLOADS_PER_MESSAGE_MAX
    page.get_by_label("Message", exact=True).fill("all of them")
    page.evaluate(DROP, ["part.txt", 8, most + 1])
    expect(page.get_by_text(f"up to {most} files: {most}-part.txt was not added")).to_be_visible()
    expect(page.locator(".chips li.ready")).to_have_count(most)
    page.get_by_role("button", name="Remove 0-part.txt").click()
    expect(page.get_by_text("was not added")).to_have_count(0)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("You said: all of them")).to_be_visible()
    expect(page.locator(".bubble .chips li")).to_have_count(most - 1)


def test_text_is_dropped_as_text(page: Page) -> None:
    """A browser's own way with dropped text is not stopped."""
    stopped = page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.setData("text/plain", "dragged");
          const how = { dataTransfer: data, bubbles: true, cancelable: true };
          const event = new DragEvent("drop", how);
          return !document.querySelector("textarea").dispatchEvent(event);
        }"""
    )
    assert stopped is False


@pytest.mark.parametrize(
    ("step", "text"),
    [(r"/chat/uploads$", "before the upload"), (r"(?<!chat)/uploads$", "during the upload")],
)
def test_an_upload_is_cancelled_while_the_message_waits_for_it(
    page: Page, step: str, text: str
) -> None:
    """The texts differ: the list of chats still has that of the case before."""
    pending: list[Route] = []

    def hold(route: Route) -> None:
        pending.append(route)

    page.route(re.compile(step), hold)  # it never ends
    page.get_by_label("Message", exact=True).fill(text)
    with page.expect_request(re.compile(step)):
        page.evaluate(DROP, ["slow.bin", 64, 1])
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Sends when the files are there…")).to_be_visible()
    page.get_by_role("button", name="Remove slow.bin").click()
    expect(page.get_by_text(f"You said: {text}")).to_be_visible()
    expect(page.locator(".bubble .chips")).to_have_count(0)
    for route in pending:  # a browser that still has one may not close the page
        route.abort()


def test_a_file_that_moves_under_the_pointer_is_removed_all_the_same(page: Page) -> None:
    """Its neighbour's progress grows between press and release."""
    page.evaluate(DROP, ["moving.txt", 8, 1])
    expect(page.locator(".chips li.ready")).to_have_count(1)
    button = page.get_by_role("button", name="Remove moving.txt")
    box = button.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    button.evaluate("button => { button.closest('li').style.marginInlineStart = '20rem'; }")
    page.mouse.up()
    expect(button).to_have_count(0)


def test_a_broken_upload_says_so_and_keeps_the_text(page: Page) -> None:
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    box = page.get_by_label("Message", exact=True)
    box.fill("typed before")
    program = FilePayload(name="a.txt", mimeType="text/plain", buffer=b"\x7fELF" + bytes(64))
    page.locator("input[type=file]").set_input_files(program)
    expect(page.locator(".chips li.failed").get_by_text("an executable")).to_be_visible()
    box.press("Enter")
    expect(page.get_by_text("Remove the file that could not be sent.")).to_be_visible()
    expect(box).to_have_value("typed before")
    page.get_by_role("button", name="Remove a.txt").click()
    box.press("Enter")
    expect(page.get_by_text("You said: typed before")).to_be_visible()
    assert problems == []


def test_a_large_file_goes_up_in_flat_memory(
    page: Page, server: AgentServer, tmp_path: Path
) -> None:
    """200 MB, some seconds: the size that people send is what matters here."""
    large = tmp_path / "large.bin"
    with large.open("wb") as file:
        file.truncate(200 * MEGABYTE)
    before = peak(server)
    page.locator("input[type=file]").set_input_files(large)
    expect(page.locator(".chips progress")).to_be_visible()
    expect(page.locator(".chips li.ready")).to_be_visible()
    assert peak(server) - before < 60 * MEGABYTE
    page.get_by_label("Message", exact=True).fill("a large one")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".bubble").get_by_text("large.bin")).to_be_visible()


def peak(server: AgentServer) -> int:
    """The most memory that the server has had so far, in bytes."""
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert match is not None
    return int(match[1]) * 1024


def test_a_long_text_is_seen_and_whole_and_what_was_sent_does_not_come_back(page: Page) -> None:
    box = page.get_by_label("Message", exact=True)
    low = box.evaluate("box => box.clientHeight")
    box.focus()
    page.keyboard.insert_text("words " * 4_000)
    assert len(box.input_value()) == 24_000, "the server says that it is too long"
    assert box.evaluate("box => box.clientHeight") > 4 * low
    box.fill("short")
    box.press("Enter")
    page.wait_for_url("**/chat/*")  # the list of chats may show the answer before
    expect(page.get_by_text("You said: short")).to_be_visible()
    page.go_back()
    expect(box).to_have_value("")
