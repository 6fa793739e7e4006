"""What a run asks for and gives as JSON: typed questions, and outputs that fit a schema."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentpost.agents import OutputInvalid, schemas, values
from agentpost.domain.answers import AnswerFormat, checked_choices
from agentpost.domain.limits import OUTPUTS_INVALID_MAX


def answer_format(choices: Sequence[str] | None, schema: dict[str, Any] | None) -> str | None:
    """What a question asks for, as it is stored; None for any text. Raises `ValueError`."""
    if choices is not None and schema is not None:
        raise ValueError("a question has choices or a schema, not both")
    if choices is not None:
        return AnswerFormat(choices=checked_choices(choices)).json()
    if schema is None:
        return None
    try:
        return AnswerFormat(schema=schemas.check(schema)).json()
    except ValueError as error:
        raise ValueError(f"the schema of a question {error}") from None


@dataclass
class Output:
    """The output that a run's caller wants: by the ``response_schema``, None where none is wanted;
    what was given so far, as JSON, and how often it was given wrongly."""

    schema_json: str | None
    given: str | None = None
    invalid: int = 0

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """The schema, read when it is first needed."""
        schema: dict[str, Any] | None = json.loads(self.schema_json or "null")
        return schema

    @property
    def is_missing(self) -> bool:
        """Whether one is wanted that was not given."""
        return self.schema_json is not None and self.given is None

    @property
    def is_hopeless(self) -> bool:
        """Whether it was wrong once too often."""
        return self.invalid > OUTPUTS_INVALID_MAX

    def check(self, text: str) -> OutputInvalid | None:
        """The error of an output that does not fit, given as JSON; it is counted."""
        problems = [] if self.schema is None else schemas.problems(self.schema, json.loads(text))
        if not problems:
            return None
        self.invalid += 1
        return OutputInvalid("\n".join(f"{path}: {problem}" for path, problem in problems))


def as_json(value: object) -> str:
    """An output as it is stored. Raises `TypeError` and `ValueError` like `values.dump`, and
    `TypeError` for a file in it."""
    text = values.dump(value)
    if '"$file":' in text:
        raise TypeError("a File cannot stand in an output; give its id or name")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
