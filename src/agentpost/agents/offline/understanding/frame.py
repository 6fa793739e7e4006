"""Where the frames were; import `agentpost.agents.offline.frame` instead."""

from agentpost.agents.offline.frame import (
    Act,
    Aggregate,
    Derived,
    Filter,
    Frame,
    Grain,
    Measure,
    Op,
    Order,
    Query,
    Style,
    Thing,
    from_json,
    to_json,
)

__all__ = [
    "Act",
    "Aggregate",
    "Derived",
    "Filter",
    "Frame",
    "Grain",
    "Measure",
    "Op",
    "Order",
    "Query",
    "Style",
    "Thing",
    "from_json",
    "to_json",
]
