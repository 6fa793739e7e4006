"""The model that ``llm:<provider>:<model>`` names, made with the key of its provider."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic_ai.models import Model


@dataclass(frozen=True, slots=True)
class Provider:
    """A protocol of models: its class in pydantic-ai, and where its key is.

    ``variables`` are tried in their order; ``own`` says whether other services with that protocol
    are usual which need no key; ``profile`` is what all of these services can be relied on for.
    """

    title: str
    variables: tuple[str, ...]
    model: str
    own: bool = False
    profile: Mapping[str, bool] | None = None


PROVIDERS: Final = {
    "openai": Provider(
        "OpenAI",
        ("OPENAI_API_KEY",),
        "OpenAIChatModel",
        own=True,
        profile={
            # The chat templates of some models, such as Qwen's, take one system message and reject
            # a request that has a second one.
            "openai_chat_supports_multiple_system_messages": False,
            # Also none later on: a change of the tools, for one, would be announced in it.
            "supports_inline_system_prompts": False,
        },
    ),
    "anthropic": Provider("Anthropic", ("ANTHROPIC_API_KEY",), "AnthropicModel"),
    "google": Provider("Google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), "GoogleModel"),
}
_NO_KEY: Final = "none"
"""What is sent where a service needs no key: the clients want one."""


def parse_model(rest: str) -> tuple[str, str]:
    """Provider and model of ``<provider>:<model>``; raises `ValueError` for others."""
    provider, _, model = rest.partition(":")
    if provider not in PROVIDERS:
        providers = ", ".join(PROVIDERS)
        raise ValueError(
            f"{provider!r} is none of the providers {providers}. A service with the protocol of"
            " OpenAI, such as Ollama or vLLM, is 'llm:openai:model' with AGENTPOST_LLM_BASE_URL"
        )
    if not model.strip():
        raise ValueError(f"the name of the model is missing: write 'llm:{provider}:model'")
    return provider, model.strip()


def make_model(provider: str, model: str, base_url: str) -> Model:
    """The model; ``base_url`` is "" for the provider's own service. Raises `ValueError` without a
    key."""
    kind = PROVIDERS[provider]
    key = next((value for name in kind.variables if (value := os.environ.get(name))), None)
    if key is None:
        if not (kind.own and base_url):
            raise ValueError(
                f"AGENTPOST_AGENT='llm:{provider}:{model}' needs a key of {kind.title}: set"
                f" {' or '.join(kind.variables)}"
                + (", or AGENTPOST_LLM_BASE_URL for another service." if kind.own else ".")
            )
        key = _NO_KEY
    from pydantic_ai.providers import infer_provider_class

    models: Any = importlib.import_module(f"pydantic_ai.models.{provider}")
    service_class: Any = infer_provider_class(provider)
    service = service_class(api_key=key, base_url=base_url or None)
    result: Model = getattr(models, kind.model)(model, provider=service, profile=kind.profile)
    return result
