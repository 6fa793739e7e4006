"""One call of a model: how long it may take, when it is tried again, and how its failure is told.

The clients of the providers would try again on their own, each by rules of its own; here they do
not, so that one rule holds for all and readers of the stream are told.
"""

import asyncio
import dataclasses
import logging
from asyncio import sleep
from collections.abc import Callable
from typing import Final

import pydantic_ai as ai

from agentpost.agents.adapters.pydantic_ai import Attempt, is_broken_off
from agentpost.agents.base import JobFailed
from agentpost.agents.retries import Backoff

logger = logging.getLogger(__name__)

BACKOFF: Final = Backoff(first=1.0, factor=2.0, maximum=30.0)
WAIT_SECONDS_MAX: Final = 120.0
"""A provider that wants a longer wait is not waited for."""
_PASSING: Final = (
    ai.ModelRateLimitError,
    ai.ModelUnavailableError,
    ai.ModelServerError,
    ai.ModelConnectionError,
    ai.ModelRequestTimeout,
)
_STATUS_PASSING: Final = (408, 409, 429)
_SERVER_FAILED: Final = 500
REFUSED: Final = "The model declines to answer this."


class Calls:
    """How the calls of a model are made (see `Patience` of the adapter).

    Args:
        seconds: how long the provider may be silent, before its answer and within it. A call that
            is given up for that is not made again: the provider may have worked on it, and would
            bill the next one too.
        retries: tries after the first.
    """

    def __init__(self, seconds: float, retries: int) -> None:
        self._seconds = seconds
        self._retries = retries

    async def __call__(self, attempt: Attempt, drop_shown: Callable[[], None]) -> ai.ModelResponse:
        """The answer; raises `JobFailed` with a text for the user."""
        for tries in range(self._retries + 1):
            if tries:
                drop_shown()
            try:
                return _with_refusal(await self._receive(attempt))
            except (ai.ModelAPIError, TimeoutError) as error:
                logger.warning("a model call failed: %s", str(error) or "the model was silent")
                wait = self._wait(error, tries)
                if wait is None:
                    raise JobFailed(user_text(error)) from error
            await sleep(wait)
        raise AssertionError("the last try returns or raises")

    async def _receive(self, attempt: Attempt) -> ai.ModelResponse:
        """The answer of one try; raises `TimeoutError` after a silence."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._seconds) as silence:

            def hear() -> None:
                if not silence.expired():
                    silence.reschedule(loop.time() + self._seconds)

            answer = await attempt(hear)
        if is_broken_off(answer):
            raise ai.ModelAPIError(answer.model_name or "", "the answer broke off")
        return answer

    def _wait(self, error: Exception, tries: int) -> float | None:
        """Seconds before the next try; None when there is none."""
        if tries >= self._retries or not passes(error):
            return None
        retry_after = error.retry_after if isinstance(error, ai.ModelAPIError) else None
        if retry_after is None:
            return BACKOFF.seconds(tries)
        return retry_after if retry_after <= WAIT_SECONDS_MAX else None


def passes(error: Exception) -> bool:
    """Whether the same call may well succeed later, and costs nothing until then."""
    if isinstance(error, ai.ModelQuotaExceededError | TimeoutError):
        return False
    if isinstance(error, _PASSING):
        return True
    if not isinstance(error, ai.ModelHTTPError):
        return type(error) is ai.ModelAPIError  # of no kind: an answer that broke off
    return error.status_code in _STATUS_PASSING or error.status_code >= _SERVER_FAILED


_REPORTED: Final[tuple[tuple[type[Exception], str], ...]] = (
    (
        ai.ModelContextWindowExceededError,
        "This conversation and its files are too long for the model. Begin a new one or send less.",
    ),
    (ai.ModelQuotaExceededError, "The quota at the model's provider is used up."),
    (ai.ModelAuthenticationError, "The model's provider does not accept the key of this server."),
    (ai.ModelNotFoundError, "The model's provider does not know the model of this server."),
    (ai.ModelRateLimitError, "The model's provider limits its calls now. Please try again later."),
    (ai.ModelRequestTimeout, "The model did not answer in time. Please try again later."),
    (ai.ModelConnectionError, "The model cannot be reached now. Please try again later."),
    (TimeoutError, "The model did not answer in time. Please try again later."),
)


def user_text(error: Exception) -> str:
    """What the user is told; the details are in the log, since they may name what is not theirs."""
    for kind, text in _REPORTED:
        if isinstance(error, kind):
            return text
    if passes(error):
        return "The model fails now. Please try again later."
    return "The model's provider rejected the request."


def _with_refusal(answer: ai.ModelResponse) -> ai.ModelResponse:
    """A refusal as what the model says: it is an answer, and the next one has to know of it."""
    if answer.finish_reason != "content_filter" or any(answer.parts):
        return answer
    refusal = (answer.provider_details or {}).get("refusal")
    text = refusal if isinstance(refusal, str) and refusal.strip() else REFUSED
    return dataclasses.replace(answer, parts=[ai.TextPart(text)], finish_reason="stop")
