"""A chat in a real browser: live steps, answers, and what was typed."""

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.e2e.server import KEY, AgentServer
from tests.web.browser.chromium import axe, opened, say, visiting


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
        page = opened(context, server, "/chat")
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
