"""The scopes of a key, as they are given, kept and checked."""

import pytest

from agentpost.accounts import scope_rules
from agentpost.accounts.scope_rules import DEFAULT_SCOPES, Scope
from agentpost.domain.errors import ErrorCode, Refusal


@pytest.mark.parametrize(
    "given", ["send", "read,send", "admin, read", "send,read,admin", "read,read_all"]
)
def test_what_is_kept_is_what_was_given(given: str) -> None:
    chosen = scope_rules.parse(given.split(","))
    assert scope_rules.of_stored(scope_rules.to_stored(chosen)) == chosen
    assert set(scope_rules.in_order(chosen)) == {name.strip() for name in given.split(",")}


def test_a_key_of_which_nobody_chose_may_do_everything() -> None:
    assert scope_rules.of_stored(None) == DEFAULT_SCOPES
    assert scope_rules.to_stored(DEFAULT_SCOPES) is None


def test_unknown_words_grant_nothing() -> None:
    assert scope_rules.of_stored("read,fly") == {Scope.READ}
    assert scope_rules.of_stored("") == frozenset()


@pytest.mark.parametrize("given", [[], [""], ["send", "fly"], ["SEND"]])
def test_scopes_have_to_be_known_ones(given: list[str]) -> None:
    with pytest.raises(ValueError, match="send, read, admin, read_all"):
        scope_rules.parse(given)


def test_a_missing_scope_is_named() -> None:
    scope_rules.check(frozenset({Scope.READ}), Scope.READ)
    scope_rules.check(frozenset(), None)
    with pytest.raises(Refusal, match=r"lacks the scope 'send' \(it has: read\)") as refused:
        scope_rules.check(frozenset({Scope.READ}), Scope.SEND)
    assert refused.value.code is ErrorCode.FORBIDDEN
