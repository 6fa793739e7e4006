"""`docs/spec-map.md` leads from every section of the API's specification to its file."""

import re

from agentpost.api.app import OPERATIONS
from tests.house.tree import DOCS, ROOT, document

SECTIONS = """
What the service does
Resources and their fields
Message (object: message)
Job
File (object: file)
InlineFile
Work (object: work)
Upload
Recovery (object: recovery)
EventList
Account (object: account)
Webhook endpoint (object: webhook_endpoint)
States and transitions
Message status
Job and message transitions
Reasons
Upload states
Webhook endpoint states
Endpoints
Messages
POST /v1/messages
GET /v1/messages/{message_id}
GET /v1/messages/{message_id}/events
POST /v1/messages/{message_id}/recover
Uploads
POST /v1/uploads
POST /v1/uploads/{upload_id}/complete
Work
GET /v1/work
GET /v1/work/{work_id}
Files
GET /v1/files/{file_id}
Account
GET /v1/me
Webhooks
Authentication
Events
Message event log
Webhook events
Errors
Limits
Versioning
""".strip().splitlines()

ROW = re.compile(r"^\| (?P<section>[^|]+?) +\| \[(?P<shown>[^]]+)\]\((?P<link>[^)]+)\) +\|", re.M)


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(document(DOCS / "spec-map.md")))


def test_every_section_has_its_line_in_order() -> None:
    assert [row["section"] for row in rows()] == SECTIONS


def test_every_line_leads_to_a_file() -> None:
    missing = [f"{row['section']}: {row['shown']}" for row in rows() if not leads(row["link"])]
    assert missing == []
    assert [row["shown"] for row in rows() if f"../{row['shown']}" != row["link"]] == []


def test_what_is_not_built_is_said_to_be() -> None:
    """A route of the specification is served or listed as missing, and never both."""
    page = document(DOCS / "spec-map.md").partition("## Not built yet")[2]
    missing = [section for section in SECTIONS if f"\n- {section}: " in page]
    assert len(missing) == len(re.findall(r"^- ", page, re.M)), "a line names no section"
    served = {f"{operation.method} {route(operation.path)}" for operation in OPERATIONS}
    routes = [section for section in SECTIONS if re.match(r"[A-Z]+ /v1/", section)]
    assert [name for name in routes if (name in served) == (name in missing)] == []


def route(path: str) -> str:
    """As the specification writes it."""
    return path.replace(":path}", "}")


def leads(link: str) -> bool:
    file = (DOCS / link).resolve()
    return file.is_file() and file.is_relative_to(ROOT) and bool(file.read_text("utf-8").strip())
