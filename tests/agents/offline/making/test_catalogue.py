"""The makers, against what understanding assumes of them."""

from agentpost.agents.offline.making import catalogue
from agentpost.agents.offline.understanding.followups import DEFAULT_FORMATS


def test_understanding_assumes_the_formats_that_makers_write() -> None:
    """It may not import the makers, which import it."""
    assert {maker.thing: maker.usual for maker in catalogue.makers()} == DEFAULT_FORMATS
