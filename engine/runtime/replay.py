"""Run an instance again from its audit: every turn as the kernel was told it, to the same snapshot.

Nothing is written and nobody is asked. The audit says what happened and what was answered; the definition is that of the
instance's version. Calendars and decorators are those of today.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from engine.conf import conf
from engine.extensions.decorators import decorator_named
from engine.kernel.effects import Slice
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.json_text import read_json, write_json
from engine.kernel.signals import Environment, InstanceFacts, Json, Started
from engine.kernel.snapshot import Snapshot
from engine.models import Instance, JournalRow
from engine.runtime.calendars import calendar_named
from engine.runtime.definition_cache import definition_of
from engine.runtime.environment import KIND, USUAL_STEPS, event_of


def replay(instance: Instance, *, until: int | None = None) -> dict[str, Json] | None:
    """Return the snapshot that an instance has, or had after an act, as it is stored; None where it had not begun, or began under
    a release that did not record what it was told.
    """
    rows = JournalRow.objects.filter(subject_id=instance.pk, told__isnull=False).order_by("seq")
    stored: dict[str, Json] | None = None
    facts = _facts(instance)
    for row in rows if until is None else rows.filter(seq__lte=until):
        for said in read_json(row.told or "[]"):
            if stored is None and not _is_beginning(said):
                return None
            facts = replace(facts, reference=said.get("reference", facts.reference))
            stored = read_json(write_json(_take_turn(instance, stored, facts, row.at, said).snapshot.to_json()))
    return stored


def _is_beginning(said: Mapping[str, Json]) -> bool:
    return any(told[KIND] in ("Started", "CancelCase") for told in said["events"])


def _take_turn(instance: Instance, stored: Json, facts: InstanceFacts, at: datetime, said: Mapping[str, Json]) -> Slice:
    snapshot = None if stored is None else Snapshot.from_json(stored)
    events = [event_of(told) for told in said["events"]]
    events = [Started(instance.input) if isinstance(event, Started) else event for event in events]
    return advance(definition_of(instance.version_id), snapshot, facts, events, _environment(instance, at, said))


def _facts(instance: Instance) -> InstanceFacts:
    return InstanceFacts(
        str(instance.pk),
        instance.template.name,
        instance.version.number,
        instance.started_by_name or None,
        instance.started_at,
    )


def _environment(instance: Instance, at: datetime, said: Mapping[str, Json]) -> Environment:
    let_in = set(said.get("let_in", ()))
    return Environment(
        now=at,
        max_steps=said.get("steps", USUAL_STEPS),
        stop=_stop_after(said.get("looks")),
        largest=conf.largest_state,
        weight=said.get("weight", 0),
        calendar=partial(calendar_named, instance.tenant_id),
        admit=_answers(said.get("admitted", ()), datetime.fromisoformat),
        has_place=let_in.__contains__,
        perform=_answers(said.get("performed", ()), event_of),
        new_id=_answers(said.get("ids", ()), str),
        members=_answers(said.get("members", ()), list, nothing=()),
        manager=_answers(said.get("managers", ()), str),
        refuse_new_instance=_answers(said.get("refused", ()), tuple),
        decorator=decorator_named,
    )


def _answers(said: Any, read: Any, nothing: Any = None) -> Any:
    """Give the recorded answers in their order; where none was recorded the answer was nothing."""
    left = iter(said)

    def answer(*asked: Any) -> Any:
        found = next(left, None)
        return nothing if found is None else read(found)

    return answer


def _stop_after(looks: int | None) -> Any:
    """Stop at the look at which the slice was stopped; None: never."""
    if looks is None:
        return None
    left = iter(range(looks - 1))
    return lambda: next(left, None) is None
