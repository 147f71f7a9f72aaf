"""Containers that offer: the first that happens picks, the others are withdrawn."""

from typing import Any

from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import open_list, open_step
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied


def _first(machine: Machine, frame: Frame, step: Step) -> None:
    """Offer all branches together; one that begins without a wait picks itself."""
    names = machine.names(frame)
    chosen = [one["name"] for one in step.body["branches"] if "when" not in one or one["when"].holds(names)]
    again = (frame.more or {}).get("again", {})
    frame.more = {"picked": None, "left": len(chosen), "again": again}
    if not chosen:
        machine.finish(frame, COMPLETED, {})
    for name in chosen:
        if frame.n in machine.frames and frame.more["picked"] is None:
            open_list(machine, frame, name, key=name, again=again.get(name, 0))


def _first_told(machine: Machine, frame: Frame, _step: Step, message: Ended) -> None:
    offer: Any = frame.more
    offer["left"] -= 1
    if message.outcome == CANCELLED and offer["picked"] is None and machine.children[frame.n]:
        return
    value = {"branch": message.key} if message.outcome == COMPLETED else None
    machine.finish(frame, message.outcome, value, message.error)


def _any_order(machine: Machine, frame: Frame, step: Step) -> None:
    """Offer what may begin; each child runs once, never two at a time."""
    steps = machine.definition.lists[step.lists["steps"]].steps
    frame.more = {"picked": None, "left": [one.id for one in steps], "ended": [], "offered": []}
    offer(machine, frame, step)


def offer(machine: Machine, frame: Frame, step: Step) -> None:
    """Offer every child that is left and has what it needs."""
    order: Any = frame.more
    if not order["left"]:
        machine.finish(frame, COMPLETED)
        return
    for name in [name for name in order["left"] if name not in order["offered"]]:
        child = machine.definition.steps[name]
        ready = all(need["step"] in order["ended"] for need in child.spec.get("needs", ()))
        if ready and order["picked"] is None and frame.n in machine.frames:
            order["offered"].append(name)
            open_step(machine, child, frame, key=name, again=order.get("again", {}).get(name, 0))


def _any_order_told(machine: Machine, frame: Frame, step: Step, message: Ended) -> None:
    if message.outcome == FAILED:
        machine.finish(frame, FAILED, error=message.error)
        return
    order: Any = frame.more
    order["left"].remove(message.key)
    order["offered"].remove(message.key)
    order["ended"].append(message.key)
    if order["picked"] == message.key:
        order["picked"] = None
    offer(machine, frame, step)


def happened(machine: Machine, frame: Frame) -> None:
    """Pick the branch of something that completed in every offer around it."""
    below = frame
    for found in list(machine.upward(frame)):
        if found is not frame and _is_offer(machine, found):
            pick(machine, found, below)
        below = found


def claimed(machine: Machine, leaf: Frame) -> bool:
    """Pick by a claim where the start picks; return whether it did."""
    picked, below = False, leaf
    for found in list(machine.upward(leaf)):
        if _is_offer(machine, found) and _start_picks(machine, found) and (found.more or {})["picked"] is None:
            pick(machine, found, below)
            found.more = {**(found.more or {}), "claim": leaf.n}
            picked = True
        below = found
    return picked


def released(machine: Machine, leaf: Frame) -> bool:
    """Offer everything again when the claim that had picked is given back."""
    for found in list(machine.upward(leaf)):
        if _is_offer(machine, found) and (found.more or {}).get("claim") == leaf.n:
            for child in reversed(machine.kids(found)):
                if not child.side:
                    _take_back(machine, found, child)
            _offer_again(machine, found)
            return True
    return False


def _offer_again(machine: Machine, frame: Frame) -> None:
    step, more = machine.step_of(frame), dict(frame.more or {})
    more.pop("claim")
    frame.more = {**more, "picked": None}
    if step.kind == "first":
        machine.attempt(frame, lambda: _first(machine, frame, step))
    else:
        machine.attempt(frame, lambda: offer(machine, frame, step))


def _is_offer(machine: Machine, frame: Frame) -> bool:
    return frame.step is not None and machine.step_of(frame).kind in ("first", "any_order") and frame.phase is None


def _start_picks(machine: Machine, frame: Frame) -> bool:
    step = machine.step_of(frame)
    return step.kind == "any_order" or step.body["pick"] == "start"


def pick(machine: Machine, frame: Frame, child: Frame) -> None:
    """Withdraw the other offers, newest first."""
    order: Any = frame.more
    if order["picked"] is not None:
        return
    order["picked"] = child.key
    for other in reversed(machine.kids(frame)):
        if other is not child and not other.side and other.role is None:
            _take_back(machine, frame, other)


def _take_back(machine: Machine, frame: Frame, child: Frame) -> None:
    """Withdraw one offer, and count that for when it is offered again: that is another run, with keys of its own."""
    machine.withdraw(child)
    order: Any = frame.more
    again = order.setdefault("again", {})
    again[str(child.key)] = (
        max(again.get(str(child.key), 0), child.again) + 1
    )  # `enabled_while` counts in the child itself
    offered = order.get("offered", [])
    if child.key in offered:
        offered.remove(child.key)


def _picked(_machine: Machine, frame: Frame, _step: Step) -> Json:
    return copied({"branch": (frame.more or {}).get("picked")})


KINDS.update(
    {
        "first": Kind(_first, told=_first_told, so_far=_picked),
        "any_order": Kind(_any_order, told=_any_order_told, has_result=False),
    }
)
