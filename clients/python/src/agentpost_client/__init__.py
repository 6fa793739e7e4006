"""The SDK: talk to an agentpost server from Python.

    with Client() as client:  # AGENTPOST_URL and AGENTPOST_KEY
        message = client.send("Chart the revenue", files=[Path("sales.csv")])
        message = client.wait(message.id)
        for file in message.files:
            client.download(file, Path("results"))

`AsyncClient` has the same methods for asyncio. Errors: see `agentpost_client.errors`.
"""

from agentpost_client.async_client import AsyncClient
from agentpost_client.attachments import Attachment
from agentpost_client.errors import (
    AgentpostError,
    ApiError,
    BadAnswer,
    ConfigError,
    ConnectionFailed,
    FileRefused,
    WaitTimeout,
)
from agentpost_client.models import (
    Account,
    Entry,
    File,
    Job,
    Message,
    Problem,
    RunningJob,
    Upload,
    Work,
    WorkItem,
)
from agentpost_client.retries import RetryPolicy
from agentpost_client.sync_client import Client
from agentpost_client.version import __version__

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
    "Problem",
    "RetryPolicy",
    "RunningJob",
    "Upload",
    "WaitTimeout",
    "Work",
    "WorkItem",
    "__version__",
]
