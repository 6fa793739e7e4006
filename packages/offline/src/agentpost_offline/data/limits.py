"""How much of a stranger's file is read as tables. Beyond a limit that would falsify a figure the
file is refused; what else is left out is said in the table's notes."""

from typing import Final

FILE_BYTES: Final = 128 * 2**20
"""Largest delimited text file, in bytes. Figures cover the whole file, so more is refused."""

COLUMNS: Final = 500
"""Columns of a table; further ones are left out."""

CELL_CHARACTERS: Final = 2_000
"""Longest text of a cell; the rest is cut off."""

ROW_CHARACTERS: Final = 1_000_000
"""Longest row of a delimited text file."""

CELLS: Final = 12_000_000
"""Most cells of a table."""

TABLES: Final = 50
"""Most tables of one message; further ones are left out."""

MEMBERS: Final = 200
"""Most members of a zip archive that are looked at."""

MEMBER_BYTES: Final = 64 * 2**20
"""What one member of a zip archive may unpack to, in bytes."""

UNPACKED_BYTES: Final = 256 * 2**20
"""What all members of a zip archive that are read may unpack to together, in bytes."""

JSON_BYTES: Final = 24 * 2**20
"""Largest JSON file: it is held in memory as a tree, which takes ten times its size."""

LEGACY_BYTES: Final = 16 * 2**20
"""Largest .xls file; its sheets are held in memory whole."""

VALUES_KEPT: Final = 300
"""Values of a category that a description lists."""

ROWS_RETURNED: Final = 20_000
"""Most rows of a result."""

MEMORY: Final = "384MB"
"""What the database may hold in memory; beyond it writes to its temporary folder."""

DISK: Final = "2GB"
"""What the database may write to its temporary folder."""

CELLS_KEPT: Final = 200_000
"""Most cells of tables that a worker process keeps open for its next call."""

DATASETS_KEPT: Final = 2
"""For how many messages a worker process keeps tables open."""
