"""The policy names where files come from and where uploads go, and nothing else."""

import pytest

from agentpost.settings import load_settings
from agentpost.web import policy

AWS = {
    f"https://{name}"
    for name in (
        "s3.amazonaws.com",
        "b.s3.amazonaws.com",
        "s3.eu-west-1.amazonaws.com",
        "b.s3.eu-west-1.amazonaws.com",
    )
}


def directives(**settings: str) -> dict[str, set[str]]:
    given = policy.headers(load_settings(data_dir="/nowhere", **settings))
    parts = (part.split() for part in given["Content-Security-Policy"].split("; "))
    return {name: set(sources) for name, *sources in parts}


@pytest.mark.parametrize(
    ("settings", "targets"),
    [
        ({}, {"http://127.0.0.1:8080"}),
        ({"base_url": "https://a.example/x"}, {"https://a.example"}),
        ({"upload_url": "https://up.example"}, {"https://up.example"}),
        (
            {"storage_url": "s3://b/p?endpoint=http://minio:9000"},
            {"http://minio:9000", "http://b.minio:9000"},
        ),
        ({"storage_url": "s3://b?region=eu-west-1"}, AWS),
        ({"storage_url": "s3://b", "upload_url": "https://up.example"}, {"https://up.example"}),
    ],
)
def test_uploads_go_where_the_form_says(settings: dict[str, str], targets: set[str]) -> None:
    assert directives(**settings)["connect-src"] == {"'self'", *targets}


def test_files_may_come_from_their_own_host() -> None:
    found = directives(file_url="https://files.example/d")
    for name in ("img-src", "media-src", "frame-src"):
        assert "https://files.example" in found[name]
    assert found["script-src"] == found["style-src"] == {"'self'"}
    assert found["default-src"] == found["base-uri"] == found["frame-ancestors"] == {"'none'"}
