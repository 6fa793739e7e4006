"""A service with the protocol of OpenAI whose model is `brain`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.agents.llm.openai_stub import (
    Calls,
    OpenAIStub,
    Reply,
    Request,
    Says,
    openai_stub,
    users_and_results,
)
from tests.conformance.elsewhere import brain
from tests.conformance.elsewhere.service import leave, pass_gate
from tests.e2e.server import AgentServer


class Model:
    """``server`` is where traces and gates are."""

    server: AgentServer

    def __init__(self, stub: OpenAIStub) -> None:
        self.url = stub.url

    def answer(self, request: Request) -> Reply:
        users, results = users_and_results(request)
        if users[-1] == "several" and not results:
            return Calls([(call.name, json.dumps(call.args)) for call in brain.SEVERAL])
        decided = brain.decided("llm", users, results)
        leave(self.server, f"llm.model.{users[-1].partition(' ')[0]}.{len(results)}")
        if isinstance(decided, brain.Call):
            return Calls([(decided.name, json.dumps(decided.args))])
        slowly = users[-1].startswith("slowly")
        return Says(
            brain.pieces(decided), self._stop_behind_the_first if slowly else lambda _: None
        )

    def _stop_behind_the_first(self, piece: int) -> None:
        if piece == 0:
            pass_gate(self.server, "llm.slowly")


@contextmanager
def model_serving() -> Iterator[Model]:
    with openai_stub() as stub:
        model = Model(stub)
        stub.answer = model.answer
        yield model
