"""The base of all errors, and the shape in which the API refuses (spec: Errors)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from agentpost_client.models import Problem


class AgentpostError(Exception):
    """Base of all errors of the SDK; its text is one sentence for a person."""


class ApiError(AgentpostError):
    """The API refused; each known code has a class of its own below this one.

    ``code`` is the stable machine word and ``message`` the text for people. ``hint`` says what to
    do about it, empty for a code this version does not know; ``docs`` is the page that explains the
    code. ``retry_after`` is in seconds, given with every 429. ``cursor`` comes with
    ``poll_in_progress`` only. An error without the shape (a proxy's) has the code
    ``http_<status>``.
    """

    hint: ClassVar[str] = ""

    def __init__(
        self,
        code: str,
        message: str,
        status: int,
        *,
        request_id: str | None = None,
        problems: tuple[Problem, ...] = (),
        retry_after: float | None = None,
        cursor: str | None = None,
        docs: str = "",
    ) -> None:
        super().__init__(code, message, status)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id
        self.problems = problems
        self.retry_after = retry_after
        self.cursor = cursor
        self.docs = docs
        if self.hint:
            self.add_note(f"What to do: {self.hint}")

    def __str__(self) -> str:
        """Code and message, the fields that are wrong, and the id to ask the operator about."""
        wrong = [f"{item.field or 'request'}: {item.problem}" for item in self.problems]
        details = f" [{'; '.join(wrong)}]" if wrong else ""
        request = f" ({self.request_id})" if self.request_id else ""
        return f"{self.code}: {self.message}{details}{request}"

    def __reduce__(self) -> tuple[object, ...]:
        """Made again with all it has: by arguments alone the named ones would be lost."""
        return (_remade, (type(self), self.args, dict(self.__dict__)))


def _remade(kind: type[ApiError], args: tuple[str, str, int], state: dict[str, object]) -> ApiError:
    error = kind(*args)
    error.__dict__.update(state)
    return error
