"""The parts of a server, each given what it needs in its constructor. Nothing runs yet."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentpost.agents import registry, values
from agentpost.agents.registry import Agent
from agentpost.api.app import OPERATIONS, ApiRoutes
from agentpost.api.auth import Keys
from agentpost.api.operation import Api
from agentpost.bootstrap import Installation, heartbeat, surroundings, way_out
from agentpost.context import AppContext
from agentpost.doors.routes import DoorRoutes
from agentpost.http.application import Application, RouteGroup
from agentpost.mail.actions import SmtpServer
from agentpost.nodes.lease import LEASE_SECONDS, Lease
from agentpost.nodes.membership import Nodes
from agentpost.nodes.quarantine import Quarantine
from agentpost.nodes.reconciler import RunReconciler
from agentpost.operations.metrics import Metrics
from agentpost.operations.routes import handler as metrics_handler
from agentpost.processes.pool import WorkerPool
from agentpost.runtime.isolated.pool import AgentProcesses
from agentpost.runtime.run_job import JobRunner
from agentpost.runtime.run_turn import TurnRunner
from agentpost.runtime.steps import make_steps
from agentpost.settings import Settings
from agentpost.storage.scratch import AGENTS
from agentpost.tasks.background import Background
from agentpost.threads.loop import AgentLoop
from agentpost.web.routes import PageRoutes
from agentpost.webhooks.dispatcher import Deliveries


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a server. ``turns`` and ``jobs`` are None where the role has none."""

    ctx: AppContext
    loop: AgentLoop
    pool: WorkerPool
    processes: AgentProcesses | None
    turns: TurnRunner | None
    jobs: JobRunner | None
    deliveries: Deliveries
    nodes: Nodes
    background: Background
    application: Application


def wire(
    settings: Settings,
    installation: Installation,
    agent: Agent,
    *,
    scratch: Path,
    is_ready: Callable[[], bool],
) -> Parts:
    """Make all parts of a server.

    Args:
        scratch: a folder of this process alone.
        is_ready: whether requests can be served.

    Raises `OSError` and `ValueError` for settings that cannot be used.
    """
    alone = not settings.database_url.get_secret_value()
    smtp_url = settings.smtp_url.get_secret_value()
    smtp = SmtpServer.parse(smtp_url) if smtp_url else None
    loop = AgentLoop()
    processes = _agent_processes(settings, scratch)
    rebuild = values.rebuild_error if processes is None else values.stand_in_error
    ctx = installation.ctx
    steps = make_steps(settings, ctx.storage, scratch, agent.worker_imports, rebuild)
    run = agent.run if processes is None else processes.take_turn
    turns = TurnRunner(loop, run, steps) if settings.role != "worker" else None
    ctx.agent_name, ctx.examples, ctx.turns = agent.name, agent.examples, turns
    if not alone:
        ctx.lease = Lease(LEASE_SECONDS)
    if agent.attach is not None:
        agent.attach(surroundings(settings, ctx.egress))
    find = values.resolve if processes is None else processes.find_job
    jobs = JobRunner(ctx, loop, steps, find) if settings.role != "api" else None
    quarantine = Quarantine(turns.runs if turns else None, jobs.runs if jobs else None)
    nodes = Nodes(ctx, jobs, heartbeat(settings, ctx), quarantine)
    reconciler = RunReconciler(ctx, turns, jobs, quarantine)
    return Parts(
        ctx=ctx,
        loop=loop,
        pool=steps.pool,
        processes=processes,
        turns=turns,
        jobs=jobs,
        deliveries=Deliveries(ctx, way_out(settings), alone=alone),
        nodes=nodes,
        background=Background(ctx, jobs, nodes, reconciler, smtp, installation.checks),
        application=_application(installation, is_ready),
    )


def _agent_processes(settings: Settings, scratch: Path) -> AgentProcesses | None:
    """None where turns and jobs run in the server's own process."""
    if settings.agent_processes and registry.is_code(settings.agent):
        return AgentProcesses(settings, scratch / AGENTS)
    return None


def _application(installation: Installation, is_ready: Callable[[], bool]) -> Application:
    """What is served; a worker answers health checks and links to files."""
    ctx = installation.ctx
    is_worker = ctx.settings.role == "worker"
    shared = Api(ctx, Keys(ctx))
    token = ctx.settings.metrics_token.get_secret_value()
    metrics = Metrics(ctx, is_ready) if token else None
    api = ApiRoutes(
        shared,
        installation.signer,
        is_ready=is_ready,
        receiver=None if is_worker else installation.receiver,
        operations=() if is_worker else OPERATIONS,
        metrics=metrics_handler(metrics, token) if metrics else None,
    )
    groups: list[RouteGroup] = [api]
    if not is_worker:
        groups = [PageRoutes(ctx), DoorRoutes(shared), api]
    observe = metrics.observe if metrics else None
    return Application(
        groups,
        no_request=api.no_request,
        no_room=api.no_room,
        account_of=api.account_of,
        observe=observe,
    )
