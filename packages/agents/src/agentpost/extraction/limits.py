"""How much of a stranger's file the readers take in. Beyond a limit a file is unreadable."""

from typing import Final

MAX_CHARACTERS: Final = 1_000_000
"""Longest text of a file that is returned, in characters; the rest is cut off."""

MAX_BYTES: Final = 64 * 2**20
"""Largest file that is opened, in bytes."""

MAX_HTML_BYTES: Final = 2 * 2**20
"""Largest HTML file, in bytes: pages of text are far smaller, and parsing costs most per byte."""

# Office documents: zip archives of XML.

MAX_UNPACKED_BYTES: Final = 256 * 2**20
"""What all members of an archive may unpack to together, in bytes."""

MAX_MEMBERS: Final = 10_000
"""Most members of an archive."""

MAX_DIRECTORY_BYTES: Final = 4 * 2**20
"""Largest table of contents of an archive, in bytes; it is held in memory whole."""

MAX_PART_BYTES: Final = 128 * 2**20
"""What one XML part may unpack to, in bytes. Parts are streamed, so this bounds time, not memory;
a worksheet of a million cells has about 50 MB."""

MAX_DOCUMENT_ELEMENTS: Final = 2_000_000
"""Most XML elements of the text of a document or of all slides: some three seconds of parsing. A
book of a thousand pages has about half of it."""

MAX_STYLE_ELEMENTS: Final = 500_000
"""Most XML elements of a workbook's list of sheets and its styles together."""

MAX_WORKBOOK_ELEMENTS: Final = 5_000_000
"""Most XML elements of a workbook, all its parts together: about seven seconds of parsing, and two
million cells."""

MAX_DEPTH: Final = 256
"""Deepest nesting of XML elements."""

MAX_TOKEN_BYTES: Final = 2**20
"""Longest single tag with its attributes, in bytes."""

MAX_SHARED_STRINGS: Final = 2_000_000
"""Most distinct texts of a workbook."""

MAX_SHARED_CHARACTERS: Final = 64 * 2**20
"""Most characters of all distinct texts of a workbook."""

MAX_STYLES: Final = 100_000
"""Most cell formats of a workbook; Excel itself takes 65,490."""

MAX_MERGED_RANGES: Final = 10_000
"""Most ranges of merged cells of a worksheet that are looked at."""

MAX_SHEETS: Final = 1_000
"""Most worksheets that are looked at."""

MAX_SHEET_ROWS: Final = 20_000
"""Most rows of a worksheet that are read as text; the rest is left out."""

MAX_SHEET_COLUMNS: Final = 1_000
"""Most columns of a worksheet that are read as text; the rest is left out."""

MAX_PAGES: Final = 1_000
"""Most pages or slides that are read; the rest is left out."""

# PDFs are read by a C library in a process of its own, which these limits apply to.

PDF_MEMORY_BYTES: Final = 512 * 2**20
"""Memory the process may take beyond what it starts with, in bytes (Linux)."""

PDF_CPU_SECONDS: Final = 15
"""Processor time the process may use."""

PDF_SECONDS: Final = 20.0
"""How long the process is waited for."""
