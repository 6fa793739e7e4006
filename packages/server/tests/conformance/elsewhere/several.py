"""Agents of each framework that want to know several things at once, and pay only when allowed.

The first word of a message is the plan: a list of answers of the model, each with calls of tools.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents import Agent as OpenAIAgent, function_tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse as Answer,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import ExternalToolset
from typing_extensions import TypedDict

from agentpost.agents import JobFailed
from agentpost.agents.adapters.openai_agents import ask_user
from agentpost.agents.llm.agent import ASK_USER
from tests.conformance.elsewhere.brain import leave, pass_gate
from tests.conformance.elsewhere.with_openai_agents import Brain, call_of, completed, message_of

Call = tuple[str, str, dict[str, Any]]
"""An id, a tool and its arguments."""
COLOUR = {"question": "Which colour?", "choices": ["Red", "Blue"]}
SURVEY: list[Call] = [
    ("a", "ask_user", COLOUR),
    ("b", "reserve", {}),
    ("c", "ask_user", {"question": "How many?"}),
    ("d", "pay", {"to": "Ann", "question": "Shall I say hello?"}),
    ("e", "pay", {"to": "Bob", "question": "Shall I say hello?"}),
]
PLANS: dict[str, list[list[Call]]] = {
    "survey": [SURVEY],
    "gated": [[("a", "pay", {"to": "Ann"})]],
    "twice": [[("a", "pay", {"to": "Ann"})], [("a", "pay", {"to": "Ann"})]],
    "risky": [[("a", "pay", {"to": "Bob"}), ("b", "pay", {"to": "Eve"})]],
}


def decide(users: Sequence[str], results: Sequence[str], answers: int) -> str | list[Call]:
    """What a model says when it has answered that often since the user's last message."""
    plan = PLANS[users[-1].partition(" ")[0]]
    return plan[answers] if answers < len(plan) else " | ".join(sorted(results))


# --- tools ----------------------------------------------------------------------------------------
async def reserve() -> str:
    """Reserve it."""
    leave("several.reserve")
    return "reserved"


async def pay(to: str, question: str = "") -> str:
    """Pay somebody."""
    if to == "Eve":
        raise JobFailed("Eve takes no money.")
    leave(f"several.paid.{to}")
    return f"paid {to}"


# --- pydantic-ai ----------------------------------------------------------------------------------
async def _answer(messages: list[ModelMessage], _: AgentInfo) -> Answer:
    users: list[str] = []
    results: list[str] = []
    answers = 0
    for message in messages:
        answers += isinstance(message, Answer)
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, UserPromptPart):
                users, results, answers = [str(part.content)], [], 0
            elif isinstance(part, ToolReturnPart):
                results.append(str(part.content))
    if users[-1] == "gated" and not answers:
        await pass_gate("several.gated")
    said = decide(users, results, answers)
    if isinstance(said, str):
        return Answer(parts=[TextPart(said)])
    return Answer(parts=[ToolCallPart(tool, args, tool_call_id=key) for key, tool, args in said])


pydantic_ai: Agent[None, str | DeferredToolRequests] = Agent(
    FunctionModel(_answer),
    tools=[reserve],
    toolsets=[ExternalToolset([ASK_USER])],
    output_type=[str, DeferredToolRequests],
)
pydantic_ai.tool_plain(requires_approval=True)(pay)


# --- OpenAI Agents --------------------------------------------------------------------------------
class Script(Brain):
    """A model that follows the plan."""

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002 - the framework passes it by this name
        *_: Any,
        **__: Any,
    ) -> AsyncIterator[Any]:
        users: list[str] = []
        results: list[str] = []
        ids: list[str] = []
        for item in input:
            if item.get("role") == "user":
                users, results, ids = [item["content"]], [], []
            elif item.get("type") == "function_call_output":
                results.append(str(item["output"]))
            elif item.get("type") == "function_call":
                ids.append(item["call_id"])
        answers = 0
        while sum(map(len, PLANS[users[-1].partition(" ")[0]][:answers])) < len(ids):
            answers += 1
        said = decide(users, results, answers)
        if isinstance(said, str):
            yield completed(message_of(said))
        else:
            yield completed(*(call_of(*each) for each in said))


openai_agents = OpenAIAgent(
    name="clerk",
    model=Script(),
    tools=[
        ask_user,
        function_tool(reserve, failure_error_function=None),
        function_tool(pay, failure_error_function=None, needs_approval=True),
    ],
)


# --- LangGraph ------------------------------------------------------------------------------------
class State(TypedDict, total=False):
    """What is said, and the result of each node."""

    input: str
    colour: str
    number: str
    ann: str
    bob: str
    output: str


async def ask_colour(state: State) -> State:
    return {"colour": interrupt(COLOUR)}


async def ask_number(state: State) -> State:
    return {"number": interrupt("How many?")}


async def pay_one(to: str, times: int = 1) -> str:
    """Pay somebody when that is allowed, as often as it is."""
    results = []
    for _ in range(times):
        asked = {"question": f"May I call pay(to={to!r})?", "choices": ["Yes", "No"]}
        results.append(interrupt(asked))
    return " | ".join([await pay(to) if said == "Yes" else said for said in results])


async def pay_ann(state: State) -> State:
    return {"ann": await pay_one("Ann", 2 if state["input"] == "twice" else 1)}


async def pay_bob(state: State) -> State:
    return {"bob": await pay_one("Bob")}


async def pay_eve(state: State) -> State:
    return {"output": await pay_one("Eve")}


async def reserve_it(state: State) -> State:
    return {"output": await reserve()}


async def tell(state: State) -> State:
    results = [str(value) for name, value in state.items() if name != "input"]
    return {"output": " | ".join(sorted(results))}


NODES = {
    "survey": ["ask_colour", "reserve_it", "asking", "pay_ann", "pay_bob"],
    "gated": [[("a", "pay", {"to": "Ann"})]],
    "twice": ["pay_ann"],
    "risky": ["pay_bob", "pay_eve"],
}


class Number(TypedDict, total=False):
    """What the subgraph gives back."""

    number: str


subgraph = StateGraph(State, output_schema=Number).add_node(ask_number)
subgraph.add_edge(START, "ask_number")
builder = StateGraph(State)
for node in (ask_colour, pay_ann, pay_bob, pay_eve, reserve_it, tell):
    builder.add_node(node)
builder.add_node("asking", subgraph.compile())
builder.add_conditional_edges(START, lambda state: NODES[state["input"]])
for name in ("ask_colour", "reserve_it", "asking", "pay_ann", "pay_bob", "pay_eve"):
    builder.add_edge(name, "tell")
langgraph = builder.compile()
