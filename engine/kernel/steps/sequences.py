"""Containers that run one list at a time: group, if, switch, repeat, selector."""

from typing import Any

from engine.kernel.errors import ErrorClass, StepError, business_error, expression_error
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.jumps import carry_jump
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, SKIPPED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import open_list, open_step
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied


def _group(machine: Machine, frame: Frame, _step: Step) -> None:
    """Run a sequence."""
    open_list(machine, frame, "steps")


def _ext(machine: Machine, frame: Frame, step: Step) -> None:
    """Run the steps that a kind of the project became."""
    if "steps" not in step.lists:
        text = f"the step kind `{step.body['type']}` was not known when this version was read"
        raise StepError(ErrorClass.DEFINITION, "not_expanded", text)
    open_list(machine, frame, "steps")


def pass_on(machine: Machine, frame: Frame, _step: Step, message: Ended) -> None:
    """End as the list ended; a jump that leads out of it continues from here."""
    carry_jump(frame, message.to)
    machine.finish(frame, message.outcome, message.value, message.error)


def _last(machine: Machine, frame: Frame, _step: Step) -> Json:
    """Return the last result of the list that runs."""
    lines = [found for found in machine.kids(frame) if found.list is not None and found.role is None]
    return copied((lines[-1].more or {}).get("last")) if lines else None


def _if(machine: Machine, frame: Frame, step: Step) -> None:
    """Run the branch that the condition picks; a branch that is not written does nothing."""
    _branch(machine, frame, "then" if step.body.holds(machine.names(frame)) else "else")


def _switch(machine: Machine, frame: Frame, step: Step) -> None:
    """Run the first case that holds, else the default."""
    names = machine.names(frame)
    held = (f"case.{place}" for place, case in enumerate(step.body["cases"]) if case["when"].holds(names))
    _branch(machine, frame, next(held, "default"))


def _branch(machine: Machine, frame: Frame, name: str) -> None:
    if name in machine.step_of(frame).lists:
        open_list(machine, frame, name)
    else:
        machine.finish(frame, COMPLETED)


def _repeat(machine: Machine, frame: Frame, step: Step) -> None:
    """Begin a loop: count its rounds if it says how many, and begin the first."""
    frame.more = {"round": 0, "res": [], "items": _items(machine, frame, step)}
    _next_round(machine, frame, step)


def _items(machine: Machine, frame: Frame, step: Step) -> Json:
    names = machine.names(frame)
    if "each" in step.body:
        items = step.body["each"].of(names)
        if not isinstance(items, list):
            raise expression_error("`each` must be a list")
        machine.weigh(items)
        return items
    if "times" not in step.body:
        return None
    times = step.body["times"].of(names)
    if isinstance(times, bool) or not isinstance(times, (int, float)) or times != int(times) or times < 0:
        raise expression_error("`times` must be a whole number")
    return int(times)


def _next_round(machine: Machine, frame: Frame, step: Step) -> None:
    """Begin the next round, or end the loop when it is over."""
    loop: Any = frame.more
    index = loop["round"]
    if _is_over(machine, frame, step, index):
        machine.finish(frame, COMPLETED, copied(loop["res"]))
        return
    if index >= step.body["max"]:
        raise business_error("loop_limit", f"`{step.id}` was not done after {index} rounds")
    open_list(machine, frame, "steps", key=index, env=_names(loop, step, index), pos=f"[{index}]")


def _is_over(machine: Machine, frame: Frame, step: Step, index: int) -> bool:
    loop: Any = frame.more
    if "while" in step.body:
        return not step.body["while"].holds(With(machine.names(frame), {"index": index}))
    if "until" in step.body:
        last = With(machine.names(frame), _names(loop, step, index - 1))
        return index > 0 and step.body["until"].holds(last)
    count = loop["items"] if isinstance(loop["items"], int) else len(loop["items"])
    return bool(index >= count)


def _names(loop: Any, step: Step, index: int) -> dict[str, Json]:
    item = loop["items"][index] if isinstance(loop["items"], list) and 0 <= index < len(loop["items"]) else index
    return {"index": index, "item": item, step.body.get("as", "item"): item}


def _round_told(machine: Machine, frame: Frame, step: Step, message: Ended) -> None:
    if message.outcome in (FAILED, CANCELLED):
        machine.finish(frame, message.outcome, error=message.error)
        return
    loop: Any = frame.more
    machine.weigh(message.value)
    loop["res"].append(copied(message.value))
    loop["round"] += 1
    _next_round(machine, frame, step)


def _rounds(_machine: Machine, frame: Frame, _step: Step) -> Json:
    return copied((frame.more or {}).get("res", []))


def _selector(machine: Machine, frame: Frame, step: Step) -> None:
    """Try children in order until one succeeds."""
    _try(machine, frame, step, 0, None)


def _try(machine: Machine, frame: Frame, step: Step, place: int, message: Ended | None) -> None:
    steps = machine.definition.lists[step.lists["steps"]].steps
    if place < len(steps):
        frame.at = steps[place].id
        open_step(machine, steps[place], frame)
    elif message is not None and message.outcome == FAILED:
        machine.finish(frame, FAILED, error=message.error)
    else:
        machine.finish(frame, SKIPPED)


def _selector_told(machine: Machine, frame: Frame, step: Step, message: Ended) -> None:
    if message.outcome == COMPLETED:
        machine.finish(frame, COMPLETED, message.value)
        return
    place = machine.definition.lists[step.lists["steps"]].place[str(message.step)]
    _try(machine, frame, step, place + 1, message)


KINDS.update(
    {
        "group": Kind(_group, told=pass_on, so_far=_last),
        "ext": Kind(_ext, told=pass_on, so_far=_last),
        "if": Kind(_if, told=pass_on, so_far=_last, has_result=False),
        "switch": Kind(_switch, told=pass_on, so_far=_last, has_result=False),
        "repeat": Kind(_repeat, told=_round_told, so_far=_rounds),
        "selector": Kind(_selector, told=_selector_told),
    }
)
