"""The caller of a use case: an API key and its account (spec: Authentication)."""

from dataclasses import dataclass

from agentpost.accounts.scope_rules import DEFAULT_SCOPES, Scope
from agentpost.limits.allowances import Rules


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a key and its account."""

    key_id: str
    key_name: str
    account_id: str
    rules: Rules
    scopes: frozenset[Scope] = DEFAULT_SCOPES
    max_credits_per_day: int | None = None  # in millionths
    secret_digest: str = ""  # of the secret that was sent; "": no secret was

    @property
    def holds(self) -> str:
        """Whose end ends the calls it holds: the secret's, which may come before the key's."""
        return self.secret_digest or self.key_id

    @property
    def reads_all(self) -> bool:
        """Whether lists show the caller what other keys of the account sent, too."""
        return Scope.READ_ALL in self.scopes
