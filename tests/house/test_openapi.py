"""`docs/openapi.json` is what its script makes of today's operations.

So every change of the contract is a change of a committed file, seen in review. That a change only
adds is not checked before the first release: there is no released contract to break yet.
"""

import json
import runpy

from tests.house.tree import DOCS, document


def test_the_file_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "openapi.py"))["text"]()
    assert document(DOCS / "openapi.json") == made, "python docs/openapi.py > docs/openapi.json"


def test_the_file_names_no_server() -> None:
    """It describes every installation alike."""
    assert json.loads(document(DOCS / "openapi.json"))["servers"] == [{"url": "/"}]
