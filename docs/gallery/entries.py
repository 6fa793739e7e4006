"""What the gallery shows: each entry is a thing, its inputs, and what was asked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentpost.agents.offline.frame import Aggregate, Grain, Measure, Query, Style, Thing

REVENUE = Measure("revenue", Aggregate.SUM)
ORDERS = "orders.csv#0"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing: ``inputs`` are files of ``docs/gallery/inputs``, ``pages`` of a document are
    shown."""

    name: str
    thing: Thing
    inputs: tuple[str, ...]
    queries: tuple[Query, ...] = ()
    style: Style = field(default_factory=Style)
    language: str = "en"
    form: str = "png"
    pages: int = 1


def _orders(*groups: str, grain: Grain | None = None) -> tuple[Query, ...]:
    return (Query(ORDERS, (REVENUE,), groups, "date" if grain else None, grain),)


def _chart(
    name: str, queries: tuple[Query, ...], kind: str | None = None, colour: str | None = None
) -> Entry:
    style = Style(chart=kind, colour=colour)
    return Entry(f"chart-{name}", Thing.CHART, ("orders.csv",), queries, style)


def _column(file: str, column: str, *groups: str, mean: bool = False) -> tuple[Query, ...]:
    how = Aggregate.MEAN if mean else Aggregate.SUM
    return (Query(f"{file}#0", (Measure(column, how),), groups),)


_TEMPERATURES = (
    Query("weather.csv#0", (Measure("temperature (°C)", Aggregate.MEAN),), ("city",), "date",
          Grain.MONTH),
)  # fmt: skip

ENTRIES = (
    _chart("columns", _orders(grain=Grain.MONTH)),
    _chart("bars", _orders("product")),
    _chart("lines", _orders("region", grain=Grain.QUARTER)),
    _chart("grouped", _orders("region", "channel")),
    _chart("stacked", _orders("region", grain=Grain.QUARTER), "stacked"),
    _chart("area", _orders("region", grain=Grain.QUARTER), "area"),
    _chart("donut", _orders("product"), "donut", "#2e7d32"),
    _chart("heatmap", _orders("region", grain=Grain.MONTH), "heatmap"),
    _chart("multiples", _orders("product", grain=Grain.QUARTER), "multiples"),
    Entry("chart-long-names", Thing.CHART, ("reasons.csv",),
          _column("reasons.csv", "share (%)", "reason", mean=True)),
    Entry("chart-negative", Thing.CHART, ("weather.csv",), _TEMPERATURES),
    Entry("chart-scripts", Thing.CHART, ("shops.csv",), _column("shops.csv", "sales (€)", "shop")),
    Entry("chart-scripts-arabic", Thing.CHART, ("shops.csv",),
          _column("shops.csv", "sales (€)", "shop"), language="ar"),
    Entry("chart-scatter", Thing.CHART, ("people.csv",),
          (Query("people.csv#0", (Measure("weight (kg)", Aggregate.MEAN),
                                  Measure("height (cm)", Aggregate.MEAN))),),
          Style(chart="scatter")),
    Entry("chart-histogram", Thing.CHART, ("people.csv",),
          _column("people.csv", "height (cm)", mean=True), Style(chart="histogram")),
    Entry("report", Thing.REPORT, ("orders.csv",), form="pdf", pages=2),
    Entry("report-sources", Thing.REPORT, ("sales_2024.csv", "sales_2025.csv"), form="pdf",
          pages=2),
    Entry("report-documents", Thing.REPORT, ("plan.md", "minutes.txt"), form="pdf"),
    Entry("report-arabic", Thing.REPORT, ("orders.csv",), language="ar", form="pdf"),
)  # fmt: skip
