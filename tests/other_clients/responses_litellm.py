"""LiteLLM with the Responses API: three turns, the whole history sent each time."""

import json
import os

import litellm

TURNS = json.loads(os.environ["TURNS"])

history = []
texts = []
for turn in TURNS:
    history.append({"role": "user", "content": turn})
    answer = litellm.responses(
        model="openai/agentpost",
        input=history,
        api_base=os.environ["BASE_URL"],
        api_key=os.environ["API_KEY"],
        temperature=0.2,
    )
    history += [item.model_dump() for item in answer.output]
    texts.append("".join(part.text for item in answer.output for part in item.content))
print(json.dumps(texts))
