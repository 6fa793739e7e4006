"""What an agent author imports. See `agentpost.agents.base` for the contract."""

from agentpost.agents.answers import Answer, OutputInvalid
from agentpost.agents.base import (
    AgentFn,
    CannotSucceed,
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
from agentpost.agents.files import File
from agentpost.agents.retries import Backoff
from agentpost.extraction import Unreadable

__all__ = [
    "AgentFn",
    "Answer",
    "Backoff",
    "CannotSucceed",
    "File",
    "Job",
    "JobFailed",
    "JobFn",
    "Json",
    "NotAllowedInStep",
    "OutputInvalid",
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
