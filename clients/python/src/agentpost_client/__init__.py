"""The SDK: talk to an agentpost server from Python.

    with Client() as client:  # AGENTPOST_URL and AGENTPOST_KEY
        done = client.send_and_wait("Chart the revenue", files=["sales.csv"], timeout=600)
        for file in done.files:
            client.download(file, "results")

`AsyncClient` has the same methods for asyncio. Errors: see `agentpost_client.errors`; records:
`agentpost_client.models`; webhooks: `agentpost_client.webhooks`.
"""

from agentpost_client import errors, webhooks
from agentpost_client._async.client import AsyncClient
from agentpost_client._async.http import AsyncHttpClient
from agentpost_client._async.pages import AsyncPages
from agentpost_client._sync.client import Client
from agentpost_client._sync.http import HttpClient
from agentpost_client._sync.pages import Pages
from agentpost_client.attachments import Attachment, RemoteFile
from agentpost_client.deltas import TextDelta, TextReset
from agentpost_client.enums import EntryType, EventName, JobStatus, MessageStatus, Reason
from agentpost_client.errors import (
    AgentpostError,
    ApiError,
    BadAnswer,
    ConfigError,
    ConnectionFailed,
    FileRefused,
    RequestTimeout,
    WaitTimeout,
    WebhookRefused,
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
    WebhookEndpoint,
    Work,
    WorkItem,
)
from agentpost_client.retries import RetryPolicy
from agentpost_client.version import __version__

__all__ = [
    "Account",
    "AgentpostError",
    "ApiError",
    "AsyncClient",
    "AsyncHttpClient",
    "AsyncPages",
    "Attachment",
    "BadAnswer",
    "Client",
    "ConfigError",
    "ConnectionFailed",
    "Entry",
    "EntryType",
    "EventName",
    "File",
    "FileRefused",
    "HttpClient",
    "Job",
    "JobStatus",
    "Message",
    "MessageStatus",
    "Pages",
    "Problem",
    "Reason",
    "RemoteFile",
    "RequestTimeout",
    "RetryPolicy",
    "RunningJob",
    "TextDelta",
    "TextReset",
    "Upload",
    "WaitTimeout",
    "WebhookEndpoint",
    "WebhookRefused",
    "Work",
    "WorkItem",
    "__version__",
    "errors",
    "webhooks",
]
