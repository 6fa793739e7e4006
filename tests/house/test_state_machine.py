"""`docs/state-machine.md` is what its script makes of today's tables."""

import runpy

from tests.house.tree import DOCS, document


def test_the_page_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "state_machine.py"))["page"]()
    assert document(DOCS / "state-machine.md") == made, "python docs/state_machine.py > the page"
