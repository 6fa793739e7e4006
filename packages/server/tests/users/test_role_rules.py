"""Who may do what, as a table, and who may manage whom."""

import pytest

from agentpost.sessions.passwords import check_password
from agentpost.users.role_rules import Role, may_manage, roles_below


def test_nobody_reaches_above_themselves() -> None:
    can = {(role, other) for role in Role for other in Role if may_manage(role, other)}
    assert can == {
        *((Role.OPERATOR, other) for other in Role),
        (Role.OWNER, Role.OWNER),
        (Role.OWNER, Role.MEMBER),
    }
    assert roles_below(Role.OWNER) == (Role.OWNER, Role.MEMBER)
    assert roles_below(Role.MEMBER) == ()


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("", "at least 10"),
        ("x" * 9, "at least 10"),
        ("x" * 10, None),
        (" " * 10, None),
        ("пароль длинный 🔑", None),
        ("x" * 1_024, None),
        ("x" * 1_025, "at most 1,024"),
        ("é" * 513, "at most 1,024"),
    ],
)
def test_a_password_is_long_enough_and_nothing_else(password: str, problem: str | None) -> None:
    if problem is None:
        assert check_password(password) == password
    else:
        with pytest.raises(ValueError, match=problem):
            check_password(password)
