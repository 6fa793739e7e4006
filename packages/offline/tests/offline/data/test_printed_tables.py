"""Tables in PDF files are tables like any other, over pages and with empty cells."""

from collections.abc import Sequence
from pathlib import Path

from agentpost.agents import File
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.frame import Aggregate, Measure, Query
from tests.offline.data.given import file

ROWS = [
    (f"Site {number % 3}", "" if number % 7 == 3 else f"Room {number}", f"{number * 11:,}")
    for number in range(1, 71)
]


def printed(folder: Path, rows: Sequence[tuple[str, ...]], *, align: str = "") -> File:
    """A page of text, then a table."""
    import typst

    cells = ", ".join(f"[{cell}]" for row in rows for cell in row)
    source = folder / "made.typ"
    source.write_text(
        f'#set page(height: 12cm)\n= Readings\n#lorem(40)\n#table(columns: {len(rows[0])}, {align}'
        f" {cells})\nAll figures are net. The contract ends in May."
    )  # fmt: skip
    return file(folder, "readings.pdf", typst.compile(str(source)))


def test_a_table_over_several_pages_is_one_table(tmp_path: Path) -> None:
    rows = [("Site", "Room", "Power (kWh)"), *ROWS]
    for align in ("", "align: (left, center, right),"):
        with open_tables([printed(tmp_path, rows, align=align)]) as data:
            assert [table.rows for table in data.tables] == [70]
            table = data.tables[0]
            assert [column.name for column in table.columns] == ["Site", "Room", "Power (kWh)"]
            power = Measure("Power (kWh)", Aggregate.SUM)
            found = data.run(Query(table.id, (power,), ("Site",)))
        truth = {f"Site {k}": sum(n * 11 for n in range(1, 71) if n % 3 == k) for k in range(3)}
        assert sorted(found.rows) == list(truth.items())


def test_prose_is_no_table(tmp_path: Path) -> None:
    import typst

    source = tmp_path / "made.typ"
    source.write_text(
        "#set par(justify: true)\n#set page(columns: 2)\n= One\n#lorem(900)\n- a list\n- of two\n"
    )
    with open_tables([file(tmp_path, "prose.pdf", typst.compile(str(source)))]) as data:
        assert (data.tables, data.skipped) == ((), ())
