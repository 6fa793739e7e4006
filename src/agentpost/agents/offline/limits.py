"""How much the offline agent reads and writes; every limit is told to the user when it is hit."""

from __future__ import annotations

TABLE_BYTES = 64 * 2**20
TABLE_ROWS = 200_000
TABLE_CELLS = 2_000_000
TABLE_COLUMNS = 200
CELL_CHARACTERS = 2_000
ROW_CHARACTERS = 1_000_000

WISH_CHARACTERS = 500

CHART_POINTS = 2_000
CHART_SERIES = 8
CHART_BARS = 20
PIE_SLICES = 7

REPORT_CHARACTERS = 400_000
REPORT_LINES = 8_000
REPORT_CELLS = 10_000
# Typesetting a paragraph that runs from right to left, and parsing the marks of any, takes time
# that grows with the square of its length. Rows of a table are parsed one by one.
PARAGRAPH_CHARACTERS = 5_000
TABLE_TEXT_CHARACTERS = 50_000

ANSWER_CHARACTERS = 1_000_000
ANSWER_GROUPS = 15
SUMMARY_SENTENCES_READ = 600

STEP_SECONDS = 120.0
FOLLOW_UP_ROUNDS = 5

CHART_CREDITS = 1.0
REPORT_CREDITS = 2.0
