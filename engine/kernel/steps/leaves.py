"""Steps without a body: they write, wait or ask the outside."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engine.kernel.attributes import finish, later, period_of
from engine.kernel.definition import Step
from engine.kernel.effects import Change, Closing, ErrorRecord, MakeCall, OpenTask, Outcome, WaitKind
from engine.kernel.errors import business_error, expression_error
from engine.kernel.machine import COMPLETED, FAILED, Machine, moment_of
from engine.kernel.periods import is_period, spell_moment
from engine.kernel.scope import Names
from engine.kernel.signals import CallFailed, CallSucceeded, Json, TaskCompleted, TimerDue
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.table import KINDS, Kind

PATIENCE = 30.0
"""Seconds that an attempt of a call has when nobody said more."""


def _set(machine: Machine, frame: Frame, step: Step) -> None:
    """Write business state; all values see the state before it."""
    values = step.body.of(machine.names(frame))
    if step.spec.get("if_present"):
        values = {key: value for key, value in values.items() if value is not None}
    write_state(machine, frame, values)
    finish(machine, frame, COMPLETED)


def write_state(machine: Machine, frame: Frame, values: Mapping[str, Json]) -> None:
    """Replace keys of state; a dotted key sets inside an object."""
    state = machine.state_of(frame)
    seen = machine.names(frame).lookup("state")
    for key, value in values.items():
        top, *inner = key.split(".")
        old = seen.get(top)
        new = set_inside(state.get(top, old), inner, value)
        machine.changes.append(Change(frame.n, frame.step or "", top, old, copied(new)))
        state[top] = new
    machine.touch()


def set_inside(value: Json, path: list[str], new: Json) -> Json:
    """Give a copy of an object with one inner value replaced."""
    if not path:
        return new
    if value is not None and not isinstance(value, dict):
        raise expression_error(f"state has no object where `{path[0]}` is to be set")
    return {**(value or {}), path[0]: set_inside((value or {}).get(path[0]), path[1:], new)}


def _wait(machine: Machine, frame: Frame, step: Step) -> None:
    """Open a durable timer."""
    names = machine.names(frame)
    if "for" in step.body:
        due = later(machine, step.body["for"].of(names), "wait.for")
    else:
        due = moment_of(step.body["until"].of(names), "wait.until")
    machine.wait(frame, WaitKind.TIMER, due=due)


def _timer_rang(machine: Machine, frame: Frame, leaf: Frame, _happening: TimerDue) -> None:
    machine.close(leaf, Closing.ANSWERED)
    finish(machine, frame, COMPLETED)


def _task(machine: Machine, frame: Frame, step: Step) -> None:
    """Open a human task and wait."""
    machine.wait(frame, WaitKind.TASK, task=describe_task(machine, frame, step))


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
        excluded=_who_did(machine, names, task.get("not_same_as", ())),
        familiar=_who_did(machine, names, task.get("same_as", ())),
        extra={key: value.of(names) for key, value in task.items() if key in _EXTRA},
    )


_EXTRA = frozenset(
    ["sla", "remind", "escalate", "assign_by", "wip_limit", "allow", "draft", "attachments", "checklist", "notify"]
)


def _computed(spec: Mapping[str, Any], key: str, names: Names) -> Json:
    return spec[key].of(names) if key in spec else None


def _text(spec: Mapping[str, Any], key: str, names: Names) -> str:
    found = _computed(spec, key, names)
    return "" if found is None else found if isinstance(found, str) else str(found)


def _people(task: Mapping[str, Any], key: str, names: Names) -> tuple[str, ...]:
    found = _computed(task, key, names)
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
    given = task.get("outcomes") or [{"name": "done", "title": "Done", "reject": False}]
    return tuple(Outcome(one["name"], one["title"], one["reject"], one.get("comment")) for one in given)


def _due(machine: Machine, task: Mapping[str, Any], key: str, names: Names) -> datetime | None:
    found = _computed(task, key, names)
    if found is None:
        return None
    if isinstance(found, str) and is_period(found):
        return period_of(found, key).after(machine.now)
    return moment_of(found, key)


def _who_did(machine: Machine, names: Names, steps: list[str]) -> tuple[str, ...]:
    """Name the people who started the case or completed these tasks."""
    results = names.lookup("result")
    found = [machine.facts.started_by if step == "start" else _by(results.get(step)) for step in steps]
    return tuple(dict.fromkeys(person for person in found if person))


def _by(result: Json) -> str | None:
    return result.get("by") if isinstance(result, dict) else None


def _task_answered(machine: Machine, frame: Frame, leaf: Frame, happening: TaskCompleted) -> None:
    answer = {
        **copied(dict(happening.values)),
        "outcome": happening.outcome,
        "by": happening.by,
        "at": spell_moment(machine.now),
        "comment": happening.comment,
        "expired": False,
    }
    machine.received["task"] = answer
    machine.touch()
    machine.close(leaf, Closing.ANSWERED)
    finish(machine, frame, COMPLETED, answer)


def _task_expired(machine: Machine, frame: Frame, step: Step) -> Json:
    """Give the answer that an expired task has: the author's, or none."""
    base = {"outcome": None, "by": None, "at": spell_moment(machine.now), "comment": None, "expired": True}
    if "on_expire" not in step.body:
        return base
    given = step.body["on_expire"].of(machine.names(frame))
    return {**base, "outcome": _outcomes(step.body)[0].name, **given}


def _call(machine: Machine, frame: Frame, step: Step) -> None:
    """Commit the intent of an outside call and wait for what comes of it."""
    names = machine.names(frame)
    transport = next(key for key in step.body if key not in ("into", "key"))
    request = _request(step.body[transport], names)
    key = _text(step.body, "key", names) or f"{machine.facts.id}:{step.path}{machine.iteration(frame)}"
    patience = _patience(machine, frame, step)
    call = MakeCall(transport, request, key, frame.attempt, patience)
    machine.wait(frame, WaitKind.CALL, due=later(machine, f"PT{patience:g}S", "call"), call=call)


def _request(spec: Mapping[str, Any], names: Names) -> dict[str, Json]:
    return {key: value.of(names) if hasattr(value, "of") else value for key, value in spec.items()}


def _patience(machine: Machine, frame: Frame, step: Step) -> float:
    if "timeout" not in step.spec:
        return PATIENCE
    whole = period_of(step.spec["timeout"].of(machine.names(frame)), "timeout").length.total_seconds()
    return max(min(whole, 3600.0), 0.001)


def _call_answered(machine: Machine, frame: Frame, leaf: Frame, happening: CallSucceeded | CallFailed) -> None:
    machine.close(leaf, Closing.ANSWERED)
    CALL_ANSWERS[type(happening)](machine, frame, happening)


def _call_succeeded(machine: Machine, frame: Frame, happening: CallSucceeded) -> None:
    finish(machine, frame, COMPLETED, copied(happening.value))


def _call_failed(machine: Machine, frame: Frame, happening: CallFailed) -> None:
    error = ErrorRecord(
        happening.error_class, happening.code, happening.message, frame.step, frame.attempt, copied(happening.value)
    )
    finish(machine, frame, FAILED, error=error)


CALL_ANSWERS: Mapping[type, Any] = {CallSucceeded: _call_succeeded, CallFailed: _call_failed}


def _into(step: Step) -> str:
    return str(step.body.get("into", step.id))


def _fail(machine: Machine, frame: Frame, step: Step) -> None:
    """Fail with the author's own error."""
    names = machine.names(frame)
    code = _text(step.body, "code", names)
    raise business_error(code, _message(step, names) or code)


def _message(step: Step, names: Names) -> str:
    found = step.body["message"]
    return str(found.of(names)) if hasattr(found, "of") else str(found)


KINDS.update(
    {
        "set": Kind(_set, has_result=False),
        "wait": Kind(_wait, answered=_timer_rang, has_result=False),
        "task": Kind(_task, answered=_task_answered, expired=_task_expired),
        "call": Kind(_call, answered=_call_answered, result_name=_into),
        "fail": Kind(_fail, has_result=False),
    }
)
