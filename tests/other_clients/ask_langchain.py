"""Three turns by LangChain's client of OpenAI's API."""

import os
from collections.abc import Sequence

from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

from tests.other_clients.turns import take_turns

model = ChatOpenAI(
    model="agentpost",
    base_url=f"{os.environ['AGENTPOST_URL']}/openai/v1",
    api_key=os.environ["AGENTPOST_KEY"],
)


def messages_of(texts: Sequence[str]) -> list[HumanMessage | AIMessage]:
    return [(AIMessage if n % 2 else HumanMessage)(text) for n, text in enumerate(texts)]


take_turns("LangChain", lambda texts: model.invoke(messages_of(texts)).text)
take_turns(
    "LangChain, streamed",
    lambda texts: "".join(chunk.text for chunk in model.stream(messages_of(texts))),
)
