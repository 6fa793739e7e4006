"""How many bytes of files each account has stored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

COUNT = """
INSERT INTO account_storage (account_id, bytes)
SELECT stored.account_id, CAST(SUM(stored.size) AS BIGINT) FROM (
    SELECT account_id, size FROM files
    UNION ALL SELECT account_id, size FROM uploads WHERE status = 'ready'
    UNION ALL SELECT m.account_id, a.size FROM attachments a
        JOIN messages m ON m.id = a.message_id WHERE a.blob IS NOT NULL
) stored GROUP BY stored.account_id
"""


def upgrade() -> None:
    op.create_table(
        "account_storage",
        sa.Column("account_id", sa.Text(), primary_key=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
    )
    op.execute(COUNT)
