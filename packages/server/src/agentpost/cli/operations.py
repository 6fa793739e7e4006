"""What the command line takes from the table of operations. Made by docs/commands.py."""

from typing import Any, Final

COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {
        "words": "messages show",
        "summary": "Show a message with its reply, jobs and files.",
        "subject": "MESSAGE_ID",
    },
    {
        "words": "messages list",
        "summary": "List the messages of this key.",
        "columns": ("id", "status", "sent=created_at", "conversation", "message"),
        "extra": ("conversation",),
        "empty": "no such message",
        "page_default": 20,
        "page_max": 50,
    },
    {
        "words": "messages cancel",
        "summary": "Stop everything that still runs for a message.",
        "subject": "MESSAGE_ID",
    },
    {"words": "messages delete", "summary": "Delete a final message.", "subject": "MESSAGE_ID"},
    {
        "words": "work list",
        "summary": "List works, newest first.",
        "columns": ("work_id", "status", "updated=updated_at", "title", "result=preview"),
        "empty": 'no work yet: agentpost send "…" starts some',
        "page_default": 20,
        "page_max": 50,
    },
    {"words": "work show", "summary": "Read a work and its newest files.", "subject": "WORK_ID"},
    {
        "words": "work stop",
        "summary": "Stop everything that runs or waits in a work.",
        "subject": "WORK_ID",
    },
    {
        "words": "work delete",
        "summary": "Stop what runs in a work and delete it with its files.",
        "subject": "WORK_ID",
    },
    {
        "words": "schedules list",
        "summary": "List the schedules of this key.",
        "columns": (
            "id",
            "status",
            "cron=cron|once",
            "next_run=next_run_at",
            "message=message.message",
        ),
        "empty": "no schedule yet: `agentpost schedules create`",
        "page_default": 50,
        "page_max": 100,
    },
    {"words": "schedules show", "summary": "Read a schedule.", "subject": "SCHEDULE_ID"},
    {"words": "schedules delete", "summary": "Delete a schedule.", "subject": "SCHEDULE_ID"},
    {
        "words": "webhooks list",
        "summary": "List webhook endpoints.",
        "columns": ("id", "status=@status", "url", "events=events|*", "created=created_at"),
        "empty": "no endpoint yet: `agentpost webhooks create`",
    },
    {
        "words": "webhooks show",
        "summary": "Read a webhook endpoint and its newest deliveries.",
        "subject": "ENDPOINT_ID",
    },
    {"words": "webhooks delete", "summary": "Remove a webhook endpoint.", "subject": "ENDPOINT_ID"},
    {
        "words": "webhooks deliveries",
        "summary": "List the deliveries of a webhook endpoint.",
        "subject": "ENDPOINT_ID",
        "columns": (
            "event_id=id",
            "event",
            "status",
            "tries=attempts",
            "answer=@answer",
            "created=created_at",
        ),
        "empty": "no delivery fits",
        "page_default": 20,
        "page_max": 100,
    },
)
