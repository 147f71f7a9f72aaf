"""Draw a geometry as SVG: one shape and colour per look, and over it what became of each step.

The picture is self-contained (colours as attributes, a style sheet for dark screens inside); within a page the classes `wfd-…`
take the page's own colours instead (static/css/diagram.css). Whatever an author wrote is text here, never markup.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from engine.diagram.labels import shortened, xml_text
from engine.diagram.layout import TEXT, Geometry
from engine.diagram.text_width import text_width

CORNER = 8.0
FONT = "Inter Variable, Inter, system-ui, sans-serif"
IN_PAGE = 0.88
"""The scale of a picture in a page, where its titles should be as large as the text around it."""


@dataclass(frozen=True, slots=True)
class Colours:
    line: str
    fill: str


LIGHT: Mapping[str, Colours] = {
    "person": Colours("#a8225f", "#fdf0f5"),
    "call": Colours("#1c5fb8", "#eef5fd"),
    "choice": Colours("#8f5200", "#fdf5e6"),
    "wait": Colours("#0b6c78", "#e8f6f8"),
    "listen": Colours("#0b6c78", "#e8f6f8"),
    "value": Colours("#6440b0", "#f5f1fd"),
    "flow": Colours("#4a5468", "#f0f2f6"),
    "joint": Colours("#4a5468", "#4a5468"),
    "start": Colours("#0f6848", "#e2f4ec"),
    "end": Colours("#0f6848", "#e2f4ec"),
    "bad": Colours("#b3241a", "#fdebe9"),
}
WAY, WORD, PAPER, HERE = "#7e8798", "#475063", "#ffffff", "#2f50cf"

BADGES: Mapping[str, tuple[str, str]] = {
    "done": ("#16805a", "check"),
    "here": ("#2f50cf", "player-play"),
    "inside": ("#2f50cf", "player-play"),
    "again": ("#b86200", "refresh"),
    "failed": ("#c4281c", "x"),
}
"""A mark at the corner of a step that was reached: its colour and its icon."""


def draw(
    geometry: Geometry, states: Mapping[str, str] | None = None, *, alone: bool = True, outline: str = ""
) -> SafeString:
    """Draw a whole diagram. `states` says what became of the steps, by path; `alone` adds what a file needs by itself."""
    states = states or {}
    taken = _taken(geometry, states) if states else set()
    parts = [
        *_opening(geometry, alone, outline),
        *(_edge(edge, number in taken) for number, edge in enumerate(geometry["edges"])),
        *(_node(node, states.get(node["step"], ""), bool(states)) for node in geometry["nodes"]),
        "</svg>",
    ]
    return mark_safe("".join(parts))  # nosec # noqa: S308  every word of an author is escaped below


def _taken(geometry: Geometry, states: Mapping[str, str]) -> set[int]:
    """Find the ways that were taken: both ends were reached, and of a choice's ways the one inside it goes before."""
    nodes = {node["id"]: node for node in geometry["nodes"]}
    reached = {name for name, node in nodes.items() if _reached(node, states)}
    both = [
        (number, edge)
        for number, edge in enumerate(geometry["edges"])
        if edge["source"] in reached and edge["target"] in reached and not edge["quiet"]
    ]
    chosen = {
        edge["source"] for _number, edge in both if _is_inside(edge) and nodes[edge["source"]]["look"] == "choice"
    }
    return {number for number, edge in both if edge["source"] not in chosen or _is_inside(edge)}


def _is_inside(edge: Mapping[str, Any]) -> bool:
    """Return whether a way leads into its own step's branches."""
    return str(edge["target"]).startswith(edge["source"] + "/")


def _reached(node: Mapping[str, Any], states: Mapping[str, str]) -> bool:
    if node["id"] == "start":
        return True
    return states.get(node["step"], "") in {"done", "here", "inside", "again", "failed"}


def _opening(geometry: Geometry, alone: bool, outline: str) -> list[str]:
    width, height = geometry["width"], geometry["height"]
    title = _("Diagram of %(title)s") % {"title": geometry["title"]}
    space = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    scale = 1 if alone else IN_PAGE
    return [
        f'<svg{space} class="wfd" role="img" aria-label="{xml_text(title)}" viewBox="0 0 {width:g} {height:g}"',
        f' width="{width * scale:g}" height="{height * scale:g}" font-family="{FONT}" font-size="13">',
        f"<title>{xml_text(title)}</title>",
        f"<desc>{xml_text(outline)}</desc>" if outline else "",
        f"<style>{DARK}</style>" if alone else "",
        f'<rect class="wfd-paper" width="{width:g}" height="{height:g}" fill="{PAPER}"/>' if alone else "",
    ]


DARK = (
    "@media (prefers-color-scheme: dark) { .wfd-paper, .wfd-halo { fill: #161b24; stroke: #161b24 } .wfd-shape { fill: #1f2632 }"
    " .wfd-way { stroke: #98a2b4 } .wfd-arrow { fill: #98a2b4 } .wfd-word { fill: #b6becc }"
    " .wfd-title { fill: #e9ecf2 } .wfd-icon { stroke: #e9ecf2 } }"
)


def _edge(edge: Mapping[str, Any], taken: bool) -> str:
    """Draw a way with its arrow and its word; a way that was taken is bold."""
    classes = "wfd-edge" + (" wfd-edge--taken" if taken else "") + (" wfd-edge--quiet" if edge["quiet"] else "")
    dashes = ' stroke-dasharray="4 3"' if edge["quiet"] else ""
    line = (
        f'<path class="wfd-way" d="{_path(edge["points"])}" fill="none" stroke="{WAY}"'
        f' stroke-width="{2 if taken else 1.4}"{dashes}/>'
    )
    return f'<g class="{classes}">{line}{_arrow(edge["points"])}{_word(edge)}</g>'


def _path(points: list[list[float]]) -> str:
    """Write a line with rounded corners, ending a little before its target, where the arrow is."""
    (x, y), *rest = points
    said = [f"M{x:g} {y:g}"]
    for place, (at_x, at_y) in enumerate(rest):
        if place == len(rest) - 1:
            said.append(f"L{at_x:g} {at_y:g}")
            break
        before, after = points[place], points[place + 2]
        said.append(_corner(before, (at_x, at_y), after))
    return "".join(said)


def _corner(before: list[float], corner: tuple[float, float], after: list[float]) -> str:
    enter, leave = _towards(corner, before), _towards(corner, after)
    return f"L{enter[0]:g} {enter[1]:g}Q{corner[0]:g} {corner[1]:g} {leave[0]:g} {leave[1]:g}"


def _towards(corner: tuple[float, float], point: list[float]) -> tuple[float, float]:
    """Step from a corner towards a point, half the way at most."""
    x, y = point[0] - corner[0], point[1] - corner[1]
    length = abs(x) + abs(y)
    step = min(CORNER, length / 2) / length if length else 0
    return round(corner[0] + x * step, 1), round(corner[1] + y * step, 1)


def _arrow(points: list[list[float]]) -> str:
    (from_x, from_y), (x, y) = points[-2], points[-1]
    if abs(x - from_x) > abs(y - from_y):
        back = -7 if x > from_x else 7
        shape = f"M{x:g} {y:g}l{back} -4v8z"
    else:
        back = -7 if y > from_y else 7
        shape = f"M{x:g} {y:g}l-4 {back}h8z"
    return f'<path class="wfd-arrow" d="{shape}" fill="{WAY}"/>'


def _word(edge: Mapping[str, Any]) -> str:
    if not edge["label"] or "label_at" not in edge:
        return ""
    x, y = edge["label_at"]
    return (
        f'<text class="wfd-word" x="{x:g}" y="{y + 4:g}" text-anchor="middle" font-size="12" fill="{WORD}"'
        f' stroke="{PAPER}" stroke-width="4" paint-order="stroke">{xml_text(edge["label"])}</text>'
    )


def _node(node: Mapping[str, Any], state: str, told: bool) -> str:
    """Draw a step: shape, icon, title, and a badge where something became of it. What is not reached yet stays grey."""
    look = node["look"]
    colours = LIGHT[look]
    grey = told and state in ("", "todo", "skipped") and look != "start"
    line = WAY if grey else HERE if state in ("here", "again") else colours.line
    fill = PAPER if grey and look != "joint" else colours.fill
    shape = _shape(node, line if look != "joint" else fill, fill, state)
    if look == "joint":
        return f'<g class="wfd-node wfd-joint">{shape}</g>'
    classes = f"wfd-node wfd-{look}" + (f" wfd-is-{state}" if state else " wfd-is-todo" if told else "")
    step = f' data-step="{xml_text(node["step"])}"' if node["step"] else ""
    inside = _icon(node, colours.line) + _title(node, WORD if grey else colours.line) + _badge(node, state)
    return f'<g class="{classes}"{step}><title>{xml_text(node["title"])}</title>{shape}{inside}</g>'


def _shape(node: Mapping[str, Any], line: str, fill: str, state: str) -> str:
    x, y, w, h = (node[key] for key in ("x", "y", "width", "height"))
    width = 2.5 if state in ("here", "again") else 1.5
    dashes = ' stroke-dasharray="4 3"' if state == "skipped" else ""
    paint = f'class="wfd-shape" fill="{fill}" stroke="{line}" stroke-width="{width}"{dashes}'
    corners = _corners(node["look"], x, y, w, h)
    if corners:
        return f'<polygon {paint} points="{" ".join(f"{a:g},{b:g}" for a, b in corners)}"/>'
    radius = {"call": 3, "flow": 4, "joint": 4, "person": 9}.get(node["look"], h / 2)
    ring = _ring(node, line) if node["look"] == "wait" else ""
    return f'<rect {paint} x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius:g}"/>{ring}'


def _corners(look: str, x: float, y: float, w: float, h: float) -> tuple[tuple[float, float], ...]:
    """Return the corners of a shape that is no rectangle."""
    if look == "choice":
        left, right, middle = x + 12, x + w - 12, y + h / 2
        return (left, y), (right, y), (x + w, middle), (right, y + h), (left, y + h), (x, middle)
    return ((x + 10, y), (x + w, y), (x + w - 10, y + h), (x, y + h)) if look == "value" else ()


def _ring(node: Mapping[str, Any], line: str) -> str:
    """Draw the second line of a wait."""
    x, y, w, h = node["x"] + 3, node["y"] + 3, node["width"] - 6, node["height"] - 6
    return (
        f'<rect class="wfd-ring" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{h / 2:g}" fill="none"'
        f' stroke="{line}" stroke-width="1"/>'
    )


def _icon(node: Mapping[str, Any], colour: str) -> str:
    left = node["x"] + (22 if node["look"] in ("choice", "value") else 13)
    top = node["y"] + node["height"] / 2 - 8
    return (
        f'<g class="wfd-icon" transform="translate({left:g} {top:g}) scale(.6667)" fill="none" stroke="{colour}"'
        f' stroke-width="2" stroke-linecap="round" stroke-linejoin="round">{_icon_shape(node["icon"])}</g>'
    )


def _title(node: Mapping[str, Any], colour: str) -> str:
    left = node["x"] + (45 if node["look"] in ("choice", "value") else 36)
    base = node["y"] + node["height"] / 2 + 4.5
    text = shortened(node["title"])
    room = node["x"] + node["width"] - left - (25 if node["look"] in ("choice", "value") else 14)
    width = min(text_width(text, TEXT), room)
    fits = f' textLength="{width:.0f}" lengthAdjust="spacingAndGlyphs"'  # whatever font is there, whatever language
    words = f'x="{left:g}" y="{base:g}" font-weight="600" fill="{colour}"{fits}'
    return f'<text class="wfd-title" {words}>{xml_text(text)}</text>'


def _badge(node: Mapping[str, Any], state: str) -> str:
    if state not in BADGES:
        return ""
    colour, icon = BADGES[state]
    x, y = node["x"] + node["width"] - 3, node["y"] + 1
    return (
        f'<g class="wfd-badge"><circle class="wfd-halo" cx="{x:g}" cy="{y:g}" r="9.5" fill="{PAPER}"/>'
        f'<circle cx="{x:g}" cy="{y:g}" r="8" fill="{colour}"/><g transform="translate({x - 5:g} {y - 5:g}) scale(.4167)"'
        f' fill="none" stroke="#ffffff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round">'
        f"{_icon_shape(icon)}</g></g>"
    )


@cache
def _icon_shape(name: str) -> str:
    """Read the shapes of an icon; the files hold nothing else."""
    return get_template(f"icons/{name}.svg").render().strip()
