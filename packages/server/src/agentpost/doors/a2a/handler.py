"""The operations of the protocol."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, NoReturn

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import a2a_pb2 as a2a
from a2a.utils import errors
from a2a.utils.proto_utils import validate_proto_required_fields

from agentpost.accounts import admission, list_places
from agentpost.accounts.scope_rules import Scope
from agentpost.api.long_texts import LongText
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.contract.shape import Links
from agentpost.domain import ids
from agentpost.domain.limits import (
    A2A_PAGE_DEFAULT,
    A2A_PAGE_MAX,
    A2A_TASKS_LOOKED_AT_MAX,
    RPC_PAGE_BYTES_MAX,
)
from agentpost.doors import sending
from agentpost.doors.a2a import parts, tasks
from agentpost.doors.a2a.tasks import PAUSED, TERMINAL, error_of
from agentpost.doors.outputs import Output
from agentpost.doors.rpc import Call, refusals_as
from agentpost.doors.writing import Texts, read
from agentpost.following import followers
from agentpost.following.followers import Moment
from agentpost.following.held_calls import HungUp
from agentpost.http.request_state import RequestState
from agentpost.messages import chains, lists
from agentpost.messages.chains import Chain
from agentpost.messages.new_messages import NewMessage
from agentpost.wakeups.base import Wait


class TaskHandler(RequestHandler):
    """Answers one call; every task is the caller's own, others are not found. ``hung_up``: what
    calls back when the client hangs up."""

    def __init__(
        self, ctx: AppContext, caller: Caller, state: RequestState, call: Call, hung_up: HungUp
    ) -> None:
        self._ctx = ctx
        self._caller = caller
        self._state = state
        self._call = call
        self._hung_up = hung_up

    @contextmanager
    def _refusals_translated(self, scope: Scope) -> Iterator[None]:
        """Ask for a scope of the key; say a refusal as the protocol says it."""
        with refusals_as(error_of, errors.A2AError, self._state, self._caller, scope):
            yield

    # --- sending ----------------------------------------------------------------------------------
    async def on_message_send(
        self, params: a2a.SendMessageRequest, context: ServerCallContext
    ) -> a2a.Task:
        history = _history_length(params.configuration)
        with self._refusals_translated(Scope.SEND):
            wait = not params.configuration.return_immediately
            if wait:
                await admission.held_call(self._ctx, self._caller)
            chain = await self._send(params)
            if wait:
                chain = await self._wait_for_end(chain)
            return tasks.task(chain, self._ctx.links, history)

    async def on_message_send_stream(
        self, params: a2a.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        with self._refusals_translated(Scope.SEND):
            await admission.held_call(self._ctx, self._caller)
            message_id = new_id(ids.MESSAGE, self._ctx.clock.now())
            with self._ctx.wakeups.listen(message_id, texts=True) as wait:
                chain = await self._send(params, message_id)
                place = wait if chain.last.message.id == message_id else None
                async with aclosing(self._events(chain, place)) as events:
                    async for event in events:
                        yield event

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: a2a.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        with self._refusals_translated(Scope.READ):
            chain = await chains.look(self._ctx, self._caller, params.id)
            if tasks.state(chain) in TERMINAL:
                raise errors.UnsupportedOperationError("The task has ended; read it with GetTask.")
            await admission.held_call(self._ctx, self._caller)
            async with aclosing(self._events(chain)) as events:
                async for event in events:
                    yield event

    async def _send(self, params: a2a.SendMessageRequest, message_id: str | None = None) -> Chain:
        """Take the message in; the task that it begins or goes on with. ``message_id`` is a fresh
        one."""
        ctx, message, caller = self._ctx, params.message, self._caller
        if params.configuration.HasField("task_push_notification_config"):
            raise errors.PushNotificationNotSupportedError(_NO_PUSH)
        understand = partial(_new_message, ctx, params, self._call.contents)
        new = await ctx.account_threads.run(caller.account_id, understand)
        first_id = message.task_id
        if first_id:
            chain = await chains.look(ctx, caller, first_id)
            _ensure_goes_on(chain, message)
            new = replace(
                new,
                conversation_id=chain.last.message.conversation_id,
                idempotency_key=chains.next_key(chain),
            )
            new = sending.answering(new, chain.last)
        record = await sending.send(ctx, caller, new, message_id)
        self._state.reads = False
        return await chains.look(ctx, caller, first_id or record.id)

    # --- following --------------------------------------------------------------------------------
    async def _wait_for_end(self, chain: Chain) -> Chain:
        """The task once it has ended, asks or waits for credits, or was held long enough."""
        async with aclosing(self._moments(chain, self._hung_up)) as moments:
            async for _, now in moments:
                chain = now
        return chain

    async def _events(self, chain: Chain, place: Wait | None = None) -> AsyncGenerator[Event, None]:
        """The task as it is, then what happens to it: steps, texts, outputs, states."""
        links = self._ctx.links
        artifacts: ArtifactStream | None = None
        state = tasks.state(chain)
        source = self._moments(chain, texts=True, place=place)
        async with aclosing(source) as moments:
            async for moment, now in moments:
                if artifacts is None:
                    artifacts = ArtifactStream(now, links)
                    state = tasks.state(now)
                    yield tasks.task(now, links)
                    continue
                for chunk in artifacts.text_chunks(now, moment.texts):
                    yield chunk
                if moment.texts:
                    continue
                for entry in moment.entries:
                    step = tasks.progress_update(now, entry)
                    if step is not None:
                        yield step
                for update in artifacts.output_chunks(now):
                    yield update
                if tasks.state(now) != state:
                    state = tasks.state(now)
                    yield tasks.status_update(now)

    async def _moments(
        self,
        chain: Chain,
        hung_up: HungUp = followers.nobody_hangs_up,
        *,
        texts: bool = False,
        place: Wait | None = None,
    ) -> AsyncGenerator[tuple[Moment, Chain], None]:
        """Each change of the chain's last message with the chain as it is then."""
        before, last_id = chain.snapshots[:-1], chain.last.message.id
        source = sending.hold(self._ctx, self._caller, last_id, hung_up, texts=texts, place=place)
        async with aclosing(source) as moments:
            async for moment in moments:
                yield moment, Chain([*before, moment.snapshot], moment.cancelled)

    # --- reading and ending -----------------------------------------------------------------------
    @validate_request_params
    async def on_get_task(self, params: a2a.GetTaskRequest, context: ServerCallContext) -> a2a.Task:
        with self._refusals_translated(Scope.READ):
            chain = await chains.look(self._ctx, self._caller, params.id)
        return tasks.task(chain, self._ctx.links, _history_length(params))

    @validate_request_params
    async def on_list_tasks(
        self, params: a2a.ListTasksRequest, context: ServerCallContext
    ) -> a2a.ListTasksResponse:
        """The newest first; a page goes on behind the last task of the one before. It ends before
        it has more than `RPC_PAGE_BYTES_MAX`."""
        links = self._ctx.links
        size = params.page_size if params.HasField("page_size") else A2A_PAGE_DEFAULT
        if not 1 <= size <= A2A_PAGE_MAX:
            raise errors.InvalidParamsError(f"pageSize must be from 1 to {A2A_PAGE_MAX}.")
        if params.page_token and not ids.is_id(ids.MESSAGE, params.page_token):
            raise errors.InvalidParamsError("pageToken must be the nextPageToken of a page.")
        _check_status(params, self._call.fields)
        history = _history_length(params)
        with self._refusals_translated(Scope.READ):
            await list_places.check(self._ctx, self._caller, "pageToken", params.page_token)
            newest = await chains.newest(
                self._ctx, self._caller, params.context_id or None, A2A_TASKS_LOOKED_AT_MAX
            )
        fitting = [chain for chain in newest if _fits(chain, params)]
        behind = [
            chain for chain in fitting if not params.page_token or chain.id < params.page_token
        ]
        page: list[a2a.Task] = []
        page_bytes = 0
        for chain in behind[:size]:
            task = tasks.task(chain, links, history or 0)
            if not params.include_artifacts:
                task.ClearField("artifacts")
            page_bytes += task.ByteSize()
            if page and page_bytes > RPC_PAGE_BYTES_MAX:
                break
            page.append(task)
        more = page[-1].id if len(behind) > len(page) else ""
        return a2a.ListTasksResponse(
            tasks=page, next_page_token=more, page_size=len(page), total_size=len(fitting)
        )

    @validate_request_params
    async def on_cancel_task(
        self, params: a2a.CancelTaskRequest, context: ServerCallContext
    ) -> a2a.Task:
        ctx = self._ctx
        with self._refusals_translated(Scope.SEND):
            chain = await chains.look(ctx, self._caller, params.id)
            if tasks.state(chain) in TERMINAL:
                raise errors.TaskNotCancelableError("The task has ended already.")
            if tasks.state(chain) in PAUSED:
                raise errors.TaskNotCancelableError(
                    "Nothing runs: the agent has asked a question, which needs no answer."
                )
            for snapshot in chain.snapshots:
                await lists.cancel(ctx, self._caller, snapshot.message.id)
                self._state.reads = False
            chain = await chains.look(ctx, self._caller, params.id)
        return tasks.task(chain, ctx.links)

    # --- what there is not ------------------------------------------------------------------------
    async def _refuse_push(self, params: Any, context: ServerCallContext) -> NoReturn:
        raise errors.PushNotificationNotSupportedError(_NO_PUSH)

    on_create_task_push_notification_config = _refuse_push
    on_get_task_push_notification_config = _refuse_push
    on_list_task_push_notification_configs = _refuse_push
    on_delete_task_push_notification_config = _refuse_push

    async def on_get_extended_agent_card(
        self, params: a2a.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> NoReturn:
        raise errors.ExtendedAgentCardNotConfiguredError("The public card tells everything.")


_NO_PUSH: Final = (
    "Push notifications are not sent; register a webhook with POST /v1/webhooks, which is signed"
    " and tried again, or stream the task."
)


def _new_message(
    ctx: AppContext, params: a2a.SendMessageRequest, contents: Mapping[str, LongText]
) -> NewMessage:
    """The message as it is to be sent; takes a while for large files and data. Raises
    `InvalidParamsError` for required fields that are missing."""
    validate_proto_required_fields(params)
    message = params.message
    return NewMessage(
        text=parts.text_of(message).strip(),
        files=parts.files_of(message, contents),
        conversation=message.context_id or new_id(ids.CONVERSATION, ctx.clock.now()),
        metadata=parts.labels_of(message) or None,
        idempotency_key=parts.key_of(message, contents),
        held=False,
    )


def _ensure_goes_on(chain: Chain, message: a2a.Message) -> None:
    """Raise for a task that takes no message any more, or that is another context's."""
    if message.context_id and message.context_id != chain.conversation:
        raise errors.InvalidParamsError("The task belongs to another contextId.")
    if tasks.state(chain) in TERMINAL:
        raise errors.UnsupportedOperationError(
            "The task has ended; send a message with its contextId and without taskId."
        )
    if len(chain.snapshots) >= chains.LENGTH_MAX:
        raise errors.UnsupportedOperationError(
            f"A task has up to {chains.LENGTH_MAX} messages; begin a new one in its contextId."
        )


def _history_length(
    params: a2a.GetTaskRequest | a2a.ListTasksRequest | a2a.SendMessageConfiguration,
) -> int | None:
    if not params.HasField("history_length"):
        return None
    if params.history_length < 0:
        raise errors.InvalidParamsError("historyLength must not be negative.")
    return int(params.history_length)


def _check_status(params: a2a.ListTasksRequest, call: dict[str, Any]) -> None:
    """Raise for a status that there is not: the SDK reads an unknown name as none."""
    status = (call.get("params") or {}).get("status")
    is_lost = not params.status and status not in (None, 0, "TASK_STATE_UNSPECIFIED")
    if is_lost or params.status not in a2a.TaskState.values():
        names = ", ".join(name for name, value in a2a.TaskState.items() if value)
        raise errors.InvalidParamsError(f"status must be one of {names}.")


def _fits(chain: Chain, params: a2a.ListTasksRequest) -> bool:
    if params.status and params.status != tasks.state(chain):
        return False
    if params.HasField("status_timestamp_after"):
        after = params.status_timestamp_after.ToMicroseconds()
        return bool(tasks.status(chain).timestamp.ToMicroseconds() > after)
    return True


class ArtifactStream:
    """The artifacts of a task that its client does not have yet. Chunks are appended. When the
    agent takes a text back, or its output is another one, the artifact is replaced."""

    def __init__(self, chain: Chain, links: Links) -> None:
        self._links = links
        self._shown = {output.id for output in tasks.all_outputs(chain, links)}
        self._texts = Texts()
        self._sent: dict[str, tuple[int, str]] = {}
        """How far the text of an artifact was sent, behind the attempt at it that this was."""

    def text_chunks(
        self, chain: Chain, texts: Sequence[str]
    ) -> Iterator[a2a.TaskArtifactUpdateEvent]:
        """The chunks of texts that are being written. What a job shows before the task has it
        comes with the moment that does."""
        for each in texts:
            self._texts.add(read(each))
        titles = {chain.last.message.id: ""}
        titles |= {link.job.id: link.job.title for link in chain.last.links}
        for source, title in titles.items():
            text = self._texts.of(source)
            if source in self._shown or text is None or text.start > 0:
                continue
            attempt, sent_text = self._sent.get(source, (None, ""))
            goes_on = attempt == text.attempt
            start = len(sent_text) if goes_on else 0
            if text.end > start:
                self._sent[source] = text.attempt, text.known
                chunk = Output(source, title, text.between(start, text.end), ())
                yield tasks.artifact_update(chain, chunk, append=goes_on, last=False)

    def output_chunks(self, chain: Chain) -> Iterator[a2a.TaskArtifactUpdateEvent]:
        """The outputs that are there now: what is left of a text that was sent, or all of it."""
        for output in tasks.all_outputs(chain, self._links):
            if output.id in self._shown:
                continue
            self._shown.add(output.id)
            _, sent_text = self._sent.pop(output.id, (None, ""))
            goes_on = bool(sent_text) and output.text.startswith(sent_text)
            left = replace(output, text=output.text[len(sent_text) :]) if goes_on else output
            yield tasks.artifact_update(chain, left, append=goes_on, last=True)
