"""Find the lines of each step in a document, so that an editor can go from the diagram to the line and back."""

from contextlib import suppress
from dataclasses import dataclass

import engine.kernel.language.reading.steps as _step_readers
import engine.kernel.language.reading.tasks as _task_readers
from engine.kernel.language.reading.nodes import Enough, Reading, read_shape
from engine.kernel.language.shapes import HEAD
from engine.kernel.language.source import Node, SourceRefused, read_documents

assert _step_readers.READERS_READY
assert _task_readers.READERS_READY


@dataclass(frozen=True, slots=True)
class Place:
    """The lines of a step, from its first to its last."""

    line: int
    last: int


def step_places(source: str) -> dict[str, Place]:
    """Return the lines of every step by its id, as far as the document can be read."""
    try:
        documents = read_documents(source)
    except SourceRefused:
        return {}
    reading = Reading(allow_not_yet=True)
    with suppress(Enough):
        if len(documents) == 1:
            read_shape(reading, documents[0], HEAD, "")
    return {step.id: Place(step.node.line, _last_line(step.node)) for step in reading.steps.values()}


def _last_line(node: Node) -> int:
    inner = [value for _, value in (node.entries or {}).values()] + (node.items or [])
    return max([node.line, *(_last_line(one) for one in inner)])
