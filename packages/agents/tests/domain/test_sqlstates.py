"""Which of PostgreSQL's errors end a session."""

from psycopg import errors

from agentpost.domain.sqlstates import ends_session

ENDS = {
    "25006": True,  # read_only_sql_transaction
    "57P01": True,  # admin_shutdown
    "57P03": True,  # cannot_connect_now
    "57P05": True,  # idle_session_timeout
    "08006": True,  # connection_failure
    "08P01": True,  # protocol_violation
    "25P02": False,  # in_failed_sql_transaction
    "57014": False,  # query_canceled
    "40P01": False,  # deadlock_detected
    "23505": False,  # unique_violation
}


def test_states() -> None:
    assert {state: ends_session(errors.lookup(state)()) for state in ENDS} == ENDS


def test_other_errors_end_none() -> None:
    assert not ends_session(ValueError())
