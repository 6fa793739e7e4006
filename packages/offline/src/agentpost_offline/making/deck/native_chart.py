"""Charts as PowerPoint's own: the reader can edit their figures."""

from collections.abc import Sequence
from typing import Any

from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import (
    XL_CHART_TYPE,
    XL_LEGEND_POSITION,
    XL_MARKER_STYLE,
    XL_TICK_LABEL_POSITION,
    XL_TICK_MARK,
)
from pptx.util import Pt

from agentpost_offline.content.picture import Picture
from agentpost_offline.style import palette
from agentpost_offline.style.typeset import printable

KINDS = ("bar", "column", "line", "donut")
"""Kinds of pictures that PowerPoint draws itself."""
FACE = "Arial"
"""On every system, and with metric twins where it is not."""
_LARGE_LABELS = 14
_NAMED = 3
"""So many marked columns at most have their values on them where there is an axis."""


def rgb(colour: str) -> RGBColor:
    """A colour as python-pptx wants it."""
    value: RGBColor = RGBColor(*palette.rgb(colour))  # type: ignore[no-untyped-call]
    return value


def kind_of(picture: Picture) -> Any:
    """Which of PowerPoint's chart types."""
    if picture.kind in ("line", "donut"):
        return XL_CHART_TYPE.LINE if picture.kind == "line" else XL_CHART_TYPE.DOUGHNUT
    form = "STACKED" if picture.is_stacked else "CLUSTERED"
    return XL_CHART_TYPE[f"{picture.kind.upper()}_{form}"]


def data_of(picture: Picture) -> Any:
    """The figures behind the chart, which become its workbook; labels stand below their years."""
    create: Any = CategoryChartData
    data = create(number_format=picture.number_format)
    labels = [printable(label) for label in picture.labels]
    if len(picture.groups) > 1 or (picture.groups and picture.kind != "line"):
        starts = [*(group.at for group in picture.groups), len(labels)]
        for group, end in zip(picture.groups, starts[1:], strict=True):
            category = data.add_category(group.text)
            for label in labels[group.at : end]:
                category.add_sub_category(label)
    else:
        data.categories = labels
    for series in picture.series:
        data.add_series(printable(series.name), series.values)
    return data


def dress(chart: Any, picture: Picture, colours: dict[str, str]) -> None:
    """Quiet axes, direct labels, and the accent on what the title states."""
    is_ring, is_line = picture.kind == "donut", picture.kind == "line"
    _set_font(chart.font, 12, colours["muted"])
    chart.font.name, chart.has_title = FACE, False
    chart.has_legend = len(picture.series) > 1 or is_ring
    if chart.has_legend:
        place = XL_LEGEND_POSITION.RIGHT if is_ring else XL_LEGEND_POSITION.TOP
        chart.legend.position, chart.legend.include_in_layout = place, False
        _set_font(chart.legend.font, 14 if is_ring else 12)
    plot = chart.plots[0]
    if is_ring:
        _fill_points(plot.series[0], picture.points)
        plot.has_data_labels = True
        labels = plot.data_labels
        labels.show_percentage, labels.show_value = True, False
        labels.number_format, labels.number_format_is_linked = "0%", False
        _set_font(labels.font, 14, palette.PAPER, is_bold=True)
        return
    has_values = not is_line and not picture.axis.ticks
    _dress_axes(chart, picture, colours, has_values)
    for series, own in zip(plot.series, picture.series, strict=True):
        if is_line:
            series.smooth, series.marker.style = False, XL_MARKER_STYLE.NONE
            series.format.line.color.rgb, series.format.line.width = rgb(own.colour), Pt(2.5)
            continue
        _fill(series, own.colour)
        series.invert_if_negative = False
        _fill_points(series, picture.points)
        if has_values:
            labels = series.data_labels
            labels.show_value, labels.number_format = True, picture.number_format
            labels.number_format_is_linked = False
            _set_font(labels.font, 12, palette.PAPER if picture.is_stacked else colours["ink"])
        elif len(picture.series) == 1 and len(picture.marks) <= _NAMED:
            for at in picture.marks:
                frame = series.points[at].data_label.text_frame
                frame.text = own.texts[at]
                _set_font(frame.paragraphs[0].runs[0].font, 13, colours["accent"], is_bold=True)
    if not is_line:
        plot.gap_width = 45 if len(picture.series) == 1 else 60
        plot.overlap = 100 if picture.is_stacked else -6


def _set_font(font: Any, size: float, colour: str = "", *, is_bold: bool = False) -> None:
    font.size = Pt(size)
    if is_bold:
        font.bold = True
    if colour:
        font.color.rgb = rgb(colour)


def _fill(shape: Any, colour: str) -> None:
    shape.format.fill.solid()
    shape.format.fill.fore_color.rgb = rgb(colour)


def _fill_points(series: Any, colours: Sequence[str]) -> None:
    for at, colour in enumerate(colours):
        _fill(series.points[at], colour)


def _dress_axes(chart: Any, picture: Picture, colours: dict[str, str], has_values: bool) -> None:
    values, names, ticks = chart.value_axis, chart.category_axis, picture.axis.ticks
    values.visible = values.has_major_gridlines = not has_values
    if not has_values:
        line = values.major_gridlines.format.line
        line.color.rgb, line.width = rgb(colours["rule"]), Pt(0.75)
        values.format.line.fill.background()
        labels = values.tick_labels
        labels.number_format, labels.number_format_is_linked = picture.axis.number_format, False
        _set_font(labels.font, 11)
        if len(ticks) > 1:
            values.major_unit = ticks[1].at - ticks[0].at
            values.minimum_scale, values.maximum_scale = ticks[0].at, ticks[-1].at
    values.major_tick_mark = names.major_tick_mark = XL_TICK_MARK.NONE
    if picture.kind != "line" and picture.axis.low >= 0:
        values.minimum_scale = 0
    names.tick_label_position = XL_TICK_LABEL_POSITION.LOW
    names.format.line.color.rgb = rgb(colours["grey"])
    _set_font(names.tick_labels.font, 12 if len(picture.labels) <= _LARGE_LABELS else 10)
    names._element.txPr.bodyPr.set("rot", "0")  # upright
    if picture.kind == "bar":
        names.reverse_order = True
