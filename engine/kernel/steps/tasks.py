"""Human tasks: everything people see of one, and what their answer means."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engine.kernel.effects import Closing, OpenTask, Outcome, WaitKind
from engine.kernel.errors import expression_error
from engine.kernel.machine.expression_scope import Names, With
from engine.kernel.machine.four_eyes import START, barred, children_named, remember_person
from engine.kernel.machine.machine import COMPLETED, Machine, moment_of
from engine.kernel.machine.step_start import later_at_work
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.machine.task_timers import watch_task
from engine.kernel.program import Step
from engine.kernel.signals import Json, TaskCompleted
from engine.kernel.snapshot import Frame, copied
from engine.kernel.timing.periods import is_period, spell_moment


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
        extra=_extra(machine, step, names),
    )


_EXTRA = frozenset(["allow", "draft", "assign_by", "wip_limit", "attachments"])
"""Attributes that only the inbox reads; they hold no expressions."""


def _extra(machine: Machine, step: Step, names: Names) -> dict[str, Json]:
    task = step.body
    found = {key: copied(value) for key, value in task.items() if key in _EXTRA}
    if step.id in machine.definition.four_eyes:
        found["four_eyes"] = {
            "start": START in task["not_same_as"],
            "steps": list(machine.definition.four_eyes[step.id]),
        }
    if children := children_named(machine.definition, step):
        found["not_inside"] = list(children)
    if "checklist" in task:
        found["checklist"] = [_check(place, point, names) for place, point in enumerate(task["checklist"])]
    return {**found, "several": True} if "complete_when" in task else found


def _check(place: int, point: Mapping[str, Any], names: Names) -> dict[str, Json]:
    """Give a point of a checklist; without an id it goes by its place."""
    title = _text(point, "title", names)
    return {"id": point.get("id") or f"point_{place + 1}", "title": title, "required": point["required"]}


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
    return tuple(Outcome(one["name"], one["title"], one["reject"], one.get("comment")) for one in given)


DONE = (Outcome("done", "Done"),)
"""What a task can be answered with where its author named nothing."""


def _excluded(machine: Machine, frame: Frame, step: Step) -> tuple[str, ...]:
    """Name whom four eyes bar: by the task's own rule, and by one that names a step around it."""
    own = barred(machine.definition, machine.people, machine.facts.started_by, step)
    around = (name for found in machine.upward(frame) for name in found.barred or ())
    return tuple(dict.fromkeys((*own, *around)))


def _due(machine: Machine, task: Mapping[str, Any], key: str, names: Names) -> datetime | None:
    found = _computed(task, key, names)
    if found is None:
        return None
    if isinstance(found, str) and is_period(found):
        calendar = task.get("calendar") or machine.definition.canonical.get("calendar")
        return later_at_work(machine, found, key, calendar)
    return moment_of(found, key)


def _who_did(machine: Machine, names: Names, steps: list[str]) -> tuple[str, ...]:
    """Name the people who started the case or completed these tasks."""
    if not steps:
        return ()
    results = names.lookup("result")
    found = [machine.facts.started_by if step == "start" else _by(results.get(step)) for step in steps]
    return tuple(dict.fromkeys(person for person in found if person))


def _by(result: Json) -> str | None:
    return result.get("by") if isinstance(result, dict) else None


def _answered(machine: Machine, frame: Frame, leaf: Frame, happening: TaskCompleted) -> bool:
    """Take a person's answer: the task's only one, or one of several."""
    step = machine.step_of(frame)
    answer = _record(machine, happening)
    if "complete_when" in step.body:
        return _one_of_several(machine, frame, leaf, answer)
    remember_person(machine, step.id, happening.by)
    _receive(machine, answer)
    machine.close(leaf, Closing.ANSWERED)
    machine.finish(frame, COMPLETED, answer)
    return True


def _record(machine: Machine, happening: TaskCompleted) -> dict[str, Json]:
    return {
        **happening.values,
        "outcome": happening.outcome,
        "by": happening.by,
        "at": spell_moment(machine.now),
        "comment": happening.comment,
        "expired": False,
    }


def _receive(machine: Machine, answer: dict[str, Json]) -> None:
    machine.received["task"] = answer
    machine.touch()


def _one_of_several(machine: Machine, frame: Frame, leaf: Frame, answer: dict[str, Json]) -> bool:
    """Add one person's answer; each answers once, until the condition holds."""
    frame.more = frame.more or {"answers": []}
    answers = frame.more["answers"]
    if any(given["by"] == answer["by"] for given in answers):
        return False
    remember_person(machine, frame.step, answer["by"])
    _receive(machine, answer)
    answers.append(answer)
    if _complete(machine, frame, answers):
        machine.close(leaf, Closing.ANSWERED)
        machine.finish(frame, COMPLETED, {"answers": copied(answers)})
    return True


def _complete(machine: Machine, frame: Frame, answers: list[dict[str, Json]]) -> bool:
    task = machine.step_of(frame).body
    rejecting = {outcome.name for outcome in _outcomes(task) if outcome.reject}
    answered = {str(answer["by"]) for answer in answers}
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
    """Name everybody who may answer now: the people named and the roles' active members, but for whom four eyes bar."""
    step, names = machine.step_of(frame), machine.names(frame)
    found, roles = set(_people(step.body, "users", names)), _people(step.body, "roles", names)
    if roles and machine.lent.members is not None:
        found |= set(machine.lent.members(roles, step.body.get("min_level", 4)))
    return found - set(barred(machine.definition, machine.people, machine.facts.started_by, step))


def _expired(machine: Machine, frame: Frame, step: Step) -> Json:
    """Give the answer that an expired task has: the author's, or none."""
    base = {"outcome": None, "by": None, "at": spell_moment(machine.now), "comment": None, "expired": True}
    if "on_expire" not in step.body:
        return base
    given = step.body["on_expire"].of(machine.names(frame))
    return {**base, "outcome": _outcomes(step.body)[0].name, **given}


def _so_far(_machine: Machine, frame: Frame, _step: Step) -> Json:
    answers = (frame.more or {}).get("answers")
    return None if answers is None else {"answers": copied(answers)}


KINDS.update({"task": Kind(_task, answered=_answered, expired=_expired, so_far=_so_far)})
