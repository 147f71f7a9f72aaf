"""Write a definition as an indented list of its steps: what a diagram says to those who do not see it, and in its place."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from engine.diagram.labels import xml_text
from engine.diagram.step_names import label_of, name_of, step_kind
from engine.diagram.text_width import text_width
from engine.kernel.language.step_lists import bodies

LINE, INDENT, TEXT = 20, 18, 13
WORDS = {
    "then": "yes",
    "else": "no",
    "default": "otherwise",
    "on_timeout": "time runs out",
    "finally": "always",
    "undo": "undo",
}


def outline_lines(canonical: Mapping[str, Any]) -> list[tuple[int, str]]:
    """List the steps with their depth, branches named."""
    return list(_lines(canonical["steps"], 0))


def outline_text(canonical: Mapping[str, Any]) -> str:
    """Write the outline as plain text."""
    return "\n".join("  " * depth + text for depth, text in outline_lines(canonical))


def _lines(steps: list[dict[str, Any]], depth: int) -> Iterator[tuple[int, str]]:
    for step in steps:
        yield depth, name_of(step) + _ways(step)
        for name, inner in bodies(step, step_kind(step)):
            if name != "steps":
                yield depth + 1, f"{WORDS.get(name) or label_of(name.rpartition('.')[0] or name)}:"
            yield from _lines(inner, depth + (1 if name == "steps" else 2))


def _ways(step: Mapping[str, Any]) -> str:
    """Return where a step jumps to, by the ids that the author wrote."""
    return "".join(f" → {label_of(way['to'])}" for way in step.get("next", ()))


def outline_svg(canonical: Mapping[str, Any]) -> str:
    """Draw the outline as a picture of text, until or in place of a diagram."""
    lines = outline_lines(canonical)
    width = max([240.0, *(depth * INDENT + text_width(text, TEXT) for depth, text in lines)]) + 32
    height = LINE * (len(lines) + 1) + 16
    title = xml_text(_("Steps of %(title)s") % {"title": canonical["title"]})
    texts = "".join(
        f'<text x="{16 + depth * INDENT}" y="{LINE * (number + 1) + 4}">{xml_text(text)}</text>'
        for number, (depth, text) in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="wfd" role="img" aria-label="{title}" width="{width:.0f}"'
        f' height="{height}" viewBox="0 0 {width:.0f} {height}"'
        f' font-family="Inter Variable, Inter, system-ui, sans-serif" font-size="{TEXT}">'
        f'<title>{title}</title><rect width="100%" height="100%" fill="#ffffff"/><g fill="#171c27">{texts}</g></svg>'
    )
