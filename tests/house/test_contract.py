"""`docs/contract.md` has every rule of the API's specification, each with its code and tests."""

import re
from collections import Counter

import pytest

from agentpost.api.app import OPERATIONS
from agentpost.contract.errors import CATALOGUE
from agentpost.jobs.rules import Reason
from agentpost.record.events import EventName
from tests.house.contract import sections, tool
from tests.house.tree import DOCS, document

FIELDS = {
    "Message": "id object status reason question final reply jobs files notes credits_used"
    " created_at updated_at resume resume_by retry_after_seconds running",
    "Job": "job_id kind role work_id title status reason final queued resume_by link started_at"
    " settled_at files object message_id",
    "File": "object file_id name content_type kind size url revision work_id label",
    "InlineFile": "name url base64 content_type one-of-both",
    "Work": "object work_id title status text next_from_char link files list",
    "Upload": "object upload_id url fields expires_at max_bytes ready",
    "Recovery": "id object work state",
    "EventList": "object data has_more done cursor cursor_expired",
    "Account": "object user_id email name plan credits agent key limits",
    "WebhookEndpoint": "object id url events description created_at disabled_at disabled_reason"
    " failing_since secret recent_deliveries deleted rotated list",
    "Delivery": "object id event status attempts last_status_code last_error last_response last_ms"
    " created_at delivered_at next_attempt_at message_id",
    "createMessage": "Idempotency-Key message files upload_ids webhook_endpoint_id one-of-three"
    " answers errors",
    "getMessage": "wait held answers",
    "listMessageEvents": "cursor wait order one-wait expired has_more done errors",
    "recoverMessage": "rearms repeat answers",
    "createUpload": "filename size content_type answers procedure",
    "completeUpload": "checks answers",
    "listWork": "limit order errors",
    "getWork": "from_char answers",
    "getFile": "path fresh no-key errors",
    "getAccount": "answers",
}
"""`Section.name`: fields of a resource, parameters and the rest of an operation."""
NUMBERED = {
    "What the service does": 6,
    "Message status": 10,
    "Finality": 3,
    "Transitions": 13,
    "Upload states": 4,
    "Webhook endpoint states": 4,
    "Endpoints": 3,
    "createMessage": 6,
    "Retry safety": 5,
    "Authentication": 7,
    "Webhook events": 9,
    "Versioning": 4,
}
"""`Section 1` to as many as there are."""
NAMED = {
    "Message status": "first-match",
    "Reasons": "out_of_credits hosting_fees too_many_running queue_expired watch_expired"
    " result_unknown execution_failed stopped agent_busy turn_failed",
    "Webhooks": "list create create.url create.events create.description create.errors read change"
    " delete rotate",
    "Message event log": "own entry agent_reply progress result state turn_failed turn_busy",
    "Webhook events": "message.completed message.partial message.failed message.needs_input"
    " message.blocked message.expired job.completed job.failed job.blocked job.resumed job.expired",
    "Errors": "shape problems cursor invalid_request bad_request empty_message too_long too_many"
    " bad_cursor bad_url bad_events bad_size unauthorized not_found idempotency_conflict"
    " poll_in_progress too_many_endpoints not_pending not_uploaded changed upload_not_ready"
    " too_large executable_refused rate_limited internal unavailable outcomes success advice",
    "Limits": "message-text inline-files uploads-per-message upload-size upload-link"
    " unattached-upload requests messages waits work-reads running-jobs wait limit work-files"
    " idempotency-key queue-wait watch retention event-log endpoints receiver-timeout"
    " recent-deliveries inspector RateLimit-headers Retry-After cap queue-and-cap",
}
"""`Section name`: codes, reasons, events, limits."""
OPEN = {"Authentication 6", "Versioning 4"}
"""What the specification leaves open, so that there is nothing to keep."""
NOT_YET: set[str] = set()
"""What is not kept wholly; each says on the page what is missing."""

PAGE = document(DOCS / "contract.md")
RULES = tool().rules(PAGE)


def expected() -> list[str]:
    """Every rule of the specification."""
    names = [f"{section}.{name}" for section, all_ in FIELDS.items() for name in all_.split()]
    names += [f"{s} {n + 1}" for s, count in NUMBERED.items() for n in range(count)]
    return names + [f"{s} {name}" for s, all_ in NAMED.items() for name in all_.split()]


def of(section: str) -> set[str]:
    return set(NAMED[section].split())


def test_every_rule_of_the_specification_is_there_once() -> None:
    names = [r.name for r in RULES if not r.name.startswith("Additions ")]
    assert sorted(set(expected()) - set(names)) == [], "these are missing"
    assert sorted(set(names) - set(expected())) == [], "the specification has no such rules"
    assert [name for name, count in Counter(r.name for r in RULES).items() if count > 1] == []


def test_every_rule_stands_under_its_section() -> None:
    section, misplaced = "", []
    for line in PAGE.splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        rule = tool().parse(line) if section else None
        if rule is not None and not re.match(rf"{section}[ .][^ ]+$", rule.name):
            misplaced.append(rule.name)
    assert misplaced == []


def test_the_list_of_rules_knows_what_the_code_has() -> None:
    assert of("Reasons") == set(Reason)
    assert {name for name in of("Webhook events") if "." in name} == set(EventName)
    added = {"method_not_allowed", "link_invalid", "file_changed", "range_not_satisfiable"}
    added |= {"forbidden", "not_final"}
    assert set(CATALOGUE) - added <= of("Errors")
    operations = {o.id for o in OPERATIONS if "ebhook" not in o.id}
    named = {r.name.split()[1].partition("-")[0] for r in RULES if r.name.startswith("Additions ")}
    assert operations - named <= set(sections())


def test_every_place_is_there() -> None:
    assert tool().stale(PAGE) == [], "python docs/contract.py finds what moved; correct the rest"


def test_every_rule_names_the_code_that_keeps_it() -> None:
    assert {rule.name for rule in RULES if rule.keeps_nothing} == OPEN


def test_every_mark_names_a_rule() -> None:
    known = {rule.name for rule in RULES} - OPEN
    assert {rule: tests for rule, tests in tool().marks().items() if rule not in known} == {}


def test_a_rule_not_kept_yet_says_so() -> None:
    said = {rule.name for rule in RULES if "**Not yet:**" in rule.text}
    assert said == NOT_YET
    [listed] = re.findall(r"^- \*\*Not yet\*\* marks .*$(?:\n  .*)*", PAGE, re.M)
    assert set(re.findall("`([^`]+)`", " ".join(listed.split()))) == NOT_YET


def test_the_index_has_every_section() -> None:
    index = PAGE.partition("\n## ")[0]
    linked = re.findall(r"\[([^]]+)\]\(#([^)]+)\)", index)
    assert sorted(name for name, _ in linked) == sorted(sections())
    assert [name for name, anchor in linked if anchor != name.lower().replace(" ", "-")] == []


# --- the tool itself ------------------------------------------------------------------------------
ROW = "| Errors x | A text. | `domain/limits.py::PROBLEMS_MAX` | `tests/a.py::test_b` |"


def test_a_row_is_written_as_it_was_read() -> None:
    rule = tool().parse(ROW)
    assert rule.line(["tests/a.py::test_b"]) == ROW
    assert rule.line([]).endswith("| not tested yet |")
    assert [tool().parse(line) for line in (tool().HEAD, "|---|---|---|---|", "text")] == [None] * 3


@pytest.mark.parametrize(
    ("place", "there", "found"),
    [
        ("domain/limits.py::PROBLEMS_MAX", True, "domain/limits.py::PROBLEMS_MAX"),
        ("services/limits.py::PROBLEMS_MAX", False, "domain/limits.py::PROBLEMS_MAX"),
        ("domain/limits.py::NOWHERE_AT_ALL", False, None),
        ("services/anywhere.py::OPERATIONS", False, None),
        ("messages/shapes.py::MessageShape.reply", True, "messages/shapes.py::MessageShape.reply"),
    ],
)
def test_a_symbol_that_moved_is_found_when_there_is_one(
    place: str, there: bool, found: str | None
) -> None:
    assert tool().is_there(place) is there
    assert tool().moved_to(place) == found
