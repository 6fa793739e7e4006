"""What an operator sees of the whole server (design: The operator)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.accounts.actions import is_live
from agentpost.blobs import account_rows as account_storage
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.filtered import cut_page
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.jobs import rows as job_rows
from agentpost.limits.allowances import NAMES, Allowances, allowances_of
from agentpost.nodes import actions as nodes, ownership
from agentpost.nodes.actions import NodeLine
from agentpost.operations import metric_rows
from agentpost.operations.maintenance import SWITCH
from agentpost.operations.metric_rows import Counted
from agentpost.record.records import AccountRecord
from agentpost.transactions import read_transaction

_ACCOUNTS: Final = 50
_ALL: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AccountLine:
    """An account in a list: its jobs that hold a slot, of so many."""

    account: AccountRecord
    running: int
    running_max: int

    @property
    def credits(self) -> float:
        """What it has available."""
        return to_credits(self.account.wallet.available)


@dataclass(frozen=True, slots=True)
class Server:
    """The server as a whole.

    Attributes:
        jobs: how many hold a slot.
        unowned: how many turns and jobs should run and have no node.
        problems: why files are not stored by this node, and the like.
        stuck: (id, problem) of turns and jobs that do not go on (`nodes.ownership`).
        open: all that waits or runs.
    """

    maintenance: bool
    nodes: Sequence[NodeLine]
    jobs: int
    turns: int
    unowned: int
    problems: Sequence[str]
    stuck: Sequence[tuple[str, str]]
    open: Mapping[str, Counted]
    accounts: Sequence[AccountLine]
    more: str | None


@dataclass(frozen=True, slots=True)
class AccountView:
    """One account for an operator. ``overrides``: the limits that are set for it alone."""

    account: AccountRecord
    running: int
    queued: int
    live_keys: int
    stored_bytes: int
    allowances: Allowances
    overrides: Mapping[str, int]


@read_transaction
def server(tx: Tx, ctx: AppContext, text: str = "", before: str | None = None) -> Server:
    """The server, with the newest accounts that fit ``text`` and are older than ``before``."""
    jobs, turns = metric_rows.jobs_by_node(tx), metric_rows.turns_by_node(tx)
    by_account = metric_rows.jobs_by_account(tx)
    bound = before or ids.last(ids.ACCOUNT)
    records = account_rows.search(tx, text, before=bound, limit=_ACCOUNTS + 1)
    page_accounts, more = cut_page(records, _ACCOUNTS)
    return Server(
        maintenance=meta.get(tx, SWITCH) == "on",
        nodes=nodes.lines(tx, ctx),
        jobs=sum(jobs.values()),
        turns=sum(turns.values()),
        unowned=jobs.get("", 0) + turns.get("", 0),
        problems=list(ctx.health.problems().values()),
        stuck=ownership.reported_rows(tx),
        open=metric_rows.read(tx, _ALL),
        accounts=[
            AccountLine(
                each,
                by_account.get(each.id, 0),
                allowances_of(ctx.settings, each.limits_json).running_jobs,
            )
            for each in page_accounts
        ],
        more=more,
    )


@read_transaction
def account(tx: Tx, ctx: AppContext, account_id: str) -> AccountView:
    """One account; raises ``not_found``."""
    account_record = account_rows.find_existing(tx, account_id)
    limits = json.loads(account_record.limits_json)
    keys = account_rows.keys(tx, account_record.id)
    return AccountView(
        account=account_record,
        running=job_rows.count_executing(tx, account_record.id),
        queued=len(job_rows.list_queued(tx, account_record.id)),
        live_keys=sum(is_live(key, ctx.clock.now()) for key in keys),
        stored_bytes=account_storage.used(tx, account_record.id),
        allowances=allowances_of(ctx.settings, account_record.limits_json),
        overrides={name: limits[name] for name in NAMES if name in limits},
    )
