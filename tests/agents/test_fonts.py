"""Which characters the fonts at hand can show, asked without importing what draws if need be."""

import subprocess
import sys

import pytest

ASKED = """
import sys
from agentpost.agents.offline import fonts
print(fonts.chart_families(sys.argv[1])[0], fonts.missing_in_charts(sys.argv[1]))
print("matplotlib" in sys.modules)
"""


@pytest.mark.parametrize(("text", "looked"), [("Umsatz – Ελλάδα", "False"), ("☃", "True")])
def test_only_unusual_characters_are_looked_for_in_the_fonts(text: str, looked: str) -> None:
    done = subprocess.run([sys.executable, "-c", ASKED, text], stdout=-1, text=True, check=True)
    assert done.stdout.splitlines() == ["DejaVu Sans []", looked]
