"""What is made of the settings."""

import pytest

from agentpost.settings import load_settings

WRITES = "target_session_attrs=read-write"


@pytest.mark.parametrize(
    ("url", "connects_to"),
    [
        ("", ""),
        ("postgresql://host/name", f"postgresql://host/name?{WRITES}"),
        ("postgresql://a,b/name?port=1", f"postgresql://a,b/name?port=1&{WRITES}"),
        ("postgresql://me:p?w@host/name", f"postgresql://me:p?w@host/name?{WRITES}"),
        ("postgresql:///name?host=/a@b", f"postgresql:///name?host=/a@b&{WRITES}"),
        (
            "postgresql://host/name?target_session_attrs=any",
            "postgresql://host/name?target_session_attrs=any",
        ),
    ],
)
def test_postgresql_is_asked_for_a_server_that_takes_writes(url: str, connects_to: str) -> None:
    assert load_settings(database_url=url).postgres_url == connects_to
