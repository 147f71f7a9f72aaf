"""Run an instance again from its audit: every turn as the kernel was told it, to the same snapshot.

Nothing is written and nobody is asked. The audit says what happened and what was answered; the definition is that of the
instance's version. Calendars and decorators are those of today.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from engine.conf import conf
from engine.extensions.decorators import decorator_named
from engine.kernel.effects import Slice
from engine.kernel.interpreter.run_to_wait import advance
from engine.kernel.json_text import read_json, write_json
from engine.kernel.signals import Environment, InstanceFacts, Json, Started, TaskReopened
from engine.kernel.snapshot import Snapshot
from engine.models import Instance, JournalRow
from engine.runtime.calendars import calendar_named
from engine.runtime.definition_cache import definition_of
from engine.runtime.environment import KIND, USUAL_STEPS, read_event


def replay(instance: Instance, *, until: int | None = None) -> dict[str, Json] | None:
    """Return the snapshot that an instance has, or had after an act, as it is stored; None where it had not begun, or began under
    a release that did not record what it was told.
    """
    stored: dict[str, Json] | None = None
    for turn in _turns(instance, until):
        stored = turn.after
    return stored


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of an instance, run again: what it found, what came of it, and what is stored since."""

    events: tuple[Any, ...]
    before: dict[str, Json] | None
    result: Slice
    after: dict[str, Json]


def last_turn(instance: Instance) -> Turn | None:
    """Return the last turn of an instance, run again; None where it cannot be."""
    last: Turn | None = None
    for turn in _turns(instance, None):
        last = turn
    return last


def _turns(instance: Instance, until: int | None) -> Iterator[Turn]:
    """Run the turns of an instance again, one after the other; none where the first was not recorded."""
    rows = JournalRow.objects.filter(subject_id=instance.pk, told__isnull=False).order_by("seq")
    stored: dict[str, Json] | None = None
    facts = _facts(instance)
    answered: dict[int, dict[str, Json]] = {}
    for row in rows if until is None else rows.filter(seq__lte=until):
        for said in read_json(row.told or "[]"):
            if stored is None and not _is_beginning(said):
                return
            facts = replace(facts, reference=said.get("reference", facts.reference))
            _note_answers(answered, stored, said)
            events = tuple(_known(read_event(told), instance, answered) for told in said["events"])
            result = _take_turn(instance, stored, facts, events, _environment(instance, row.at, said))
            before, stored = stored, read_json(write_json(result.snapshot.to_json()))
            yield Turn(events, before, result, stored)


def _note_answers(
    answered: dict[int, dict[str, Json]], stored: dict[str, Json] | None, said: Mapping[str, Json]
) -> None:
    """Keep what each answer found, for the event that reopens its task."""
    for told in said["events"]:
        if (
            stored is not None
            and told[KIND] == "TaskCompleted"
            and any(frame["n"] == told["token"] for frame in stored["frames"])
        ):
            answered[told["token"]] = stored


def _known(event: Any, instance: Instance, answered: Mapping[int, dict[str, Json]]) -> Any:
    """Return an event with what its record leaves out."""
    if isinstance(event, Started):
        return Started(instance.input)
    if isinstance(event, TaskReopened):
        return replace(event, before=answered[event.token])
    return event


def _is_beginning(said: Mapping[str, Json]) -> bool:
    return any(told[KIND] in ("Started", "CancelCase") for told in said["events"])


def _take_turn(
    instance: Instance, stored: Json, facts: InstanceFacts, events: Sequence[Any], environment: Environment
) -> Slice:
    snapshot = None if stored is None else Snapshot.from_json(stored)
    return advance(definition_of(instance.version_id), snapshot, facts, events, environment)


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
        perform=_answers(said.get("performed", ()), read_event),
        new_id=_answers(said.get("ids", ()), str),
        members=_answers(said.get("members", ()), list, nothing=()),
        manager=_answers(said.get("managers", ()), str),
        refuse_new_instance=_answers(said.get("refused", ()), tuple),
        decorator=decorator_named,
    )


def _answers(said: Any, read: Any, nothing: Any = None) -> Any:
    """Return the recorded answers in their order; where none was recorded the answer was nothing."""
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
