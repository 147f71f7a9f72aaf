"""Check and complete the head of a template: triggers, that there are steps, and the roles of tasks that name nobody.

`trigger` decides: what the author leaves away follows from `event` and `schedule`; what contradicts them is an error, so that
one look at the head says how instances begin. `roles` are written into every task that names neither roles nor people,
so that the canonical form names the candidates of each task.
"""

from collections.abc import Mapping

from engine.kernel.language.reading.nodes import Reading
from engine.kernel.language.source import Node
from engine.kernel.language.step_shapes import TASK
from engine.kernel.signals import Json

BY_KEY = {"event": "event", "schedule": "scheduled"}
"""The key of the head that says when, and the trigger that it belongs to."""
WHOSE = frozenset({"roles", "users", "assignee"})


def settle_head(reading: Reading, document: Node, head: dict[str, Json]) -> None:
    """Write out what follows from the rest of the head, and refuse what contradicts itself."""
    given = [key for key in BY_KEY if key in (document.entries or {})]
    _check_trigger(reading, document, head.get("trigger"), given)
    head.setdefault("trigger", BY_KEY[given[0]] if given else "manual")
    _check_steps(reading, document)
    _offer_to_roles(reading, head)


def _check_trigger(reading: Reading, document: Node, trigger: Json, given: list[str]) -> None:
    wrong = next((key for key in given if trigger is not None and BY_KEY[key] != trigger), None)
    if wrong is not None:
        text = f"`trigger: {trigger}` contradicts `{wrong}`: instances start in one way"
        hint = f"trigger: {BY_KEY[wrong]}, or leave `{wrong}` away"
        reading.error(_node(document, "trigger"), "trigger_contradicts", text, "trigger", hint)
    elif len(given) > 1:
        text = "`event` and `schedule` contradict each other: instances start in one way"
        hint = "two templates, which start a third as their child"
        reading.error(_node(document, given[1]), "trigger_contradicts", text, given[1], hint)
    elif trigger == "event" and not given:
        text = "`trigger: event` needs an `event` that says which"
        reading.error(_node(document, "trigger"), "trigger_contradicts", text, "trigger", "event: {name: order_paid}")


def _check_steps(reading: Reading, document: Node) -> None:
    """Refuse a template that does nothing: its instances would be over before anybody saw them."""
    node = _node(document, "steps")
    empty = node.items == [] or (node.items is None and node.entries is None and node.scalar is None)
    if "steps" in (document.entries or {}) and empty:
        reading.error(node, "no_steps", "a workflow needs at least one step", "steps", "steps: [{id: …, task: {…}}]")


def _offer_to_roles(reading: Reading, head: Mapping[str, Json]) -> None:
    """Offer tasks that name nobody to the roles of the head."""
    roles = head.get("roles")
    for step in reading.steps.values() if roles else ():
        task = step.spec.get("task")
        if isinstance(task, dict) and not WHOSE & set(task):
            whole = {**task, "roles": roles}
            step.spec["task"] = {key: whole[key] for key in TASK.fields if key in whole}


def _node(document: Node, key: str) -> Node:
    return (document.entries or {}).get(key, (document, document))[1]
