"""Steps that end something further out: the instance, a container, other steps; and those that undo."""

from collections.abc import Iterator
from typing import Any

from engine.kernel.effects import StepRun
from engine.kernel.expressions.functions import as_text
from engine.kernel.machine.jumps import way_on
from engine.kernel.machine.lingering import is_scope
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_end import case_output, complete_case
from engine.kernel.machine.step_start import open_steps
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied
from engine.kernel.steps.embedded import cancel_embedded, complete_embedded, embedded_output, host_of
from engine.kernel.steps.graphs import cancel_pending
from engine.kernel.steps.nets import remove_tokens
from engine.kernel.transitions import StepStatus


def _complete(machine: Machine, frame: Frame, step: Step) -> None:
    """End the instance as a success under the author's name for it, or end one step now with its results so far."""
    if "step" in step.body:
        machine.end(frame, COMPLETED, to=way_on(machine, frame, None))
        for target in machine.running(step.body["step"]):
            if target.n in machine.frames:
                complete_step(machine, target)
        return
    names, host = machine.names(frame), host_of(machine, frame)
    outcome = step.body["outcome"].of(names) if "outcome" in step.body else None
    output = step.body["output"].of(names) if "output" in step.body else _usual_output(machine, frame, host)
    machine.end(frame, COMPLETED)
    if host is None:
        complete_case(machine, output, None if outcome is None else as_text(outcome))
    else:
        complete_embedded(machine, host, None if outcome is None else as_text(outcome), output)


def _usual_output(machine: Machine, frame: Frame, host: Frame | None) -> Json:
    """Compute what the instance returns, or what is embedded and ends here."""
    return case_output(machine, frame) if host is None else embedded_output(machine, host)


def complete_step(machine: Machine, frame: Frame) -> None:
    """End a step now, as a success, with what it has so far."""
    step = machine.step_of(frame)
    so_far = KINDS[step.kind].so_far
    value = so_far(machine, frame, step) if so_far is not None else None
    machine.withdraw_below(frame)
    frame.held = None
    machine.finish(frame, COMPLETED, value)


def _cancel(machine: Machine, frame: Frame, step: Step) -> None:
    """End the instance as cancelled, or withdraw what lives of some steps."""
    if step.body.get("case"):
        reason = as_text(step.body["reason"].of(machine.names(frame))) if "reason" in step.body else None
        host = host_of(machine, frame)
        machine.end(frame, COMPLETED)
        if host is not None:
            cancel_embedded(machine, host)
            return
        machine.outcome = step.body.get("outcome")
        machine.end(machine.root, CANCELLED, reason=reason)
        return
    wanted = set(_wanted(machine, step))
    machine.end(frame, COMPLETED, to=way_on(machine, frame, None))
    cancel_steps(machine, wanted)


def _wanted(machine: Machine, step: Step) -> Iterator[str]:
    yield from step.body.get("steps", ())
    tags = set(step.body.get("tags", ()))
    for one in machine.definition.steps.values():
        if tags & set(one.spec.get("tags", ())):
            yield one.id


def cancel_steps(machine: Machine, names: set[str]) -> None:
    """End every live frame of these steps as cancelled, and what waits to begin."""
    for found in [machine.frames[number] for number in sorted(machine.frames, reverse=True)]:
        live = found.n in machine.frames and found.step is not None
        if live and found.step in names and found.role != "linger":
            machine.end(found, CANCELLED, reason="cancelled")
        elif live and machine.step_of(found).kind in PENDING and found.more is not None and found.phase is None:
            PENDING[machine.step_of(found).kind](machine, found, names)


PENDING = {"graph": cancel_pending, "net": remove_tokens}
"""How containers forget steps that have not begun."""


def _exit(machine: Machine, frame: Frame, step: Step) -> None:
    """Leave the nearest repeat, group, branch or item, or the step named."""
    target = next(found for found in machine.upward(frame) if _is_exit(machine, found, frame, step.body))
    machine.end(frame, COMPLETED)
    if target.list is not None:
        machine.end(target, COMPLETED, (target.more or {}).get("last"))
    else:
        complete_step(machine, target)


def _is_exit(machine: Machine, found: Frame, frame: Frame, wanted: str | None) -> bool:
    if found is frame:
        return False
    if wanted is not None:
        return found.step in (wanted, "")
    is_loop = found.step is not None and machine.step_of(found).kind == "repeat"
    return is_loop or is_scope(machine, found)


def _compensate(machine: Machine, frame: Frame, step: Step) -> None:
    """Undo every successful run inside a step, the latest finished first."""
    inside = _inside(machine, step.body["step"])
    runs = [entry["run"] for entry in machine.done if entry["step"] in inside]
    frame.more = {"todo": runs[::-1]}
    _undo_next(machine, frame)


def _inside(machine: Machine, name: str) -> set[str]:
    """List a step and all steps inside it."""
    found = {name}
    for step in machine.definition.steps.values():
        above: Step | None = step
        while above is not None and above.id != name:
            above = machine.definition.steps[above.parent] if above.parent is not None else None
        if above is not None:
            found.add(step.id)
    return found


def _undo_next(machine: Machine, frame: Frame) -> None:
    todo: list[int] = (frame.more or {})["todo"]
    if not todo:
        machine.finish(frame, COMPLETED)
        return
    entry = next(entry for entry in machine.done if entry["run"] == todo[0])
    undone = machine.definition.steps[entry["step"]]
    results = {**entry["results"], entry["step"]: entry["value"]}
    place = entry["iteration"]
    more = {"pos": place or None, "sign": f"{place}^{entry['run']}"}
    open_steps(machine, frame, undone.lists["undo"], key=entry["run"], env=entry["env"], results=results, **more)


def _undone(machine: Machine, frame: Frame, _step: Step, message: Ended) -> None:
    if message.outcome in (FAILED, CANCELLED):
        machine.finish(frame, message.outcome, error=message.error)
        return
    todo: list[int] = (frame.more or {})["todo"]
    run = todo.pop(0)
    entry = next(entry for entry in machine.done if entry["run"] == run)
    machine.done.remove(entry)
    _note_undone(machine, entry)
    _undo_next(machine, frame)


def _note_undone(machine: Machine, entry: dict[str, Any]) -> None:
    step = machine.definition.steps[entry["step"]]
    machine.step_status[step.id] = StepStatus.COMPENSATED.value
    machine.touch()
    machine.trace.append(
        StepRun(
            entry["run"], step.id, step.kind, step.path, entry["iteration"], 1, StepStatus.COMPENSATED, machine.now,
            False, None, copied(entry["value"]),
        )
    )  # fmt: skip


KINDS.update(
    {
        "complete": Kind(_complete, has_result=False),
        "cancel": Kind(_cancel, has_result=False),
        "exit": Kind(_exit, has_result=False),
        "compensate": Kind(_compensate, told=_undone, has_result=False),
    }
)
