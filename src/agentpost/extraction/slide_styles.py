"""Colours and text styles of a presentation, by the rules that slides inherit them with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_HEX: Final = re.compile(r"[0-9A-Fa-f]{6}")
_NAMED: Final = {
    "white": "FFFFFF", "black": "000000", "red": "FF0000", "green": "008000",
    "blue": "0000FF", "yellow": "FFFF00", "gray": "808080",
}  # fmt: skip
_OFFICE: Final = {
    "dk1": "000000", "lt1": "FFFFFF", "dk2": "44546A", "lt2": "E7E6E6", "accent1": "4472C4",
    "accent2": "ED7D31", "accent3": "A5A5A5", "accent4": "FFC000", "accent5": "5B9BD5",
    "accent6": "70AD47", "hlink": "0563C1", "folHlink": "954F72",
}  # fmt: skip
_MAPPED: Final = {"bg1": "lt1", "tx1": "dk1", "bg2": "lt2", "tx2": "dk2"}
_BODY: Final = frozenset({"body", "obj", "subTitle", "tbl", "chart", "pic", "dgm", "media"})
_POINTS_MAX: Final = 400.0


class Theme:
    """The colours of a slide master, by name."""

    def __init__(self, master: Any) -> None:
        self._colours = dict(_OFFICE)
        self._map = dict(_MAPPED)
        mapped = master.element.find(f"{_P}clrMap")
        if mapped is not None:
            self._map.update(mapped.attrib)
        self._read(master)

    def _read(self, master: Any) -> None:
        from lxml import etree

        for related in master.part.rels.values():
            if not related.reltype.endswith("/theme") or related.is_external:
                continue
            parser = etree.XMLParser(resolve_entities=False, no_network=True)
            scheme = etree.fromstring(related.target_part.blob, parser).find(f".//{A}clrScheme")
            for slot in scheme if scheme is not None else ():
                if isinstance(slot.tag, str) and len(slot):
                    value = slot[0].get("val" if slot[0].tag == f"{A}srgbClr" else "lastClr") or ""
                    if _HEX.fullmatch(value):
                        self._colours[slot.tag.removeprefix(A)] = value

    def accent(self, n: int) -> str:
        """The n-th colour of a series, from 0, as ``#rrggbb``."""
        return f"#{self._colours[f'accent{n % 6 + 1}']}"

    def fill(self, holder: Any) -> str:
        """The CSS of the fill that an element has as a child; "" for none or one that is another
        kind, such as a picture."""
        if holder is None:
            return ""
        solid = holder.find(f"{A}solidFill")
        if solid is not None:
            return self.colour(solid)
        gradient = holder.find(f"{A}gradFill")
        if gradient is None:
            return ""
        stops = [self.colour(stop) for stop in gradient.iterfind(f"{A}gsLst/{A}gs")][:6]
        stops = [stop for stop in stops if stop]
        turned = gradient.find(f"{A}lin")
        angle = 90 + _number(turned.get("ang") if turned is not None else None) / 60_000
        return f"linear-gradient({angle:.0f}deg,{','.join(stops)})" if len(stops) > 1 else ""

    def colour(self, holder: Any) -> str:
        """The CSS of the colour within a fill, "" for none."""
        if holder is None or not len(holder):
            return ""
        given = holder[0]
        kind = given.tag.removeprefix(A) if isinstance(given.tag, str) else ""
        value = given.get("val", "")
        if kind == "schemeClr":
            found = self._colours.get(self._map.get(value, value), "")
        elif kind == "sysClr":
            found = given.get("lastClr", "")
        else:
            found = _NAMED.get(value, "") if kind == "prstClr" else value
        return _changed(found, given) if _HEX.fullmatch(found) else ""


def _changed(colour: str, given: Any) -> str:
    """The colour, lighter or darker or lucent as the element says."""
    import colorsys

    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4))
    alpha = 1.0
    for each in given:
        part = _number(each.get("val")) / 100_000
        hue, light, full = colorsys.rgb_to_hls(red, green, blue)
        match each.tag.removeprefix(A) if isinstance(each.tag, str) else "":
            case "lumMod":
                red, green, blue = colorsys.hls_to_rgb(hue, min(light * part, 1.0), full)
            case "lumOff":
                red, green, blue = colorsys.hls_to_rgb(hue, min(light + part, 1.0), full)
            case "tint":
                red, green, blue = (1 - (1 - each_) * part for each_ in (red, green, blue))
            case "shade":
                red, green, blue = (each_ * part for each_ in (red, green, blue))
            case "alpha":
                alpha = min(max(part, 0.0), 1.0)
    shown = (min(max(round(each * 255), 0), 255) for each in (red, green, blue))
    return f"rgba({','.join(str(each) for each in shown)},{alpha:.2f})"


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


class TextStyle:
    """What the paragraphs of a shape inherit: from itself, its layout, its master, by level."""

    def __init__(self, shape: Any, layout: Any, master: Any) -> None:
        kind = _placeholder(shape)
        self._bodies = [shape.element.find(f".//{_P}txBody")]
        if kind is not None:
            number = shape.placeholder_format.idx
            own = [s for s in layout.placeholders if s.placeholder_format.idx == number]
            above = [s for s in master.placeholders if _placeholder(s) == _family(kind)]
            self._bodies += [s.element.find(f".//{_P}txBody") for s in (*own[:1], *above[:1])]
        styles = master.element.find(f"{_P}txStyles")
        named = "otherStyle"
        if kind is not None:
            named = "titleStyle" if _family(kind) == "title" else "bodyStyle"
        self._last = styles.find(f"{_P}{named}") if styles is not None else None

    def levels(self, level: int) -> Iterator[Any]:
        """The properties of paragraphs on that level, the nearest first."""
        named = f"{A}lvl{min(level, 8) + 1}pPr"
        for body in self._bodies:
            found = body.find(f"{A}lstStyle/{named}") if body is not None else None
            if found is not None:
                yield found
        if self._last is not None and (found := self._last.find(named)) is not None:
            yield found

    def body(self, name: str) -> str | None:
        """A property of the text's box, such as ``anchor``."""
        for body in self._bodies:
            found = body.find(f"{A}bodyPr") if body is not None else None
            if found is not None and found.get(name) is not None:
                return str(found.get(name))
        return None

    def scale(self) -> float:
        """By how much the text was made smaller so that it fits."""
        body = self._bodies[0]
        fit = body.find(f"{A}bodyPr/{A}normAutofit") if body is not None else None
        given = _number(fit.get("fontScale")) / 100_000 if fit is not None else 0.0
        return given if 0.1 < given <= 1 else 1.0


def points(text: str | None) -> float | None:
    """A font size in points, of hundredths."""
    size = _number(text) / 100
    return min(size, _POINTS_MAX) if size > 0 else None


def _placeholder(shape: Any) -> str | None:
    found = shape.element.find(f".//{_P}nvPr/{_P}ph")
    return None if found is None else str(found.get("type", "obj"))


def _family(kind: str) -> str:
    """The placeholder of the master that one of that type follows."""
    if kind in ("title", "ctrTitle"):
        return "title"
    return "body" if kind in _BODY else kind
