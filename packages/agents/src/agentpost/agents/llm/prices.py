"""What the tokens of a model cost: from two settings, or from a table of models in a file."""

import tomllib
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agentpost.agents.adapters.recording import Usage
from agentpost.agents.adapters.surroundings import ModelSettings

PRICED_TOKENS: Final = 1_000_000
OTHERS: Final = "*"
"""The name of the price for every model that the table does not name."""
_Credits = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Price(BaseModel):
    """Credits for a million tokens; ``cached`` are those read that the provider still had (None:
    they cost like the others)."""

    model_config = ConfigDict(extra="forbid")

    input: _Credits
    output: _Credits
    cached: _Credits | None = None

    def credits(self, usage: Usage) -> float:
        """What a call of the model costs."""
        read, output = usage["input_tokens"], usage["output_tokens"]
        cached = usage.get("cached_tokens", 0)
        assert isinstance(read, int) and isinstance(output, int)  # noqa: PT018 - one shape
        assert isinstance(cached, int)
        price = self.input if self.cached is None else self.cached
        fresh = max(read - cached, 0)
        return (fresh * self.input + cached * price + output * self.output) / PRICED_TOKENS


_TABLE: Final = TypeAdapter(dict[str, Price])


def of(settings: ModelSettings, model: str) -> Price | None:
    """The price of a model; None when it is free. Raises `ValueError` for a file that is wrong or
    has no price for it."""
    both = Price(input=settings.input_credits, output=settings.output_credits)
    if not settings.price_file:
        return both if both.input or both.output else None
    if both.input or both.output:
        raise ValueError(
            "AGENTPOST_LLM_PRICE_FILE takes the place of AGENTPOST_LLM_INPUT_CREDITS and"
            " AGENTPOST_LLM_OUTPUT_CREDITS: set one or the other"
        )
    table = _read(settings.price_file)
    price = table.get(model, table.get(OTHERS))
    if price is None:
        raise ValueError(
            f"AGENTPOST_LLM_PRICE_FILE: {settings.price_file} has no price for the model {model!r}:"
            f' add ["{model}"], or ["{OTHERS}"] for all that it does not name'
        )
    return price if price.input or price.output or price.cached else None


def _read(path: str) -> dict[str, Price]:
    try:
        return _TABLE.validate_python(tomllib.loads(Path(path).read_text("utf-8")))
    except OSError as error:
        reason = error.strerror or str(error)
    except ValidationError as error:
        (first, *_) = error.errors(include_input=False)
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"AGENTPOST_LLM_PRICE_FILE: {path}: {reason}")
