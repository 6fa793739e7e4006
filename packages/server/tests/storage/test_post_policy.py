"""The rules of a POST policy: what S3 answers to each wrong form (ceph's s3-tests, post_object)."""

import base64
import json
from typing import Any

import pytest

from agentpost.domain.times import SECOND
from agentpost.storage.post_policy import Allowance, PolicySigner, PostRefused

NOW = 1_800_000_000 * SECOND
SIGNER = PolicySigner(b"secret")


def form(**changes: str | None) -> dict[str, str]:
    """A good form's fields by lower-case name, some of them changed or (None) left out."""
    fields = SIGNER.fields("up_1", "text/csv", 8, NOW + SECOND)
    lowered: dict[str, str | None] = {name.lower(): value for name, value in fields.items()}
    lowered.update({name.replace("_", "-"): value for name, value in changes.items()})
    return {name: value for name, value in lowered.items() if value is not None}


def refusal_of(fields: dict[str, str], now: int = NOW) -> tuple[int, str]:
    with pytest.raises(PostRefused) as caught:
        SIGNER.check(fields, now)
    return caught.value.status, caught.value.code


def test_a_good_form_allows_one_file_up_to_its_size() -> None:
    assert SIGNER.check(form(), NOW) == Allowance("up_1", 1, 8)
    assert SIGNER.check(form(x_ignore_me="any"), NOW) == Allowance("up_1", 1, 8)


def test_the_policy_is_readable_base64_json() -> None:
    text = json.loads(base64.b64decode(form()["policy"]))
    assert text == {
        "expiration": "2027-01-15T08:00:01.000000Z",  # a second after NOW
        "conditions": [
            {"key": "uploads/up_1"},
            {"Content-Type": "text/csv"},
            ["content-length-range", 1, 8],
        ],
    }


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"key": None}, 400, "InvalidArgument"),
        ({"key": ""}, 400, "InvalidArgument"),
        ({"signature": None}, 400, "InvalidArgument"),
        ({"policy": None}, 403, "AccessDenied"),
        ({"signature": "0" * 64}, 403, "SignatureDoesNotMatch"),
        ({"signature": "é"}, 403, "SignatureDoesNotMatch"),
        ({"policy": "e30="}, 403, "SignatureDoesNotMatch"),
        ({"policy": "\udcff"}, 403, "SignatureDoesNotMatch"),
        ({"key": "uploads/up_2"}, 403, "AccessDenied"),
        ({"key": "uploads/up_1/${filename}"}, 403, "AccessDenied"),
        ({"key": "uploads/../../etc/passwd"}, 403, "AccessDenied"),
        ({"content_type": "text/html"}, 403, "AccessDenied"),
        ({"content_type": "text/csv "}, 403, "AccessDenied"),
        ({"content_type": None}, 403, "AccessDenied"),
        ({"acl": "public-read"}, 403, "AccessDenied"),
        ({"success_action_redirect": "https://evil"}, 403, "AccessDenied"),
        ({"x_amz_meta_a": "1"}, 403, "AccessDenied"),
        ({"x_ignore": "1"}, 403, "AccessDenied"),
    ],
)
def test_a_form_that_was_changed(changes: dict[str, Any], status: int, code: str) -> None:
    assert refusal_of(form(**changes)) == (status, code)


@pytest.mark.parametrize("field", ["key", "content-type", "policy", "signature"])
def test_a_field_of_another_upload(field: str) -> None:
    other = SIGNER.fields("up_2", "text/plain", 9, NOW + SECOND)
    value = next(value for name, value in other.items() if name.lower() == field)
    assert refusal_of({**form(), field: value})[0] == 403


def test_it_ends_at_its_time() -> None:
    assert SIGNER.check(form(), NOW + SECOND - 1)
    assert refusal_of(form(), NOW + SECOND) == (403, "AccessDenied")


def test_another_servers_form_is_none_of_ours() -> None:
    fields = PolicySigner(b"other").fields("up_1", "text/csv", 8, NOW + SECOND)
    assert refusal_of({n.lower(): v for n, v in fields.items()}) == (403, "SignatureDoesNotMatch")


@pytest.mark.parametrize(
    ("size", "code"), [(0, "EntityTooSmall"), (1, ""), (8, ""), (9, "EntityTooLarge")]
)
def test_the_size_is_held_exactly(size: int, code: str) -> None:
    allowed = SIGNER.check(form(), NOW)
    if not code:
        allowed.check_size(size)
        return
    with pytest.raises(PostRefused) as caught:
        allowed.check_size(size)
    assert (caught.value.status, caught.value.code) == (400, code)
