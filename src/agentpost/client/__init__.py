"""The SDK: talk to an agentpost server from Python.

    with Client() as client:  # AGENTPOST_URL and AGENTPOST_KEY
        message = client.send("Chart the revenue", files=[Path("sales.csv")])
        message = client.wait(message.id)
        for file in message.files:
            client.download(file, Path("results"))

`AsyncClient` has the same methods for asyncio. Errors: see `agentpost.client.errors`.
"""

from agentpost.client.async_client import AsyncClient
from agentpost.client.attachments import Attachment
from agentpost.client.errors import (
    AgentpostError,
    ApiError,
    BadAnswer,
    ConfigError,
    ConnectionFailed,
    FileRefused,
    WaitTimeout,
)
from agentpost.client.models import (
    Account,
    Entry,
    File,
    Job,
    Message,
    RunningJob,
    Upload,
    Work,
    WorkItem,
)
from agentpost.client.retries import RetryPolicy
from agentpost.client.sync_client import Client

__all__ = [
    "Account",
    "AgentpostError",
    "ApiError",
    "AsyncClient",
    "Attachment",
    "BadAnswer",
    "Client",
    "ConfigError",
    "ConnectionFailed",
    "Entry",
    "File",
    "FileRefused",
    "Job",
    "Message",
    "RetryPolicy",
    "RunningJob",
    "Upload",
    "WaitTimeout",
    "Work",
    "WorkItem",
]
