"""The account as a key sees it (spec: Account)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class AgentShape(BaseModel):
    """The agent that answers."""

    name: str


class KeyShape(BaseModel):
    """The key that called."""

    id: str
    name: str


class LimitsShape(BaseModel):
    """How much this account may do at once."""

    running_jobs: int
    requests_per_minute: int


class AccountShape(BaseModel):
    """The account of the key, and what is left of its credits."""

    object: Literal["account"]
    user_id: str
    email: str
    name: str
    plan: Literal["self_hosted"]
    credits: float = Field(description="Available credits.")
    agent: AgentShape
    key: KeyShape
    limits: LimitsShape
