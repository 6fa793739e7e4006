"""LangChain with the Responses API: three turns, as `ChatOpenAI` sends them by default."""

import json
import os

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

TURNS = json.loads(os.environ["TURNS"])

model = ChatOpenAI(
    model="agentpost",
    base_url=os.environ["BASE_URL"],
    api_key=os.environ["API_KEY"],
    use_responses_api=True,
    temperature=0.2,
)
messages = [SystemMessage("Be kind.")] if os.environ.get("SYSTEM") else []
texts = []
for turn in TURNS:
    messages.append(HumanMessage(turn))
    answer = model.invoke(messages)
    messages.append(answer)
    texts.append(answer.text if isinstance(answer.text, str) else answer.text())
print(json.dumps(texts))
