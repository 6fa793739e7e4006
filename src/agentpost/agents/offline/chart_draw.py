"""Draw a chart description as a PNG, and look at the result (both run in a worker process)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from typing import Any

from agentpost.agents.base import File, JobFailed
from agentpost.agents.offline.fonts import chart_families
from agentpost.agents.offline.texts import short_amount, shortened

WIDTH, HEIGHT, _DPI = 1600, 900, 160
_PALETTE = ("#1f5fa8", "#e07b39", "#3a9a6d", "#b8447a", "#7d6bb5", "#c9a227", "#4fa3b8", "#7a7a7a")
_INK, _SOFT, _GRID = "#1c2430", "#5d6773", "#e4e8ec"


def draw(spec: dict[str, Any]) -> bytes:
    """Return the PNG (1600 × 900 pixels) of a `chart_spec.Spec` given as JSON."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    texts = [spec["title"], spec["subtitle"], *spec["labels"], *(s["name"] for s in spec["series"])]
    style: dict[Any, Any] = {
        "font.family": chart_families(" ".join(texts)),
        "font.size": 10.5,
        "text.parse_math": False,  # a dollar sign in a title is a dollar sign
        "text.color": _INK,
        "axes.labelcolor": _SOFT,
        "xtick.color": _SOFT,
        "ytick.color": _SOFT,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.08, 0.13, 0.86, 0.68))
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color("#b9c0c8")
        axes.tick_params(length=0, pad=6)
        axes.set_axisbelow(True)
        _DRAWERS[spec["kind"]](axes, spec)
        _frame(figure, axes, spec)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()


def check(file: File) -> dict[str, Any]:
    """Open a written chart again; raises `JobFailed` unless it is a whole, non-empty picture."""
    from PIL import Image

    try:
        with Image.open(file.local) as image:
            image.load()
            size = image.size
            colors = image.convert("RGB").resize((160, 90)).getcolors(maxcolors=160 * 90)
    except (OSError, SyntaxError, ValueError) as error:
        raise JobFailed("The chart came out damaged.") from error
    if size != (WIDTH, HEIGHT):
        raise JobFailed(f"The chart came out {size[0]} × {size[1]} pixels.")
    if colors is None or len(colors) < 3:
        raise JobFailed("The chart came out blank.")
    return {"width": size[0], "height": size[1]}


def _colors(spec: dict[str, Any]) -> list[str]:
    first = spec.get("color")
    others = [color for color in _PALETTE if color != first]
    return [first, *others] if first else list(_PALETTE)


def _frame(figure: Any, axes: Any, spec: dict[str, Any]) -> None:
    """Title, subtitle and source, then margins wide enough for what the axes say."""
    title = shortened(spec["title"], 80)
    size = 17 if len(title) < 56 else 14
    figure.text(0.04, 0.94, title, fontsize=size, weight="bold", va="center")
    if spec["subtitle"]:
        figure.text(0.04, 0.885, shortened(spec["subtitle"], 110), color=_SOFT, va="center")
    source = f"Source: {shortened(spec['source'], 60)} · {spec['rows']:,} rows"
    figure.text(0.04, 0.025, source, color="#8a939d", fontsize=8.5, va="center")
    if spec["kind"] == "pie":
        return
    figure.draw_without_rendering()
    tight = axes.get_tightbbox()
    inner = axes.get_window_extent()
    left = 0.04 + (inner.x0 - tight.x0) / WIDTH
    right = 0.03 + max(0.0, (tight.x1 - inner.x1) / WIDTH)
    bottom = 0.065 + (inner.y0 - tight.y0) / HEIGHT
    top = 0.84 if spec["subtitle"] else 0.87
    if axes.get_legend() is not None:
        top -= 0.05
    axes.set_position((left, bottom, max(0.2, 1 - left - right), max(0.2, top - bottom)))


def _value_axis(axis: Any, spec: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_amount(value, spec["unit"])))
    axis.grid(True, color=_GRID, linewidth=0.9)


def _line(axes: Any, spec: dict[str, Any]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    colors = _colors(spec)
    x: Sequence[Any] = (
        [date.fromisoformat(label) for label in spec["labels"]]
        if spec["dates"]
        else range(len(spec["labels"]))
    )
    ends: list[tuple[float, Any, str, str]] = []
    for n, series in enumerate(spec["series"]):
        points = [(a, b) for a, b in zip(x, series["values"], strict=True) if b is not None]
        if not points:
            continue
        color = colors[n % len(colors)]
        axes.plot(*zip(*points, strict=True), color=color, linewidth=2.4,
                  solid_capstyle="round", marker="o" if len(points) < 15 else None,
                  markersize=4.5)  # fmt: skip
        ends.append((points[-1][1], points[-1][0], series["name"], color))
    _value_axis(axes.yaxis, spec)
    low, high = axes.get_ylim()
    if low > 0 and low < high * 0.5:
        axes.set_ylim(bottom=0)
    if spec["dates"]:
        locator = AutoDateLocator(minticks=3, maxticks=9)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator, show_offset=False)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(formatter)
    else:
        every = max(1, len(x) // 12)
        axes.set_xticks(list(x)[::every], [shortened(s, 14) for s in spec["labels"][::every]])
    axes.margins(x=0.01)
    axes.set_ylabel(spec["y_label"])
    if not spec["dates"]:
        axes.set_xlabel(spec["x_label"])
    _end_labels(axes, ends, spec)


def _end_labels(axes: Any, ends: list[tuple[float, Any, str, str]], spec: dict[str, Any]) -> None:
    """Write each series' name beside its last point, pushed apart where they would touch."""
    if not ends:
        return
    low, high = axes.get_ylim()
    gap = (high - low) * 0.055
    ends.sort(key=lambda end: end[0])
    places: list[float] = []
    for value, *_ in ends:
        places.append(max(value, places[-1] + gap) if places else value)
    overflow = places[-1] - high
    if overflow > 0:
        places[-1] = high
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - gap)
    right = axes.get_xlim()[1]
    for (value, _, name, color), y in zip(ends, places, strict=True):
        number = short_amount(value, spec["unit"])
        text = f"{shortened(name, 22)}  {number}" if len(ends) > 1 else number
        axes.annotate(text, (right, y), xytext=(6, 0), textcoords="offset points", color=color,
                      va="center", weight="bold", fontsize=10, annotation_clip=False)  # fmt: skip


def _bar(axes: Any, spec: dict[str, Any]) -> None:
    import textwrap

    colors, count = _colors(spec), len(spec["series"])
    names = spec["labels"]
    width = (0.72 if len(names) > 4 else 0.18 * len(names)) / count
    for n, series in enumerate(spec["series"]):
        shift = (n - (count - 1) / 2) * width
        at = [i + shift for i in range(len(names))]
        values = [value or 0 for value in series["values"]]
        color = colors[n % len(colors)]
        bars = (
            axes.barh(at, values, height=width * 0.94, color=color, label=series["name"])
            if spec["horizontal"]
            else axes.bar(at, values, width=width * 0.94, color=color, label=series["name"])
        )
        if len(names) * count <= 26:
            shown = [None if v is None else short_amount(v, spec["unit"]) for v in series["values"]]
            axes.bar_label(bars, [text or "" for text in shown], padding=4, fontsize=9.5)
    if spec["horizontal"]:
        axes.set_yticks(range(len(names)), [shortened(name, 32) for name in names], color=_INK)
        axes.invert_yaxis()
        axes.spines["bottom"].set_visible(False)
        axes.margins(x=0.08, y=0.02)
        _value_axis(axes.xaxis, spec)
        axes.set_xlabel(spec["y_label"])
    else:
        every = 1 if len(names) < 15 else -(-len(names) // 8)
        room = max(6, 96 // max(1, len(names) // every))
        ticks = ["\n".join(textwrap.wrap(shortened(n, 2 * room), room)) for n in names[::every]]
        axes.set_xticks(range(0, len(names), every), ticks, color=_INK)
        axes.margins(x=0.02)
        _value_axis(axes.yaxis, spec)
        axes.set_ylabel(spec["y_label"])
    axes.axline((0, 0), (0, 1) if spec["horizontal"] else (1, 0), color="#8a939d", linewidth=0.9)
    if count > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(count, 5), frameon=False,
                    borderaxespad=0.2, handlelength=1, handleheight=1)  # fmt: skip


def _pie(axes: Any, spec: dict[str, Any]) -> None:
    values = [value or 0 for value in spec["series"][0]["values"]]
    whole = sum(values) or 1
    wedges, _ = axes.pie(values, colors=_colors(spec), startangle=90, counterclock=False,
                         radius=1.15, wedgeprops={"width": 0.62, "edgecolor": "white",
                                                  "linewidth": 2})  # fmt: skip
    axes.set_position((0.02, 0.06, 0.5, 0.78))
    size = 11.5 if len(values) < 9 else 10
    rows = len(values)
    for n, (wedge, name, value) in enumerate(zip(wedges, spec["labels"], values, strict=True)):
        y = 0.45 + 0.062 * ((rows - 1) / 2 - n)
        place = axes.figure
        place.text(0.56, y, "■", color=wedge.get_facecolor(), fontsize=size + 3, va="center")
        place.text(0.585, y, shortened(name, 28), fontsize=size, va="center")
        share = f"{value / whole:.0%}" if value / whole >= 0.01 or not value else "<1%"
        place.text(0.86, y, share, fontsize=size, weight="bold", va="center", ha="right")
        place.text(0.95, y, short_amount(value, spec["unit"]), fontsize=size, color=_SOFT,
                   va="center", ha="right")  # fmt: skip


def _scatter(axes: Any, spec: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter

    series = spec["series"][0]
    many = len(series["values"]) > 300
    axes.scatter(series["x"], series["values"], s=14 if many else 34, alpha=0.45 if many else 0.75,
                 color=_colors(spec)[0], linewidths=0)  # fmt: skip
    _value_axis(axes.yaxis, spec)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_amount(value)))
    axes.set_xlabel(spec["x_label"])
    axes.set_ylabel(spec["y_label"])


def _histogram(axes: Any, spec: dict[str, Any]) -> None:
    from matplotlib.ticker import FuncFormatter

    values = spec["series"][0]["values"]
    axes.hist(values, bins=min(40, max(5, round(len(values) ** 0.5))), color=_colors(spec)[0],
              edgecolor="white", linewidth=1)  # fmt: skip
    _value_axis(axes.yaxis, {**spec, "unit": ""})
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: short_amount(v, spec["unit"])))
    axes.set_xlabel(spec["x_label"])
    axes.set_ylabel(spec["y_label"])


_DRAWERS = {
    "line": _line,
    "bar": _bar,
    "pie": _pie,
    "scatter": _scatter,
    "histogram": _histogram,
}
