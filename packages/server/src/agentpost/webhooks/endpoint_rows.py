"""Webhook endpoints of an account. The actions decide; nothing here checks a rule."""

from agentpost.db.mapper import Mapper
from agentpost.db.statements import All, Change, First, Firsts, Save, Whether
from agentpost.webhooks.records import EndpointRecord

ENDPOINTS = Mapper(EndpointRecord, "endpoints")


# Whether the account has that endpoint, enabled or not.
exists = Whether[str, str]("SELECT 1 FROM endpoints WHERE id = ? AND account_id = ?")
# The account's endpoints, newest first.
list_ = All[EndpointRecord, str](ENDPOINTS, "WHERE account_id = ? ORDER BY id DESC")
# By id.
get = First[EndpointRecord, str](ENDPOINTS, "WHERE id = ?")
# `get`, held until the commit: before the deliveries of the endpoint are touched.
lock = First[EndpointRecord, str](ENDPOINTS, "WHERE id = ? /*for update*/")
# Write what may change; the caller holds the lock.
update = Save(
    ENDPOINTS,
    *("url", "events_json", "description", "secret", "old_secret", "old_secret_until"),
    *("disabled_at", "disabled_reason", "failing_since"),
)


# Endpoints of all accounts in the order of their ids, from the first after that id.
after = All[EndpointRecord, str, int](ENDPOINTS, "WHERE id > ? ORDER BY id LIMIT ?")
# What encrypted secrets begin with: format and key id, as in ``enc1:0a1b2c3d``.
secret_prefixes = Firsts[()](
    "SELECT DISTINCT substr(secret, 1, 13) FROM endpoints WHERE substr(secret, 1, 5) = 'enc1:'"
)
# It is gone; its deliveries are the caller's to end.
delete = Change[str]("DELETE FROM endpoints WHERE id = ?")
# Enabled endpoints in an unbroken row of failures that began by then, with a retry waiting: without
# one an endpoint stays on, and those would hide the others from every sweep.
failing_since_before = Firsts[int, int](
    "SELECT e.id FROM endpoints e WHERE e.disabled_at IS NULL AND e.failing_since <= ?"
    " AND EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id"
    " AND d.status = 'pending' AND d.attempts > 0) ORDER BY e.failing_since LIMIT ?"
)
