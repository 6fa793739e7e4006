"""Every adapter for an agent made elsewhere behaves the same, with the real package behind it.

With TEST_AGENT_PROCESSES=2 they run in agent processes; those that a server never runs there (a
program, a service, another protocol, a model alone) are left out then.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conformance.elsewhere.model import model_serving
from tests.conformance.elsewhere.service import SECRET, serving
from tests.docs.snippets import write_programs
from tests.e2e.caller import Caller, kinds
from tests.e2e.fixtures import ServerMaker, pytest_runtest_makereport, start_server
from tests.e2e.server import AgentServer
from tests.e2e.sse import stream
from tests.forking import MODEL_ALONE
from tests.house.tree import DOCS
from tests.waiting import eventually

__all__ = ["pytest_runtest_makereport", "start_server"]
IN_PROCESSES = os.environ.get("TEST_AGENT_PROCESSES", "0") != "0"
FRAMEWORKS = ["pydantic-ai", "langgraph", "openai-agents"]
KINDS = FRAMEWORKS if IN_PROCESSES else [*FRAMEWORKS, "cmd", "http", "a2a", "llm"]
PAGE = DOCS / "adapters.md"
Message = dict[str, Any]


@pytest.fixture(scope="module")
def new_database() -> Any:
    return lambda _: {}


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> Iterator[AgentServer]:
    """One server and one service for all; the service outlives a crash of the server."""
    # Imported here: the SDK would cost every process of a run two seconds.
    from tests.conformance.elsewhere.a2a_server import a2a_serving

    with (
        pytest.MonkeyPatch.context() as environment,
        serving() as service,
        a2a_serving() as other,
        model_serving() as model,
    ):
        environment.setenv("TEST_SERVICE", service.url)
        environment.setenv("TEST_A2A", f"a2a:{other[0]}")
        server = start_server(
            agent="tests.conformance.elsewhere.served:agent",
            agent_secret=SECRET,
            egress_allow="127.0.0.0/8",
            running_jobs_max=100,
            llm_base_url=model.url,
            imported=(*MODEL_ALONE, "agents", "langgraph.graph"),
        )
        service.server = other[1].server = model.server = server
        yield server


@pytest.fixture(scope="module")
def caller(server: AgentServer) -> Iterator[Caller]:
    made = Caller(server)
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    made: str = request.param
    return made


def words_of(message: Message) -> str:
    """What the agent said: its reply and the texts of its jobs."""
    texts = [message["reply"], *(job["text"] for job in message["jobs"])]
    return "\n\n".join(text for text in texts if text)


def test_it_replies_and_remembers(caller: Caller, kind: str) -> None:
    """The second message is answered with what was said in the first one."""
    for text, expected in (
        ("hello", "You said: hello. Found: nothing."),
        ("again", "You said: hello | again. Found: nothing."),
    ):
        done = caller.final(caller.send(text, conversation=f"{kind}/reply")["id"])
        assert (done["status"], words_of(done)) == ("completed", expected)


def test_it_asks_and_uses_the_answer(caller: Caller, kind: str) -> None:
    asked = caller.final(caller.send("ask me", conversation=f"{kind}/ask")["id"])
    assert (asked["status"], asked["question"]) == ("needs_input", "Which colour?")
    done = caller.final(caller.send("blue", conversation=f"{kind}/ask")["id"])
    assert done["status"] == "completed"
    assert "blue" in words_of(done)


SURVEY = {"colour": "blue", "many": "three", "'Ann'": "No", "'Bob'": "yes"}
CHOICES = {"blue": ["Red", "Blue"], "No": ["Yes", "No"], "yes": ["Yes", "No"]}


def test_each_of_several_questions_gets_its_own_answer(caller: Caller, server: AgentServer) -> None:
    """Each gets its own answer, with a crash of the server between the third and the fourth. A
    graph's interrupts come in an order of LangGraph's, the others in that of the model."""
    names = [f"several-{name}" for name in FRAMEWORKS]
    texts = dict.fromkeys(names, "survey")
    questions: dict[str, list[str]] = {name: [] for name in names}
    counted = [f"several.{what}" for what in ("reserve", "paid.Bob", "paid.Ann")]
    before = [count(server, each) for each in counted]  # another test may have come first
    for number in range(len(SURVEY) + 1):
        if number == len(SURVEY):
            server.kill()
            server.start()
        sent = {name: caller.send(texts[name], conversation=f"{name}/survey") for name in names}
        done = {name: caller.final(sent[name]["id"]) for name in names}
        for name in names if number < len(SURVEY) else ():
            assert done[name]["status"] == "needs_input", (name, done[name])
            question = done[name]["question"]
            (texts[name],) = (text for part, text in SURVEY.items() if part in question)
            choices = done[name].get("answer_format", {}).get("choices")
            assert choices == CHOICES.get(texts[name]), (name, done[name])
            assert "pay(" in question or texts[name] in ("blue", "three")
            questions[name].append(texts[name])
    for name in names:
        assert words_of(done[name]) == "Blue | No | paid Bob | reserved | three", name
        assert sorted(questions[name]) == sorted(SURVEY.values())
    done_now = [
        count(server, each) - earlier for each, earlier in zip(counted, before, strict=True)
    ]
    assert done_now == [len(names), len(names), 0]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_approval_is_for_one_call(caller: Caller, server: AgentServer, name: str) -> None:
    """The model calls the same tool again, even with the same id and arguments; and a run that has
    failed does not use its approvals once more."""
    before, talk = count(server, "several.paid.Ann"), f"several-{name}/twice"
    for text in ("twice", "yes"):
        asked = caller.final(caller.send(text, conversation=talk)["id"])
        assert "pay(to='Ann')" in asked["question"], (name, asked)
    assert "No" in words_of(caller.final(caller.send("No", conversation=talk)["id"]))
    assert count(server, "several.paid.Ann") - before == 1

    before, talk = count(server, "several.paid.Bob"), f"several-{name}/risky"
    for text in ("risky", "yes"):
        asked = caller.final(caller.send(text, conversation=talk)["id"])
        assert asked["status"] == "needs_input", (name, asked)
    failed = caller.final(caller.send("yes", conversation=talk)["id"])
    assert (failed["status"], "Eve takes no money." in words_of(failed)) == ("failed", True)
    paid = count(server, "several.paid.Bob") - before
    again = caller.final(caller.send("yes", conversation=talk)["id"])
    assert "pay(to='Bob')" in again["question"]
    assert paid == count(server, "several.paid.Bob") - before <= 1


def test_a_yes_from_before_the_question_approves_nothing(
    caller: Caller, server: AgentServer
) -> None:
    before, talk = count(server, "several.paid.Ann"), "several-pydantic-ai/gated"
    first = caller.send("gated", conversation=talk, wait=0)["id"]
    server.await_gate("several.gated")
    second = caller.send("yes", conversation=talk, busy="queue", wait=0)["id"]
    server.open_gate("several.gated")
    for asked in (caller.final(first), caller.final(second)):
        assert "pay(to='Ann')" in asked["question"]
    assert count(server, "several.paid.Ann") == before
    assert words_of(caller.final(caller.send("yes", conversation=talk)["id"])) == "paid Ann"


@pytest.mark.skipif(IN_PROCESSES, reason="a model alone runs in the server")
def test_a_model_alone_asks_one_thing_after_the_other(caller: Caller) -> None:
    for text, question in (("several", "Which colour?"), ("blue", "How many?")):
        asked = caller.final(caller.send(text, conversation="llm/several")["id"])
        assert (asked["status"], asked["question"]) == ("needs_input", question)
    done = caller.final(caller.send("three", conversation="llm/several")["id"])
    assert words_of(done) == "You said: several. Found: blue, drawn, three."


def test_it_starts_work_that_writes_a_file(caller: Caller, kind: str) -> None:
    done = caller.final(caller.send("draw it", conversation=f"{kind}/draw")["id"])
    assert done["status"] == "completed"
    assert words_of(done) == "You said: draw it. Found: drawn."
    (file,) = done["files"]
    assert (file["name"], httpx2.get(file["url"]).text) == ("chart.txt", "|||")
    steps = [entry["step"] for entry in caller.log(done["id"]) if entry["type"] == "progress"]
    assert steps == ["Drawing chart.txt", "Wrote chart.txt"]


def test_a_message_joins_what_runs(caller: Caller, server: AgentServer, kind: str) -> None:
    first = caller.send("wait here", conversation=f"{kind}/join")
    server.await_gate(f"{kind}.wait")
    second = caller.send("and this", conversation=f"{kind}/join")
    assert kinds(caller.log(second["id"])) == ["follow_up"] or second["status"] == "processing"
    server.open_gate(f"{kind}.wait")
    for sent in (first, second):
        done = caller.final(sent["id"])
        assert done["status"] == "completed"
        assert "waited" in words_of(done)
        assert "and this" in words_of(done)


def test_a_stop_ends_it(caller: Caller, server: AgentServer, kind: str) -> None:
    sent = caller.send("hang up", conversation=f"{kind}/stop")
    server.await_gate(f"{kind}.hang")
    (job,) = caller.get(sent["id"])["jobs"]
    assert caller.call("POST", f"/v1/work/{job['work_id']}/stop").status_code == 200
    done = caller.final(sent["id"])
    assert (done["jobs"][0]["status"], done["jobs"][0]["reason"]) == ("cancelled", "stopped")
    eventually(lambda: has_ended(server, kind), what="the end of what was stopped")


def test_a_failure_is_told_in_its_own_words(caller: Caller, kind: str) -> None:
    done = caller.final(caller.send("fail now", conversation=f"{kind}/fail")["id"])
    assert done["status"] == "failed"
    assert "The order book is closed." in words_of(done)


def test_text_is_shown_while_it_is_written(caller: Caller, server: AgentServer, kind: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        talk = f"{kind}/stream"
        metadata = {"name": talk}
        sending = pool.submit(caller.send, "slowly please", conversation=talk, metadata=metadata)
        server.await_gate(f"{kind}.slowly")
        (found,) = caller.call("GET", f"/v1/messages?metadata[name]={talk}").json()["data"]
        with stream(caller, f"/v1/messages/{found['id']}/stream") as open_:
            open_.begin()
            server.open_gate(f"{kind}.slowly")
            shown = "".join(event.data["text"] for event in open_.rest() if event.name == "delta")
        assert shown.endswith(": slowly please. Found: nothing.")
        assert words_of(caller.final(sending.result()["id"])) == (
            "You said: slowly please. Found: nothing."
        )


def test_the_page_s_graph_asks_and_writes(caller: Caller, server: AgentServer) -> None:
    write_programs(PAGE, server.home)
    talk = "support_graph:graph/1"
    asked = caller.final(caller.send("Where is my order?", conversation=talk)["id"])
    assert (asked["status"], asked["question"]) == ("needs_input", "Which order is it about?")
    done = caller.final(caller.send("17", conversation=talk)["id"])
    steps = [entry["step"] for entry in caller.log(done["id"]) if entry["type"] == "progress"]
    assert steps == ["Looking for order 17", "Wrote label.txt"]
    assert httpx2.get(done["files"][0]["url"]).text == words_of(done) == "Order 17 is on its way."


def test_the_page_s_desk_books(caller: Caller, server: AgentServer) -> None:
    write_programs(PAGE, server.home)
    done = caller.final(caller.send("book it", conversation="booking_agent:agent/1")["id"])
    assert httpx2.get(done["files"][0]["url"]).text == "garden\n"


def test_what_models_use_is_charged(caller: Caller) -> None:
    """Two calls of the model, a tool between them."""
    done = caller.final(caller.send("draw it", conversation="charged/1")["id"])
    assert (words_of(done), done["credits_used"]) == ("You said: draw it. Found: drawn.", 0.5)


def test_what_was_recorded_is_not_done_again_after_a_crash(
    caller: Caller, server: AgentServer
) -> None:
    """One crash of the server for all of them."""
    sent = {kind: caller.send("order it", conversation=f"{kind}/crash")["id"] for kind in KINDS}
    for kind in KINDS:
        server.await_gate(f"{kind}.pay")
    server.kill()
    server.start()
    for kind in KINDS:
        eventually(partial(paid_twice, server, kind), what="the step that was interrupted")
        server.open_gate(f"{kind}.pay")
        done = caller.final(sent[kind])
        assert words_of(done) == "You said: order it. Found: reserved, paid."
        keys = {line.split()[1] for line in server.trace() if line.startswith(f"tool.pay.{kind}")}
        assert len(keys) == 1, "a step that runs again keeps its key"
        for n in range(3):
            assert count(server, f"{kind}.model.order.{n}") == 1
    assert count(server, "tool.reserve") == len(KINDS)


def has_ended(server: AgentServer, kind: str) -> bool:
    """Whether the tool that was stopped left its last trace, or the program is gone."""
    pids = [line.split()[1] for line in server.trace() if line.startswith(f"{kind}.pid")]
    if pids:
        return not (Path("/proc") / pids[0]).exists()
    return count(server, f"cancelled.{kind}.hang") == 1


def paid_twice(server: AgentServer, kind: str) -> bool:
    """A task of Agent2Agent is the other side's, which has not crashed."""
    return count(server, f"tool.pay.{kind}.pay") == (1 if kind == "a2a" else 2)


def count(server: AgentServer, trace: str) -> int:
    """How often something left that trace."""
    return sum(line.split()[0] == trace for line in server.trace())
