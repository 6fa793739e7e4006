"""What an agent author imports. See `agentpost.agents.base` for the contract."""

from agentpost.agents.base import (
    AgentFn,
    File,
    Job,
    JobFailed,
    JobFn,
    Json,
    NotAllowedInStep,
    Running,
    Said,
    Started,
    StepFailed,
    StorageFull,
    Turn,
    WorkRef,
    step_key,
)
from agentpost.agents.deaths import WorkerDied
from agentpost.agents.retries import Backoff
from agentpost.extraction import Unreadable

__all__ = [
    "AgentFn",
    "Backoff",
    "File",
    "Job",
    "JobFailed",
    "JobFn",
    "Json",
    "NotAllowedInStep",
    "Running",
    "Said",
    "Started",
    "StepFailed",
    "StorageFull",
    "Turn",
    "Unreadable",
    "WorkRef",
    "WorkerDied",
    "step_key",
]
