"""Human tasks: everything people see of one, and what their answer means."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engine.kernel.effects import Closing, OpenTask, Outcome, WaitKind
from engine.kernel.errors import expression_error
from engine.kernel.machine.expression_scope import Names, With
from engine.kernel.machine.four_eyes import START, barred, children_named, remember_person
from engine.kernel.machine.machine import COMPLETED, Machine, moment_of
from engine.kernel.machine.redoable import note_answered
from engine.kernel.machine.step_start import due_on_calendar
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.machine.task_timers import watch_task
from engine.kernel.program import Step
from engine.kernel.signals import Json, TaskCompleted
from engine.kernel.snapshot import Frame, copied
from engine.kernel.tasks.rules import AskRule, ChecklistPoint, FileRules, FourEyesRule, TaskRules
from engine.kernel.timing.periods import is_period, parse_period, spell_moment


def _task(machine: Machine, frame: Frame, step: Step) -> None:
    """Open a human task and wait."""
    leaf = machine.wait(frame, WaitKind.TASK, task=describe_task(machine, frame, step))
    opened = machine.opened[leaf.n].task
    watch_task(machine, frame, leaf, step.body, opened.sla_at if opened else None)


def describe_task(machine: Machine, frame: Frame, step: Step) -> OpenTask:
    """Compute everything that people will see of a task."""
    names, task = machine.names(frame), step.body
    return OpenTask(
        title=_text(task, "title", names) or _text(step.spec, "title", names) or step.id.replace("_", " ").capitalize(),
        description=_text(task, "description", names),
        instructions=_text(task, "instructions", names),
        type=_text(task, "type", names),
        route=_text(task, "route", names),
        roles=_people(task, "roles", names),
        users=_people(task, "users", names),
        assignee=_person(task, names),
        min_level=task.get("min_level", 4),
        form=copied(task.get("form", {})),
        outcomes=_outcomes(task),
        payload=_computed(task, "payload", names) or {},
        columns=_computed(task, "columns", names) or {},
        comment=task["comment"],
        priority=_text(task, "priority", names) or "normal",
        due_at=_due(machine, task, "due", names),
        follow_up_at=_due(machine, task, "follow_up", names),
        excluded=_excluded(machine, frame, step),
        familiar=_who_did(machine, names, task.get("same_as", ())),
        sla_at=_due(machine, task, "sla", names),
        rules=_rules(machine, step, names),
    )


def _rules(machine: Machine, step: Step, names: Names) -> TaskRules:
    task = step.body
    return TaskRules(
        allow=tuple(task.get("allow") or ()),
        draft=task.get("draft", True),
        assign_by=task.get("assign_by"),
        wip_limit=task.get("wip_limit"),
        files=FileRules.from_json(task["attachments"]) if "attachments" in task else None,
        four_eyes=_four_eyes(machine, step),
        not_inside=tuple(children_named(machine.definition, step)),
        checklist=tuple(_point(place, point, names) for place, point in enumerate(task.get("checklist", ()))),
        several="complete_when" in task,
        secure=task.get("secure", False),
        ask=AskRule(ask.get("at_most")) if (ask := task.get("ask") or {}).get("pause") else None,
        undo=_seconds(task.get("undo", machine.definition.canonical.get("undo"))),
    )


def _four_eyes(machine: Machine, step: Step) -> FourEyesRule | None:
    steps = machine.definition.four_eyes.get(step.id)
    return None if steps is None else FourEyesRule(START in step.body["not_same_as"], tuple(steps))


def _seconds(period: str | None) -> float | None:
    """Return the length of a plain duration; whole seconds as a whole number."""
    if period is None:
        return None
    found = parse_period(period).length.total_seconds()
    return int(found) if found.is_integer() else found


def _point(place: int, point: Mapping[str, Any], names: Names) -> ChecklistPoint:
    """Return a point of a checklist; without an id it goes by its place."""
    return ChecklistPoint(point.get("id") or f"point_{place + 1}", _text(point, "title", names), point["required"])


def _computed(spec: Mapping[str, Any], key: str, names: Names) -> Json:
    return spec[key].of(names) if key in spec else None


def _text(spec: Mapping[str, Any], key: str, names: Names) -> str:
    if key not in spec:
        return ""
    found = spec[key].of(names)
    return "" if found is None else found if isinstance(found, str) else str(found)


def _people(task: Mapping[str, Any], key: str, names: Names) -> tuple[str, ...]:
    if key not in task:
        return ()
    found = task[key].of(names)
    listed = found if isinstance(found, list) else [found]
    if not all(item is None or isinstance(item, str) for item in listed):
        raise expression_error(f"`{key}` of a task must be names")
    return tuple(dict.fromkeys(item for item in listed if item))


def _person(task: Mapping[str, Any], names: Names) -> str | None:
    found = _computed(task, "assignee", names)
    if found is not None and not isinstance(found, str):
        raise expression_error("`assignee` of a task must be a name")
    return found or None


def _outcomes(task: Mapping[str, Any]) -> tuple[Outcome, ...]:
    given = task.get("outcomes")
    if not given:
        return DONE
    return tuple(
        Outcome(
            one["name"],
            one["title"],
            one["reject"],
            one.get("comment"),
            one.get("secure", False),
            _seconds(one.get("undo")),
        )
        for one in given
    )


DONE = (Outcome("done", "Done"),)
"""The default outcomes of a task."""


def _excluded(machine: Machine, frame: Frame, step: Step) -> tuple[str, ...]:
    """Return the people whom four eyes exclude: by the task's own rule, and by one that names a step around it."""
    own = barred(machine.definition, machine.people, machine.facts.started_by, step)
    around = (name for found in machine.upward(frame) for name in found.barred or ())
    return tuple(dict.fromkeys((*own, *around)))


def _due(machine: Machine, task: Mapping[str, Any], key: str, names: Names) -> datetime | None:
    found = _computed(task, key, names)
    if found is None:
        return None
    if isinstance(found, str) and is_period(found):
        calendar = task.get("calendar") or machine.definition.canonical.get("calendar")
        return due_on_calendar(machine, found, key, calendar)
    return moment_of(found, key)


def _who_did(machine: Machine, names: Names, steps: list[str]) -> tuple[str, ...]:
    """Return the people who started the instance or completed these tasks."""
    if not steps:
        return ()
    results = names.lookup("result")
    found = [machine.facts.started_by if step == "start" else _by(results.get(step)) for step in steps]
    return tuple(dict.fromkeys(person for person in found if person))


def _by(result: Json) -> str | None:
    return result.get("by") if isinstance(result, dict) else None


def _answered(machine: Machine, frame: Frame, leaf: Frame, event: TaskCompleted) -> bool:
    """Take a person's answer: the task's only one, or one of several."""
    step = machine.step_of(frame)
    answer = _record(machine, event)
    if "complete_when" in step.body:
        return _one_of_several(machine, frame, leaf, answer, event.stood_in_for)
    for name in (event.by, event.stood_in_for, *event.prepared_by):
        remember_person(machine, step.id, name)
    _receive(machine, answer)
    note_answered(machine, frame, step)
    machine.close(leaf, Closing.ANSWERED)
    machine.finish(frame, COMPLETED, answer)
    return True


def _record(machine: Machine, event: TaskCompleted) -> dict[str, Json]:
    return {
        **event.values,
        "outcome": event.outcome,
        "by": event.by,
        "at": spell_moment(machine.now),
        "comment": event.comment,
        "expired": False,
    }


def _receive(machine: Machine, answer: dict[str, Json]) -> None:
    machine.received["task"] = answer
    machine.touch()


def _one_of_several(
    machine: Machine, frame: Frame, leaf: Frame, answer: dict[str, Json], stood_in_for: str | None
) -> bool:
    """Add one person's answer; each answers once, until the condition holds. A deputy's answer is the absent person's."""
    frame.more = frame.more or {"answers": []}
    answers, deputies = frame.more["answers"], dict(frame.more.get("deputies", {}))
    answered = {given["by"] for given in answers} | set(deputies.values())
    if not answered.isdisjoint({answer["by"], stood_in_for} - {None}):
        return False
    for name in (answer["by"], stood_in_for):
        remember_person(machine, frame.step, name)
    if stood_in_for:
        frame.more["deputies"] = {**deputies, str(answer["by"]): stood_in_for}
    _receive(machine, answer)
    answers.append(answer)
    if _complete(machine, frame, answers):
        note_answered(machine, frame, machine.step_of(frame))
        machine.close(leaf, Closing.ANSWERED)
        machine.finish(frame, COMPLETED, {"answers": copied(answers)})
    return True


def _complete(machine: Machine, frame: Frame, answers: list[dict[str, Json]]) -> bool:
    task = machine.step_of(frame).body
    rejecting = {outcome.name for outcome in _outcomes(task) if outcome.reject}
    deputies = (frame.more or {}).get("deputies", {})
    answered = {deputies.get(str(answer["by"]), str(answer["by"])) for answer in answers}
    asked = _asked(machine, frame) | answered
    names = {
        "done": len(answers),
        "failed": sum(answer["outcome"] in rejecting for answer in answers),
        "open": len(asked - answered),
        "total": len(asked),
        "results": answers,
    }
    return bool(task["complete_when"].holds(With(machine.names(frame), names)))


def _asked(machine: Machine, frame: Frame) -> set[str]:
    """Return the people who may answer now: those named and the roles' active members, less those whom four eyes exclude."""
    step, names = machine.step_of(frame), machine.names(frame)
    found, roles = set(_people(step.body, "users", names)), _people(step.body, "roles", names)
    if roles and machine.environment.members is not None:
        found |= set(machine.environment.members(roles, step.body.get("min_level", 4)))
    return found - set(barred(machine.definition, machine.people, machine.facts.started_by, step))


def _expired(machine: Machine, frame: Frame, step: Step) -> Json:
    """Return the answer that an expired task has: the author's, or none."""
    base = {"outcome": None, "by": None, "at": spell_moment(machine.now), "comment": None, "expired": True}
    if "on_expire" not in step.body:
        return base
    given = step.body["on_expire"].of(machine.names(frame))
    return {**base, "outcome": _outcomes(step.body)[0].name, **given}


def _so_far(_machine: Machine, frame: Frame, _step: Step) -> Json:
    answers = (frame.more or {}).get("answers")
    return None if answers is None else {"answers": copied(answers)}


KINDS.update({"task": Kind(_task, answered=_answered, expired=_expired, so_far=_so_far)})
