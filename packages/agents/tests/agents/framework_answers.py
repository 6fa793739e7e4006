"""Agents of the real frameworks whose model is a service with the protocol of OpenAI."""

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent as OpenAIAgent, OpenAIChatCompletionsModel, set_tracing_disabled
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

set_tracing_disabled(True)


class ChatModel(BaseChatModel):
    """Gives a message what LangChain's `ChatOpenAI` gives it."""

    url: str

    @property
    def _llm_type(self) -> str:
        return "stub"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("it can stream")

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        said: list[Any] = [{"role": "user", "content": str(messages[-1].content)}]
        async with AsyncOpenAI(base_url=self.url, api_key="none") as client:
            chunks = await client.chat.completions.create(model="m", messages=said, stream=True)
            async for chunk in chunks:
                for choice in chunk.choices:
                    metadata = {"model_provider": "openai"}
                    if choice.finish_reason is not None:
                        metadata["finish_reason"] = choice.finish_reason
                    message = AIMessageChunk(
                        content=choice.delta.content or "", response_metadata=metadata
                    )
                    yield ChatGenerationChunk(message=message)


def pydantic_ai(url: str) -> Any:
    """An agent of pydantic-ai."""
    return Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="none")))


def openai_agents(url: str) -> Any:
    """An agent of the OpenAI Agents SDK."""
    client = AsyncOpenAI(base_url=url, api_key="none")
    return OpenAIAgent(name="Stub", model=OpenAIChatCompletionsModel("m", client))


def langgraph(url: str) -> Any:
    """A graph of LangGraph with one node."""
    model = ChatModel(url=url)

    async def call(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("call", call)
    builder.add_edge(START, "call")
    return builder.compile()
