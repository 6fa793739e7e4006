"""Three turns by LiteLLM, as its users and its proxy name a server like OpenAI's."""

import os
from collections.abc import Sequence
from typing import Any

import litellm

from tests.other_clients.turns import take_turns


def ask(texts: Sequence[str], **more: Any) -> Any:
    return litellm.completion(
        model="openai/agentpost",
        api_base=f"{os.environ['AGENTPOST_URL']}/openai/v1",
        api_key=os.environ["AGENTPOST_KEY"],
        messages=[
            {"role": "assistant" if n % 2 else "user", "content": text}
            for n, text in enumerate(texts)
        ],
        **more,
    )


def streamed(texts: Sequence[str]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in ask(texts, stream=True))


take_turns("LiteLLM", lambda texts: str(ask(texts).choices[0].message.content))
take_turns("LiteLLM, streamed", streamed)
