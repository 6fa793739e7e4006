"""Charts as PowerPoint's own: the reader can edit their figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentpost_offline.making.deck.slides import Chart
from agentpost_offline.style import palette

if TYPE_CHECKING:
    from pptx.dml.color import RGBColor

_LABELLED = 14


def rgb(colour: str) -> RGBColor:
    """A colour as python-pptx wants it."""
    from pptx.dml.color import RGBColor

    made: RGBColor = RGBColor(*palette.rgb(colour))  # type: ignore[no-untyped-call]
    return made


def kind(chart: Chart) -> Any:
    """Which of PowerPoint's chart types."""
    from pptx.enum.chart import XL_CHART_TYPE

    return {
        "column": XL_CHART_TYPE.COLUMN_CLUSTERED,
        "bar": XL_CHART_TYPE.BAR_CLUSTERED,
        "line": XL_CHART_TYPE.LINE,
    }[chart.kind]


def data(chart: Chart) -> Any:
    """The figures behind the chart, which become its workbook."""
    from pptx.chart.data import CategoryChartData

    make: Any = CategoryChartData
    found = make(number_format=chart.number_format)
    if chart.years:
        for year, months in chart.years:
            outer = found.add_category(year)
            for month in months:
                outer.add_sub_category(month)
    else:
        found.categories = chart.labels
    for series in chart.series:
        found.add_series(series.name, series.values)
    return found


def style(
    drawn: Any, chart: Chart, colours: dict[str, str], tones: Sequence[str], face: str
) -> None:
    """Quiet axes, direct labels, and the accent on what the title states."""
    from pptx.enum.chart import XL_LEGEND_POSITION
    from pptx.util import Pt

    drawn.font.size, drawn.font.name = Pt(12), face
    drawn.font.color.rgb = rgb(colours["muted"])
    drawn.has_title = False
    drawn.has_legend = len(chart.series) > 1
    if drawn.has_legend:
        drawn.legend.position = XL_LEGEND_POSITION.TOP
        drawn.legend.include_in_layout = False
    few = len(chart.labels) * len(chart.series) <= _LABELLED and chart.kind != "line"
    _axes(drawn, chart, colours, few)
    plot = drawn.plots[0]
    if chart.kind != "line":
        plot.gap_width, plot.overlap = 45 if len(chart.series) == 1 else 60, -6
    for series, tone, figures in zip(plot.series, tones, chart.series, strict=True):
        if len(chart.series) == 1 and chart.marks and chart.kind != "line":
            tone = colours["grey"]
        if chart.kind == "line":
            series.smooth = False
            series.format.line.color.rgb = rgb(tone)
            series.format.line.width = Pt(2.5)
            from pptx.enum.chart import XL_MARKER_STYLE

            series.marker.style = XL_MARKER_STYLE.NONE
            continue
        series.format.fill.solid()
        series.format.fill.fore_color.rgb = rgb(tone)
        series.invert_if_negative = False
        for at in chart.marks if len(chart.series) == 1 else ():
            fill = series.points[at].format.fill
            fill.solid()
            fill.fore_color.rgb = rgb(colours["accent"])
        if few:
            series.data_labels.show_value = True
            series.data_labels.number_format = chart.number_format
            series.data_labels.number_format_is_linked = False
            series.data_labels.font.size = Pt(12)
            series.data_labels.font.color.rgb = rgb(colours["ink"])
        elif len(chart.series) == 1:
            for at in chart.marks:
                if figures.values[at] is not None:
                    _marked(series.points[at], chart, at, colours)


def _marked(point: Any, chart: Chart, at: int, colours: dict[str, str]) -> None:
    from pptx.util import Pt

    frame = point.data_label.text_frame
    frame.text = chart.shown[0][at] if chart.shown else ""
    run = frame.paragraphs[0].runs[0]
    run.font.size, run.font.bold = Pt(13), True
    run.font.color.rgb = rgb(colours["accent"])


def _axes(drawn: Any, chart: Chart, colours: dict[str, str], few: bool) -> None:
    from pptx.enum.chart import XL_TICK_LABEL_POSITION, XL_TICK_MARK
    from pptx.util import Pt

    values, names = drawn.value_axis, drawn.category_axis
    numbers = [v for series in chart.series for v in series.values if v is not None]
    values.visible = not few
    values.has_major_gridlines = not few
    if not few:
        values.major_gridlines.format.line.color.rgb = rgb(colours["rule"])
        values.major_gridlines.format.line.width = Pt(0.75)
        values.format.line.fill.background()
        values.tick_labels.number_format = chart.tick_format
        if len(chart.ticks) > 1:
            values.major_unit = chart.ticks[1][0] - chart.ticks[0][0]
            values.minimum_scale, values.maximum_scale = chart.ticks[0][0], chart.ticks[-1][0]
        values.tick_labels.number_format_is_linked = False
        values.tick_labels.font.size = Pt(11)
    values.major_tick_mark = XL_TICK_MARK.NONE
    if chart.kind != "line" and min(numbers, default=0) >= 0:
        values.minimum_scale = 0
    names.major_tick_mark = XL_TICK_MARK.NONE
    names.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    names.format.line.color.rgb = rgb(colours["grey"])
    names.tick_labels.font.size = Pt(12 if len(chart.labels) <= _LABELLED else 10)
    _skipping(names, chart)
    if chart.kind == "bar":
        names.reverse_order = True


def _skipping(names: Any, chart: Chart) -> None:
    """Upright labels, and only as many of them as fit side by side."""
    from pptx.oxml import parse_xml

    names.tick_labels.font.size = names.tick_labels.font.size  # makes the text's properties
    names._element.txPr.bodyPr.set("rot", "0")
    if chart.kind == "bar" or chart.years or len(chart.labels) <= _LABELLED:
        return
    every = -(-len(chart.labels) // 9)
    chart_ns = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    before = names._element.find(f"{{{chart_ns}}}noMultiLvlLbl")
    for tag in ("tickLblSkip", "tickMarkSkip"):
        element = parse_xml(f'<c:{tag} xmlns:c="{chart_ns}" val="{every}"/>')
        if before is not None:
            before.addprevious(element)
        else:
            names._element.append(element)
