"""A chat in a real browser: live steps, answers, uploads, what was typed, and hostile texts."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, Route, expect

from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import axe, sign_in, visiting

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    """A server whose agent does what a message says."""
    running = AgentServer(tmp_path_factory.mktemp("server")).start()
    yield running
    running.stop()


@pytest.fixture
def page(visitor: BrowserContext, server: AgentServer) -> Page:
    """Signed in, at the list of chats."""
    sign_in(visitor, server.command("login-link")["url"])
    opened = visitor.new_page()
    opened.goto(f"{server.url}/chat")
    return opened


def say(page: Page, *operations: object) -> None:
    """Write a script of the agent and send it with Enter."""
    box = page.get_by_label("Message", exact=True)
    box.fill(json.dumps(operations) if not isinstance(operations[0], str) else operations[0])
    box.press("Enter")
    page.wait_for_url("**/chat/*")  # of a new chat; the list of chats may show the answer before


def job(page: Page, title: str) -> Locator:
    return page.get_by_role("article", name=title)


def test_steps_come_live_and_typed_text_stays(page: Page, server: AgentServer) -> None:
    steps = [
        ["progress", "Reading"],
        ["gate", "live"],
        ["progress", "Writing"],
        ["return", "Ready" + "\n\nA long answer." * 60],
    ]
    say(page, ["start", "Slow", steps])
    expect(job(page, "Slow").get_by_text("Reading")).to_be_visible()
    box = page.get_by_label("Message", exact=True)
    box.fill("half typed")
    other = page.context.new_page()
    other.goto(page.url)
    expect(job(other, "Slow").get_by_text("Reading")).to_be_visible()
    server.await_gate("live")
    server.open_gate("live")
    for tab in (page, other):
        expect(job(tab, "Slow").get_by_text("Ready")).to_be_visible()
        expect(job(tab, "Slow").get_by_text("completed")).to_be_visible()
        expect(job(tab, "Slow").get_by_role("heading")).to_be_in_viewport()
    expect(box).to_have_value("half typed")
    assert axe(page) == []
    page.mouse.wheel(0, -100_000)  # who reads further up stays there
    expect(page.locator(".bubble").first).to_be_in_viewport()
    say(other, "more")
    expect(page.get_by_text("You said: more")).to_be_attached()
    expect(page.locator(".bubble").first).to_be_in_viewport()


def test_a_script_that_arrives_late_costs_no_update(page: Page) -> None:
    def late(route: Route) -> None:
        page.wait_for_timeout(200)
        route.continue_()

    page.route("**/hx-sse.js", late)
    with page.expect_response(lambda answer: "live=" in answer.url):
        page.reload()


def test_an_update_that_could_not_be_shown_is_sent_again(
    browser: Browser, server: AgentServer
) -> None:
    with visiting(browser) as (context, problems):
        sign_in(context, server.command("login-link")["url"])
        page = context.new_page()
        page.goto(f"{server.url}/chat")
        say(page, "in a chat")
        expect(page.get_by_text("You said: in a chat")).to_be_visible()
        page.evaluate(
            """() => {
              const swap = htmx.swap;
              htmx.swap = async () => { htmx.swap = swap; throw new Error("not shown"); };
            }"""
        )
        say(page, "seen all the same")
        expect(page.get_by_text("You said: seen all the same")).to_be_visible()
        expect(page.get_by_role("status").get_by_text("Reconnecting")).to_have_count(0)
    assert [each for each in problems if "not shown" not in each] == []


@pytest.mark.rule("Transitions 9", "listWork.order")
def test_a_running_job_is_stopped(page: Page, server: AgentServer) -> None:
    say(page, ["start", "Endless", [["progress", "Waiting"], ["gate", "never"]]])
    expect(job(page, "Endless")).to_be_visible()
    headers = {"Authorization": f"Bearer {KEY}"}
    listed = httpx2.get(f"{server.url}/v1/work", headers=headers).json()["data"]
    assert (listed[0]["title"], listed[0]["status"]) == ("Endless", "running")
    job(page, "Endless").get_by_role("button", name="Stop").click()
    expect(job(page, "Endless").get_by_text("It was stopped.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    job(page, "Endless").get_by_role("button", name="Try again").click()
    expect(page.get_by_text("You said: Try again")).to_be_visible()


def test_a_question_is_answered_in_place(page: Page) -> None:
    say(page, ["ask", "Which month?"])
    answer = page.get_by_label("Your answer")
    expect(page.get_by_text("Which month?").last).to_be_visible()
    answer.fill("May")
    answer.press("Enter")
    expect(page.get_by_text("You said: May")).to_be_visible()
    expect(answer).to_have_count(0)
    parcel = {
        "type": "object",
        "properties": {
            "kilograms": {"type": "number", "description": "With the box."},
            "express": {"type": "boolean"},
            "to_whom": {"type": "string", "title": "To whom?"},
        },
        "required": ["kilograms", "express"],
    }
    say(page, ["ask", "What is to be sent?", {"schema": parcel}])
    weight = page.get_by_label("Kilograms")
    expect(weight).to_be_visible()
    assert axe(page) == []
    weight.fill("2.5")
    weight.press("Enter")
    expect(page.get_by_text("2.5").last).to_be_visible()
    expect(weight).to_have_count(0)
    say(page, ["ask", "Which size?", {"choices": ["Small", "Large"]}])
    expect(page.get_by_role("button", name="Large")).to_be_visible()
    assert axe(page) == []


def test_what_went_wrong_says_what_to_do(page: Page) -> None:
    say(page, ["start", "Broken", [["fail", "There is no column called month."]]])
    card = job(page, "Broken")
    expect(card.get_by_text("There is no column called month.")).to_be_visible()
    expect(card.get_by_text("change the message or the file")).to_be_visible()


def test_files_go_up_with_progress(page: Page, tmp_path: Path) -> None:
    large, gone = tmp_path / "large.bin", tmp_path / "gone.txt"
    large.write_bytes(b"\0" * 12 * MEGABYTE)
    gone.write_text("not this one")
    page.locator("input[type=file]").set_input_files([large, gone])
    page.get_by_role("button", name="Remove gone.txt").click()
    page.get_by_label("Message", exact=True).fill("with a file")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("You said: with a file")).to_be_visible()
    expect(page.locator(".bubble").get_by_text("large.bin")).to_be_visible()
    expect(page.locator(".bubble").get_by_text("Preview", exact=True)).to_have_count(0)
    expect(page.get_by_text("gone.txt")).to_have_count(0)


def test_a_refused_file_says_why(page: Page, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF" + b"\0" * 64)
    page.locator("input[type=file]").set_input_files(program)
    expect(page.get_by_text("is an executable")).to_be_visible()
    page.get_by_label("Message", exact=True).fill("keep me")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Remove the file that could not be sent.")).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("keep me")


def test_hostile_texts_and_files_do_nothing(page: Page, tmp_path: Path) -> None:
    """Nothing runs: a dialog would open, and the browser would complain about the policy."""
    dialogs: list[str] = []

    def opened(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", opened)
    evil = tmp_path / f"{EVIL.replace('/', '')}.txt"
    evil.write_text(EVIL)
    page.locator("input[type=file]").set_input_files(evil)
    made = f"<!doctype html><p>made</p>{EVIL}"
    markdown = f"{EVIL} [link](javascript:alert(3)) ![](https://evil.example/x.png)"
    steps = [["write", "page.html", made], ["write", "notes.md", markdown], ["return", markdown]]
    say(page, ["start", EVIL, steps], ["reply", markdown])
    expect(page.get_by_text("completed", exact=True).last).to_be_visible()
    page.locator("iframe").scroll_into_view_if_needed()
    expect(page.frame_locator("iframe").get_by_text("made")).to_be_visible()
    expect(page.get_by_text("onerror=alert(1)").last).to_be_visible()
    page.goto(page.url.partition("/chat")[0] + "/chat")
    expect(page.get_by_text("onerror=alert(1)").first).to_be_visible()
    assert dialogs == []


def test_two_people_see_nothing_of_each_other(
    page: Page, server: AgentServer, browser: Browser
) -> None:
    say(page, "a secret")
    expect(page.get_by_text("You said: a secret")).to_be_visible()
    server.new_key("eve")
    with visiting(browser) as (visitor, problems):
        sign_in(visitor, server.command("login-link", "eve@example.com")["url"])
        eve = visitor.new_page()
        answer = eve.goto(page.url)
        assert answer is not None
        assert answer.status == 404
        eve.goto(f"{server.url}/chat")
        expect(eve.get_by_role("heading", name="What should the agent do?")).to_be_visible()
        assert [each for each in problems if "404" not in each] == []
