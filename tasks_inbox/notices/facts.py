"""What a message shows of a task or case: a few facts, none that its author marked as confidential."""

from dataclasses import dataclass
from typing import Any

from engine.models import Instance, Task
from engine.presentation.forms.values import Fact, facts_of
from engine.services.notifications.audience import Item
from tasks_inbox.presenters.field_labels import in_schema_order, input_schema_of

MOST_FACTS = 6
CONFIDENTIAL = "x-confidential"


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """The facts of a message, and whether some were left out because they are confidential."""

    facts: tuple[Fact, ...] = ()
    left_out: bool = False


def facts_for_message(item: Item) -> ShownFacts:
    """Return the facts that a message may show."""
    if item.task is not None:
        return task_facts(item.task)
    return case_facts(item.instance) if item.instance is not None else ShownFacts()


def task_facts(task: Task) -> ShownFacts:
    """Show what the author gives along with a task, else what the case was started with."""
    asked = dict(input_schema_of(task.version).get("properties") or {})
    asked |= dict((task.form or {}).get("properties") or {})
    given = task.payload if isinstance(task.payload, dict) and task.payload else None
    return _shown(given if given is not None else in_schema_order(task.instance.input, asked), asked)


def case_facts(instance: Instance) -> ShownFacts:
    """Show what a case was started with."""
    asked = dict(input_schema_of(instance.version).get("properties") or {})
    return _shown(in_schema_order(instance.input, asked), asked)


def _shown(record: Any, asked: dict[str, Any]) -> ShownFacts:
    if not isinstance(record, dict):
        return ShownFacts()
    hidden = {key for key, schema in asked.items() if isinstance(schema, dict) and schema.get(CONFIDENTIAL)}
    known = {key: value for key, value in record.items() if key not in hidden and value is not None}
    plain = [fact for fact in facts_of(known, asked) if not fact.rows]
    return ShownFacts(tuple(plain[:MOST_FACTS]), bool(hidden & record.keys()))
