"""Give forms and facts the order in which their author wrote them.

The database keeps JSON objects without the order of their keys; the version's source still has it. An activated
version never changes, so each source is read once a process.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from engine.kernel.signals import Json
from engine.kernel.source import SourceRefused, read_documents
from engine.models import Instance, Task, TemplateVersion
from tasks_inbox.values import Fact, facts_of


@lru_cache(maxsize=256)
def _document(version_id: UUID, revision: int, source: str) -> Mapping[str, Any]:
    try:
        documents = read_documents(source)
    except SourceRefused:
        return {}
    found = documents[0].plain() if documents else None
    return found if isinstance(found, dict) else {}


def document_of(version: TemplateVersion) -> Mapping[str, Any]:
    """Read what the author wrote, keys in their order."""
    return _document(version.pk, version.revision, version.source)


def in_order(value: Json, written: Json) -> Json:
    """Return a value whose objects list their keys as they were written; unwritten keys come last."""
    if not isinstance(value, dict):
        return value
    authored = written if isinstance(written, Mapping) else {}
    keys = [key for key in authored if key in value] + [key for key in value if key not in authored]
    return {key: in_order(value[key], authored.get(key)) for key in keys}


def input_schema_of(version: TemplateVersion) -> Mapping[str, Any]:
    """Return the start form's schema in its author's order."""
    schema: Mapping[str, Any] = in_order(
        (version.canonical or {}).get("input") or {}, document_of(version).get("input")
    )
    return schema


def began_with(instance: Instance, version: TemplateVersion) -> list[Fact]:
    """Show what an instance was started with, under the start form's labels and in its order."""
    asked = input_schema_of(version).get("properties") or {}
    return facts_of(in_order(instance.input, asked), asked)


def part_of_task(task: Task, part: str) -> Json:
    """Return a task's form, payload or columns in the author's order."""
    return in_order(getattr(task, part), _task_named(task, document_of(task.version)).get(part))


def _task_named(task: Task, written: Mapping[str, Any]) -> Mapping[str, Any]:
    for step in _steps_in(written):
        if step.get("id") == task.step and isinstance(step.get("task"), Mapping):
            found: Mapping[str, Any] = step["task"]
            return found
    return {}


def _steps_in(value: Json) -> Iterator[Mapping[str, Any]]:
    """Walk every object of the document; steps are among them."""
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _steps_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _steps_in(inner)
