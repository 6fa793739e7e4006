"""The account as a key sees it (spec: Account)."""

from typing import Annotated, Literal

from msgspec import Meta

from agentpost.accounts.scope_rules import Scope
from agentpost.contract.shape import Shape, about


class AgentShape(Shape):
    """The agent that answers."""

    name: str


class KeyShape(Shape):
    """The key that called."""

    id: str
    name: str
    scopes: Annotated[list[Scope], about("What the key may do.")]
    max_credits_per_day: Annotated[
        float | None, about("What its work may use in a UTC day; null: no limit but the credits.")
    ]


class LimitsShape(Shape):
    """How much this account can do at once."""

    running_jobs: int
    requests_per_minute: int


class AccountShape(Shape):
    """The account of the key, and what is left of its credits."""

    object: Literal["account"] = "account"
    user_id: str
    email: str
    name: str
    plan: Annotated[str, Meta(extra_json_schema={"const": "self_hosted"})]
    credits: Annotated[float, about("Available credits.")]
    agent: AgentShape
    key: KeyShape
    limits: LimitsShape
