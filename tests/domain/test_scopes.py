"""The scopes of a key, as they are given, kept and checked."""

import pytest

from agentpost.domain import scopes
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.scopes import DEFAULT_SCOPES, Scope


@pytest.mark.parametrize(
    "given", ["send", "read,send", "admin, read", "send,read,admin", "read,read_all"]
)
def test_what_is_kept_is_what_was_given(given: str) -> None:
    chosen = scopes.parse(given.split(","))
    assert scopes.of_stored(scopes.stored(chosen)) == chosen
    assert set(scopes.in_order(chosen)) == {name.strip() for name in given.split(",")}


def test_a_key_of_which_nobody_chose_may_do_everything() -> None:
    assert scopes.of_stored(None) == DEFAULT_SCOPES
    assert scopes.stored(DEFAULT_SCOPES) is None


def test_unknown_words_grant_nothing() -> None:
    assert scopes.of_stored("read,fly") == {Scope.READ}
    assert scopes.of_stored("") == frozenset()


@pytest.mark.parametrize("given", [[], [""], ["send", "fly"], ["SEND"]])
def test_scopes_have_to_be_known_ones(given: list[str]) -> None:
    with pytest.raises(ValueError, match="send, read, admin, read_all"):
        scopes.parse(given)


def test_a_missing_scope_is_named() -> None:
    scopes.check(frozenset({Scope.READ}), Scope.READ)
    scopes.check(frozenset(), None)
    with pytest.raises(Refusal, match=r"lacks the scope 'send' \(it has: read\)") as refused:
        scopes.check(frozenset({Scope.READ}), Scope.SEND)
    assert refused.value.code is ErrorCode.FORBIDDEN
