"""Which environment variables worker processes get."""

import pytest

from agentpost.processes.environment import worker_environment


@pytest.mark.parametrize(
    ("name", "listed", "passes"),
    [
        ("PATH", [], True),
        ("LC_TIME", [], True),
        ("PYTHONPATH", [], True),
        ("AWS_SECRET_ACCESS_KEY", [], False),
        ("PGPASSWORD", [], False),
        ("HTTPS_PROXY", [], False),
        ("OPENAI_API_KEY", [], False),
        ("OPENAI_API_KEY", ["OPENAI_API_KEY"], True),
        ("OPENAI_API_KEY", ["OPENAI_*"], True),
        ("OPENAI_API_KEY", ["OPENAI_"], False),
        ("AWS_REGION", ["AWS_REGION"], True),
        ("AWS_SECRET_ACCESS_KEY", ["AWS_REGION"], False),
        ("lc_time", [], False),
        ("AGENTPOST_SECRET_KEY", [], False),
        ("AGENTPOST_SECRET_KEY", ["*"], False),
        ("AGENTPOST_SECRET_KEY", ["AGENTPOST_*"], False),
        ("AGENTPOST_AGENT", ["AGENTPOST_AGENT"], True),
    ],
)
def test_listed_variables_pass_and_no_others(name: str, listed: list[str], passes: bool) -> None:
    assert (name in worker_environment({name: "x"}, listed, threads=1)) is passes


def test_libraries_that_compute_share_the_processors_unless_told_otherwise() -> None:
    made = worker_environment({"OMP_NUM_THREADS": "7"}, threads=2)
    assert (made["OMP_NUM_THREADS"], made["OPENBLAS_NUM_THREADS"]) == ("7", "2")
    assert made["RAYON_NUM_THREADS"] == "2"
