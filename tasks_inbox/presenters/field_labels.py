"""Show records under the labels and in the order in which their author asked for them."""

from collections.abc import Mapping
from typing import Any

from engine.kernel.signals import Json
from engine.models import Instance, Task, TemplateVersion
from engine.presentation.forms.values import Fact, facts_of


def input_schema_of(version: TemplateVersion) -> Mapping[str, Any]:
    """Return the schema of a version's start form."""
    schema: Mapping[str, Any] = (version.canonical or {}).get("input") or {}
    return schema


def began_with(instance: Instance, version: TemplateVersion) -> list[Fact]:
    """Show what an instance was started with."""
    return _asked(instance.input, input_schema_of(version))


def answer_of(task: Task) -> list[Fact]:
    """Show what a task was answered with."""
    return _asked(task.answer, task.form or {})


def state_of(instance: Instance) -> list[Fact]:
    """Show the business data of an instance as it is now: what the author declared first, named as at the start."""
    asked = input_schema_of(instance.version).get("properties") or {}
    return facts_of(in_schema_order(instance.state, (instance.version.canonical or {}).get("state")), asked)


def _asked(record: Json, schema: Mapping[str, Any]) -> list[Fact]:
    asked = schema.get("properties") or {}
    return facts_of(in_schema_order(record, asked), asked)


def in_schema_order(record: Json, written: Json) -> Json:
    """Return a record with its keys in the order of the schema; other keys come last."""
    if not isinstance(record, dict) or not isinstance(written, Mapping):
        return record
    keys = [key for key in written if key in record] + [key for key in record if key not in written]
    return {key: record[key] for key in keys}
