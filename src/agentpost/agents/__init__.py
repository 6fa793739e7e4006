"""What an agent author imports. See `agentpost.agents.base` for the contract."""

from agentpost.agents.base import (
    AgentFn,
    File,
    Job,
    JobFailed,
    JobFn,
    Json,
    Running,
    Said,
    Started,
    StepFailed,
    Turn,
    Unreadable,
    WorkRef,
    step_key,
)

__all__ = [
    "AgentFn",
    "File",
    "Job",
    "JobFailed",
    "JobFn",
    "Json",
    "Running",
    "Said",
    "Started",
    "StepFailed",
    "Turn",
    "Unreadable",
    "WorkRef",
    "step_key",
]
