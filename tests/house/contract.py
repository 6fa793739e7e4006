"""docs/contract.md as the house tests read it."""

import re
import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tests.house.tree import DOCS, document


@cache
def tool() -> ModuleType:
    """docs/contract.py, which reads and writes the page."""
    found = spec_from_file_location("docs_contract", DOCS / "contract.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    sys.modules[found.name] = module  # dataclasses look themselves up there
    found.loader.exec_module(module)
    return module


@cache
def sections() -> tuple[str, ...]:
    """The headings over tables of rules, the longest first, since some begin alike."""
    headings = re.findall(r"^## (.+)$", document(DOCS / "contract.md"), re.M)
    return tuple(sorted(headings, key=len, reverse=True))
