"""What the request inspector keeps of bodies and addresses, and what it leaves out."""

import json
import random

import pytest

from agentpost.requests import redaction
from agentpost.requests.redaction import LargeBody, Redaction

CLEAN = Redaction("svc_key_")
DEEP = b'{"token":' + b"[" * 900 + b"1" + b"]" * 900 + b"}"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        # contents and secrets, by the name of their field
        ('{"files": [{"base64": "c2VjcmV0"}]}', '{"files": [{"base64": "… (6 bytes)"}]}'),
        ('{"base64": "YWI="}', '{"base64": "… (2 bytes)"}'),
        ('{"secret": "whsec_abc+/="}', '{"secret": "…"}'),
        ('{"metadata": {"api_key": "abc"}}', '{"metadata": {"api_key": "…"}}'),
        ('{"apiKey": "a", "X-Api-Key": "b"}', '{"apiKey": "…", "X-Api-Key": "…"}'),
        ('{"AWSAccessKeyId": "a", "key": "b"}', '{"AWSAccessKeyId": "…", "key": "…"}'),
        ('{"policy": "a", "signature": "b"}', '{"policy": "…", "signature": "…"}'),
        ('{"x-amz-signature": "ab\\"c", "k": 1}', '{"x-amz-signature": "…", "k": 1}'),
        ('{"x-amz-credential": "a", "k": 1}', '{"x-amz-credential": "…", "k": 1}'),
        ('{"db.password": 12345, "pin": 1}', '{"db.password": "…", "pin": 1}'),
        ('{"tokens": ["a", "b"], "PWD": {"a": 1}}', '{"tokens": "…", "PWD": "…"}'),
        ('{"Authorization": "Basic YTpi", "auth": "a"}', '{"Authorization": "…", "auth": "…"}'),
        ('{"cookie": "a=b", "session": "c"}', '{"cookie": "…", "session": "…"}'),
        (
            '{"my password": "a", "token[0]": "b", "k": 1}',
            '{"my password": "…", "token[0]": "…", "k": 1}',
        ),
        # what only sounds like one
        ('{"key": {"id": "key_1", "name": "n"}}', '{"key": {"id": "key_1", "name": "n"}}'),
        ('{"author": "Ann", "taken": "de"}', '{"author": "Ann", "taken": "de"}'),
        ('{"keys": [{"id": "key_1"}]}', '{"keys": [{"id": "key_1"}]}'),
        ('{"m": "basic knowledge, task-force-of-many-people"}',) * 2,
        ('{"secret": null, "token": false}', '{"secret": null, "token": false}'),
        ('{"credits_used": 1, "sign": "a"}', '{"credits_used": 1, "sign": "a"}'),
        # names that contain "key" or "pem"
        (
            '{"sshKeyFile": "a", "key_data": ["b"], "k": 1}',
            '{"sshKeyFile": "…", "key_data": "…", "k": 1}',
        ),
        (
            '{"clientPEM": "a", "access_keys": {"a": "b"}}',
            '{"clientPEM": "…", "access_keys": {"a": "b"}}',
        ),
        # wherever they stand
        ('{"m": "Authorization: Basic YW5uOnB3"}', '{"m": "Authorization: Basic …"}'),
        ('{"m": "curl -H\\nBasic YW5uOnB3"}', '{"m": "curl -H\\nBasic …"}'),
        ('{"m": "look:\\nBearer abc.def"}', '{"m": "look:\\nBearer …"}'),
        (
            '{"m": "a -----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY----- b"}',
            '{"m": "a -----BEGIN PRIVATE KEY-----… b"}',
        ),
        (
            '{"m": "-----BEGIN RSA PRIVATE KEY-----\\nMIIE"}',
            '{"m": "-----BEGIN RSA PRIVATE KEY-----…"}',
        ),
        ('{"m": "use\\nsk-proj-abcdefghijklmnop now"}', '{"m": "use\\nsk-… now"}'),
        ('{"m": "ghp_abcdefghijklmnopqrst, AKIAIOSFODNN7EXAMPLE"}', '{"m": "ghp_…, AKIA…"}'),
        ('{"m": "xoxb-123456789012-abc AIzaSyA1234567890abcdef"}', '{"m": "xox… AIza…"}'),
        ('{"m": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc"}', '{"m": "eyJ…"}'),
        ('{"m": "gho_abcdefghijklmnop, glpat-abcdefghijklmnop"}', '{"m": "gho_…, glpat-…"}'),
        ('{"m": "ASIAIOSFODNN7EXAMPLE SG.abcdefghijkl.mn"}', '{"m": "ASIA… SG.…"}'),
        ('{"m": "Authorization: Basic dXNlcg=="}', '{"m": "Authorization: Basic …"}'),
        (
            '{"m": "{\\"token\\": \\"abc\\", \\"k\\": 1}"}',
            '{"m": "{\\"token\\": \\"…\\", \\"k\\": 1}"}',
        ),
        (
            '{"m": "postgres://u:p#ss@h/db, https://u:p?w@h/x"}',
            '{"m": "postgres://…@h/db, https://…@h/x"}',
        ),
        ('["whsec_abc+/="]', '["whsec_…"]'),
        ('{"message": "my key is svc_key_abc-_1"}', '{"message": "my key is svc_key_…"}'),
        ('{"message": "Bearer abc.def"}', '{"message": "Bearer …"}'),
        ('{"message": "a bearer\\nof news"}', '{"message": "a bearer\\nof news"}'),
        # URLs
        ('{"url": "https://f/a?exp=1&sig=abc"}', '{"url": "https://f/a?…"}'),
        ('{"url": "https:\\/\\/f?sig=abc"}', '{"url": "https://f?…"}'),
        ('{"url": "https://f/a?q=\\"x&t=1"}', '{"url": "https://f/a?…"}'),
        ('{"url": "https://f/\\u00e9?q=\\u00e9t"}', '{"url": "https://f/é?…"}'),
        ('{"url": "https://ann:pw@f/a"}', '{"url": "https://…@f/a"}'),
        ('{"url": "https://ann:p/w@x@f/a?b"}', '{"url": "https://…@f/a?…"}'),
        ('{"url": "https://f/a#access=1"}', '{"url": "https://f/a#…"}'),
        (
            '{"docs": "https://f/docs/errors#not_found"}',
            '{"docs": "https://f/docs/errors#not_found"}',
        ),
        (
            '{"m": "see postgres://u:p@h/d?a=b\\nand go"}',
            '{"m": "see postgres://…@h/d?…\\nand go"}',
        ),
        ('{"link": "https://app/chat/wrk_1"}', '{"link": "https://app/chat/wrk_1"}'),
        # not JSON
        ('{"base64": "unended', None),
        ('{"password": 12345, "message": }', None),
        ('{"credentials":{"value":"hunter2"},}', None),
        ('{"secret":["X"],}', None),
        ('{"secret":"X"} {}', None),
        ("user=ann&password=hunter2", None),
        ('{"message": "hello",}', '{"message": "hello",}'),
        ('{"b\\u0061se64": "c2VjcmV0"}', '{"base64": "… (6 bytes)"}'),
        ("not \\u JSON", None),
        ("a\x00b", "ab"),
        ('{"pass\x00word": "a"}', '{"password": "…"}'),
        ('{"a": "Bea\x00rer abc or wh\x00sec_abc"}', '{"a": "Bearer … or whsec_…"}'),
        ('{"a": "\\ud800"}', '{"a": "?"}'),
        ("x" * 32_767, "x" * 32_767),
        ("x" * 40_000, "x" * 32_768),  # cut
        (
            '{"a": "' + "é" * 30_000 + '", "secret": "a"}',
            '{"a": "' + "é" * 30_000 + '", "secret": "…"}',
        ),
        ("x" * 65_537, None),
    ],
)
def test_bodies(body: str, shown: str | None) -> None:
    assert CLEAN.body(body.encode(), b"/v1/messages") == shown


def test_of_a_body_that_was_taken_apart_the_rest_is_kept() -> None:
    rest = (
        b'{"message": "t0", "files": [{"name": "a.csv", "base64": "t1"}], "token": "t0", "t2": 1}'
    )
    large = LargeBody(200_000, rest, {"t0": 70_000, "t1": 4_000, "t2": 9_000})
    assert CLEAN.body(large, b"/v1/messages") == (
        '{"message": "… (70 kB)", "files": [{"name": "a.csv", "base64": "… (3,000 bytes)"}],'
        ' "token": "…", "…": 1}'
    )
    assert CLEAN.body(LargeBody(200_000), b"/v1/messages") is None


def test_a_body_that_is_no_text() -> None:
    assert CLEAN.body(b"\xff", b"/v1/messages") == "\ufffd"
    assert CLEAN.body(b"", b"/v1/messages") is None


def test_a_deep_body_is_kept_out_or_clean() -> None:
    assert "1" not in (CLEAN.body(DEEP, b"/v1/messages") or "")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.com/services/T1/B2/token", "https://hooks.example.com/…"),
        ("https://hooks.example.com:8443/a?b=c", "https://hooks.example.com:8443/…"),
        ("https://user:pw@hooks.example.com/a", "https://hooks.example.com/…"),
        ("https://hooks.example.com?token=a", "https://hooks.example.com/…"),
        ("https://hooks.example.com", "https://hooks.example.com"),
        ('https://h/a"b\\c', "https://h/…"),
    ],
)
def test_of_a_webhook_address_the_host_is_kept(url: str, shown: str) -> None:
    """Chat services put their token into the path."""
    for path in (b"/v1/webhooks", b"/v1/webhooks/whe_1", b"/v1/%77ebhooks", b"/v1%2Fwebhook%73/w"):
        kept = CLEAN.body(json.dumps({"url": url}).encode(), path)
        assert kept is not None
        assert json.loads(kept) == {"url": shown}


@pytest.mark.parametrize(
    ("path", "query", "shown"),
    [
        (b"/v1/me", b"a=1&sig=abc&b=2", "/v1/me?a=1&sig=…&b=2"),
        (b"/v1/me", b"a=1;token=x;y;b=2", "/v1/me?a=1;token=…;b=2"),
        (b"/v1/me", b"X-Amz-Date=1&api_key=a&Token=b", "/v1/me?X-Amz-Date=…&api_key=…&Token=…"),
        (b"/v1/work", b"limit=2&design=a", "/v1/work?limit=2&design=a"),
        (b"/v1/work/svc_key_abc", b"", "/v1/work/svc_key_…"),
        (b"/v1/me", b"to%6ben=abc&b=2&api%5Fke%79=c", "/v1/me?to%6ben=…&b=2&api%5Fke%79=…"),
        (
            b"/v1/me",
            b"a%5Btoken%5D=1&x%2damz%2ddate=2&s%69g=3",
            "/v1/me?a%5Btoken%5D=…&x%2damz%2ddate=…&s%69g=…",
        ),
        (b"/v1/me", b"filter[token]=1&my+password=2", "/v1/me?filter[token]=…&my+password=…"),
        (b"/v1/me", b"design%3D=a&%zz=%6b&=b&&c", "/v1/me?design%3D=a&%zz=%6b&=b&&c"),
        (b"/login", b"next=/cb?a=1?token=x", "/login?next=/cb?a=1?token=…"),
        (b"/login", b"next=%2Fcb%3Ftoken%3Da%2526b&c=1", "/login?next=/cb?token=…&c=1"),
        (b"/login", b"next=%2Fcb%23sid%3Dx", "/login?next=/cb#sid=…"),
        (b"/login", b"n=%252Fcb%253Fsi%2564%253Dx", "/login?n=/cb?sid=…"),
        (b"/login", b"n=https%253A%252F%252Fann%253Apw%2540h", "/login?n=https://…@h"),
        (b"/login%3Ftoken%3Dx", b"", "/login?token=…"),
        (b"/login", b"next=%2Fcb%3Fpage%3D2", "/login?next=%2Fcb%3Fpage%3D2"),
        (b"/login", b"n=%25252525252525252fcb", "…"),
        (b"/v1/me", b"a=sv\x00c_key_abc", "/v1/me?a=svc_key_…"),
        (b"/v1/\xff", b"", "/v1/\xff"),
    ],
)
def test_addresses(path: bytes, query: bytes, shown: str) -> None:
    assert CLEAN.path(path, query) == shown
    assert len(CLEAN.path(path, b"a" * 10_000)) <= 500


def test_addresses_are_found_where_the_pattern_finds_them() -> None:
    """They are looked for from "://" backwards; the pattern itself tries every character."""
    parts = ["https", "s", "://", ":", "/", "//", "a", "Z", "+", ".", " ", '"', "\\", '\\"', "?"]
    parts += ["#", "@", "é", "\u212a", "x" * 29, "x" * 31, "key=", "\n"]
    pick = random.Random(1)
    for _ in range(2_000):
        text = "".join(pick.choices(parts, k=pick.randint(0, 14)))
        for clean in (redaction._only_host, redaction._without_query):
            assert redaction._replace_urls(text, clean) == redaction._URL.sub(clean, text), text


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://hooks.example.com/services/T1/secret", "https://hooks.example.com/…"),
        ("https://hooks.example.com/a@secret/b", "https://hooks.example.com/…"),
        ("https://hooks.example.com?key=secret@x", "https://hooks.example.com/…"),
        ("https://me:secret@hooks.example.com:8443/x", "https://hooks.example.com:8443/…"),
        ("https://me:se/secret@hooks.example.com", "https://…/…"),
        ("https://[2001:db8::1]:8443/secret", "https://[2001:db8::1]:8443/…"),
        ("https://hooks.example.com", "https://hooks.example.com"),
        ("secret", "…"),
    ],
)
def test_of_a_receivers_address_the_host_is_shown(address: str, shown: str) -> None:
    assert redaction.shown_url(address) == shown
