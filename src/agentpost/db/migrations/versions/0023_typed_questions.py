"""Questions that say what an answer has to be, and outputs that fit a schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in (
        "response_schema_json",
        "answer_json",
        "answer_format_json",
        "output_json",
        "answered_by",
    ):
        op.add_column("messages", sa.Column(name, sa.Text(), nullable=True))
    for name in ("answer_format_json", "output_json"):
        op.add_column("jobs", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("conversations", sa.Column("asking_message_id", sa.Text(), nullable=True))
