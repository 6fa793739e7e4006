"""A LangGraph graph of two nodes, a model's and the tools', as its tutorials have them."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.conformance.elsewhere import brain

TOOLS = {tool.__name__: tool for tool in brain.TOOLS}


class Model(BaseChatModel):
    """A model that answers as the brain says."""

    @property
    def _llm_type(self) -> str:
        return "brain"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(""))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        users: list[str] = []
        results: list[str] = []
        for message in messages:
            if message.type == "human":
                users.append(str(message.content))
                results = []
            elif message.type == "tool":
                results.append(str(message.content))
        decided = brain.decide("langgraph", users, results)
        if isinstance(decided, brain.Call):
            called = {"name": decided.name, "args": decided.args, "id": f"call{len(messages)}"}
            extra = {"brain": [called]}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", additional_kwargs=extra))
            return
        for n, piece in enumerate(brain.pieces(decided)):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if n == 0 and users[-1].startswith("slowly"):
                await brain.pass_gate("langgraph.slowly")


async def think(state: MessagesState) -> dict[str, Any]:
    answer = await Model().ainvoke(state["messages"])
    calls = answer.additional_kwargs.get("brain", [])
    return {"messages": [AIMessage(answer.content, tool_calls=calls, id=answer.id)]}


async def act(state: MessagesState) -> dict[str, Any]:
    (called,) = state["messages"][-1].tool_calls  # type: ignore[union-attr]
    if called["name"] == "ask_user":
        result = interrupt(called["args"]["question"])
    else:
        result = await TOOLS[called["name"]](**called["args"])
    return {"messages": [ToolMessage(result, tool_call_id=called["id"])]}


def behind(state: MessagesState) -> str:
    last = state["messages"][-1]
    return "act" if isinstance(last, AIMessage) and last.tool_calls else "__end__"


builder = StateGraph(MessagesState)
builder.add_node(think)
builder.add_node(act)
builder.add_edge(START, "think")
builder.add_conditional_edges("think", behind)
builder.add_edge("act", "think")
graph = builder.compile()
