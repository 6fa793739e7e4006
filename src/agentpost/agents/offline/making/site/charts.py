"""Charts as HTML: bars are boxes and labels are text, so they fit a phone and follow the colours
of the page, dark or light."""

from __future__ import annotations

from html import escape

from agentpost.agents.offline.making.deck.slides import Chart

_FEW = 14


def html_of(chart: Chart) -> str:
    """The chart; everything in it that was read is escaped."""
    drawn = {"bar": _bars, "line": _line}.get(chart.kind, _columns)(chart)
    label = escape(chart.alt, quote=True)
    return f'{_legend(chart)}<div role="img" aria-label="{label}">{drawn}</div>'


def _legend(chart: Chart) -> str:
    if len(chart.series) < 2:
        return ""
    entries = "".join(
        f"<span>{_swatch(chart, at)}{escape(one.name)}</span>"
        for at, one in enumerate(chart.series)
    )
    return f'<div class="legend">{entries}</div>'


def _swatch(chart: Chart, at: int) -> str:
    return f"<i{_tone(chart, at)}></i>"


def _tone(chart: Chart, at: int) -> str:
    """The last series in the accent; of more than two, the others in steps of grey."""
    if at == len(chart.series) - 1:
        return ' class="on"'
    return f' style="opacity:{1 - 0.22 * at:.2f}"' if len(chart.series) > 2 else ""


def _on(chart: Chart, series: int, label: int) -> str:
    if len(chart.series) > 1:
        return _tone(chart, series)
    return ' class="on"' if label in chart.marks or not chart.marks else ""


def _scale(chart: Chart) -> tuple[float, float]:
    values = [v for one in chart.series for v in one.values if v is not None]
    return max(0.0, *values), min(0.0, *values)


def _columns(chart: Chart) -> str:
    top, low = _scale(chart)
    if low < 0:  # bars below a line need a scale of their own
        return _bars(chart)
    few = len(chart.labels) * len(chart.series) <= _FEW
    slots = []
    for at in range(len(chart.labels)):
        parts = ""
        for n, one in enumerate(chart.series):
            value = one.values[at]
            high = 92 * (value or 0) / top if top else 0
            labelled = few or (len(chart.series) == 1 and at in chart.marks)
            shown = f"<b>{escape(chart.shown[n][at])}</b>" if labelled else ""
            tone = _on(chart, n, at)
            style = f"height:{high:.2f}%"
            if "style=" in tone:
                tone, style = "", f"{style};{tone[8:-1]}"
            hint = escape(f"{chart.labels[at]}: {chart.shown[n][at]}", quote=True)
            parts += f'<i{tone} style="{style}" title="{hint}">{shown}</i>'
        slots.append(f'<div class="slot{"" if few else " dense"}">{parts}</div>')
    return f'<div class="columns">{"".join(slots)}</div>{_labels(chart.labels)}'


def _labels(labels: tuple[str, ...]) -> str:
    """As many labels as fit a phone, evenly."""
    least = 1 if len(labels) <= 6 else -(-len(labels) // 4)
    every = next((n for n in (1, 2, 3, 4, 6, 12) if n >= least), least)
    shown = "".join(
        f"<span>{escape(label) if not at % every else ''}</span>" for at, label in enumerate(labels)
    )
    return f'<div class="labels{" few" if every == 1 else ""}" aria-hidden="true">{shown}</div>'


def _bars(chart: Chart) -> str:
    top, low = _scale(chart)
    widest = max(top, -low) or 1.0
    rows = []
    many = " many" if len(chart.series) > 1 else ""
    for at, label in enumerate(chart.labels):
        ones = ""
        for n, one in enumerate(chart.series):
            wide = 82 * abs(one.values[at] or 0) / widest
            tone = _on(chart, n, at)
            style = f"width:{wide:.2f}%"
            if "style=" in tone:
                tone, style = "", f"{style};{tone[8:-1]}"
            shown = escape(chart.shown[n][at])
            ones += f'<div class="one"><i{tone} style="{style}"></i><b>{shown}</b></div>'
        rows.append(
            f'<div class="row"><span>{escape(label)}</span>'
            f'<div class="set{many}">{ones}</div></div>'
        )
    return f'<div class="bars">{"".join(rows)}</div>'


def _line(chart: Chart) -> str:
    top = max([tick for tick, _ in chart.ticks] or [_scale(chart)[0]])
    low = min([tick for tick, _ in chart.ticks] or [_scale(chart)[1]])
    span = (top - low) or 1.0
    count = max(1, len(chart.labels) - 1)
    paths = ""
    for n, one in enumerate(chart.series):
        pen, steps = "M", []
        for at, value in enumerate(one.values):
            if value is None:
                pen = "M"
                continue
            steps.append(f"{pen}{1000 * at / count:.1f} {1000 * (top - value) / span:.1f}")
            pen = "L"
        accent = n == len(chart.series) - 1
        opacity = "" if accent else f";opacity:{1 - 0.22 * n:.2f}"
        tone = "var(--mark)" if accent else "var(--soft)"
        paths += f'<path d="{"".join(steps)}" style="stroke:{tone}{opacity}"/>'
    ticks = "".join(
        f'<div class="tick" style="top:{100 * (top - tick) / span:.2f}%">'
        f"<span>{escape(shown)}</span></div>"
        for tick, shown in chart.ticks
    )
    svg = (
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">{paths}</svg>'
    )
    return f'<div class="linechart">{ticks}{svg}</div>{_labels(chart.labels)}'
