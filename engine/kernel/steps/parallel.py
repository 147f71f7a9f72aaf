"""Containers that run many lists at once and count how they end: parallel and for_each.

The counters are in the frame: m started, live, ok, bad, cx (cancelled), todo (items not yet started). One pure
function, `verdict`, says from them when the join is decided; `rest` says what becomes of those still live.
"""

from collections.abc import Callable, Mapping
from typing import Any

from engine.kernel.effects import Closing, WaitKind
from engine.kernel.errors import error_names, error_record, expression_error
from engine.kernel.machine.expression_scope import With
from engine.kernel.machine.lingering import dissolve, fire
from engine.kernel.machine.machine import CANCELLED, COMPLETED, FAILED, SKIPPED, Machine
from engine.kernel.machine.messages import Ended
from engine.kernel.machine.step_start import open_list
from engine.kernel.machine.step_table import KINDS, Kind
from engine.kernel.program import Step
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame, copied

MOST_ITEMS = 10_000
PORTION, LEAST_PORTION = 100, 20
"""So many items are started without a look at whether the slice has done what it may; fewer where it may begin few steps."""
FILL = "fill"
_COUNTER = {COMPLETED: "ok", SKIPPED: "ok", FAILED: "bad", CANCELLED: "cx"}


def verdict(join: Json, count: Mapping[str, Any]) -> str | None:
    """Return as what a join is decided, or None while it is not."""
    open_ended = count["live"] or count["todo"] or count["open"]
    if join == "fail_fast" and count["bad"]:
        return FAILED
    if not open_ended and count["cx"] and not count["ok"] and not count["bad"]:
        return CANCELLED
    if join in ("all", "fail_fast", "all_complete"):
        return None if open_ended else FAILED if count["bad"] and join == "all" else COMPLETED
    if join == "none":
        return COMPLETED
    return _quorum(1 if join == "any" else int(join), count)


def _quorum(wanted: int, count: Mapping[str, Any]) -> str | None:
    possible = count["m"] + len(count["todo"]) - count["cx"]
    needed = min(wanted, possible) if not count["open"] else wanted
    if count["ok"] >= needed:
        return COMPLETED
    can_come = count["ok"] + count["live"] + len(count["todo"])
    return FAILED if can_come < needed and not count["open"] else None


def _counters(started: int) -> dict[str, Any]:
    return {"m": started, "live": started, "ok": 0, "bad": 0, "cx": 0, "todo": [], "open": 0, "res": []}


def _parallel(machine: Machine, frame: Frame, step: Step) -> None:
    """Open every branch that is chosen."""
    names = machine.names(frame)
    chosen = [one["name"] for one in step.body["branches"] if "when" not in one or one["when"].holds(names)]
    frame.more = _counters(len(chosen))
    if not chosen:
        machine.finish(frame, COMPLETED, {})
        return
    for name in chosen:
        if frame.n in machine.frames:
            open_list(machine, frame, name, key=name)
    _decide_at_once(machine, frame, step)


def _for_each(machine: Machine, frame: Frame, step: Step) -> None:
    """Open the body once per item, so many at once."""
    items = step.body["each"].of(machine.names(frame))
    if not isinstance(items, list):
        raise expression_error("`each` must be a list")
    if len(items) > MOST_ITEMS:
        raise expression_error(f"`each` has at most {MOST_ITEMS} items")
    machine.weigh(items)
    frame.more = {**_counters(0), "todo": [[number, item] for number, item in enumerate(items)], "next": len(items)}
    _listen(machine, frame, step)
    if not items and not frame.more["open"]:
        machine.finish(frame, COMPLETED, [])
    elif _fill(machine, frame, step, "began"):
        _decide_at_once(machine, frame, step)


def _listen(machine: Machine, frame: Frame, step: Step) -> None:
    """Wait for signals that add items; with `close` the step stays open until that one."""
    add = step.body.get("add")
    if add is None:
        return
    assert frame.more is not None
    frame.more["open"] = int("close" in add)
    machine.wait(frame, WaitKind.ADD, role="add", side="close" not in add, name=add["signal"])
    if "close" in add:
        machine.wait(frame, WaitKind.ADD, role="close", side=True, name=add["close"])


def _fill(machine: Machine, frame: Frame, step: Step, then: str) -> bool:
    """Start items that wait for their turn, as many as the limit allows; one of them may end the step, or the instance.

    A slice that has done what it may stops after a portion: the step sends itself a message to continue, before any other is
    delivered. `then` is what is left to be done after that; returns whether it can be done now.
    """
    count: Any = frame.more
    if "filling" in count:
        return False
    most = count["m"] + max(LEAST_PORTION, min(PORTION, machine.environment.max_steps))
    while count["todo"] and count["live"] < step.body["limit"] and frame.n in machine.frames:
        number, item, *names = count["todo"].pop(0)
        count["m"] += 1
        count["live"] += 1
        env = {step.body.get("as", "item"): item, "item": item, "index": number, **(names[0] if names else {})}
        open_list(machine, frame, "steps", key=number, env=env, results={}, state={}, pos=f"[{number}]")
        if count["m"] >= most and machine.is_spent and count["todo"] and frame.n in machine.frames:
            count["filling"] = then
            machine.queue.appendleft(Ended(frame.n, frame.n, FILL, None, None, COMPLETED))
            return False
    return True


def fill_on(machine: Machine, frame: Frame, _message: Ended) -> None:
    """Start more items in a later slice, then with what was left to be done."""
    count: Any = frame.more
    step, then = machine.step_of(frame), count.pop("filling")
    if _fill(machine, frame, step, then) and frame.n in machine.frames:
        AFTER_FILLING[then](machine, frame, step)


def _decide_at_once(machine: Machine, frame: Frame, step: Step) -> None:
    if step.body["join"] == "none" and frame.n in machine.frames:
        _decide(machine, frame, step)


def _told(machine: Machine, frame: Frame, step: Step, message: Ended) -> None:
    """Count a branch that ended, and see whether that decides."""
    machine.weigh(message.value)
    count: Any = frame.more
    count["live"] -= 1
    count[_COUNTER[message.outcome]] += 1
    count["res"].append([message.key, copied(message.value), message.outcome])
    if message.error is not None and "err" not in count:
        count["err"] = error_names(message.error)
    if frame.role == "linger":
        if step.kind != "for_each" or _fill(machine, frame, step, "lingered"):
            _linger_on(machine, frame, step)
    elif (step.kind != "for_each" or _fill(machine, frame, step, "told")) and frame.n in machine.frames:
        _decide(machine, frame, step)


def _linger_on(machine: Machine, frame: Frame, step: Step) -> None:
    """See whether the rest of a fired join is at its end; then let a later round that was held decide."""
    count: Any = frame.more
    if count["live"] or count["todo"] or frame.n not in machine.frames:
        return
    dissolve(machine, frame)
    for later in machine.running(step.id):
        if later.held == "join":
            later.held = None
            _decide(machine, later, step)
            return


def _decide(machine: Machine, frame: Frame, step: Step) -> None:
    count: Any = frame.more
    outcome = _by_condition(machine, frame, step) or verdict(step.body["join"], count)
    if outcome is None:
        return
    if step.body["rest"] == "block" and _earlier_lingers(machine, frame):
        frame.held = "join"
        return
    _close(machine, frame, step, outcome)


def _by_condition(machine: Machine, frame: Frame, step: Step) -> str | None:
    condition = step.body.get("complete_when")
    if condition is None:
        return None
    count: Any = frame.more
    ended = [value for _, value, outcome in sorted(count["res"], key=_by_key) if outcome == COMPLETED]
    names = {
        "done": count["ok"],
        "failed": count["bad"],
        "open": count["live"] + len(count["todo"]),
        "total": count["m"] + len(count["todo"]),
        "results": ended,
    }
    return COMPLETED if condition.holds(With(machine.names(frame), names)) else None


def _by_key(entry: list[Json]) -> Any:
    return (isinstance(entry[0], str), entry[0])


def _earlier_lingers(machine: Machine, frame: Frame) -> bool:
    earlier = machine.running(str(frame.step))
    return any(
        found.role == "linger" and found.n < frame.n and found.p in {above.n for above in machine.upward(frame)}
        for found in earlier
    )


def _close(machine: Machine, frame: Frame, step: Step, outcome: str) -> None:
    count: Any = frame.more
    value = _value(machine, frame, step)
    error = error_record(count["err"]) if outcome == FAILED and "err" in count else None
    if outcome == FAILED and error is None:
        error = expression_error("too many branches were cancelled", "join").record(step.id, frame.attempt)
    runs_on = step.body["rest"] != "cancel" or step.body["join"] == "none"
    if outcome == COMPLETED and runs_on and (count["live"] or count["todo"]):
        _fire(machine, frame, value)
    else:
        machine.finish(frame, outcome, value, error)


def _fire(machine: Machine, frame: Frame, value: Json) -> None:
    for leaf in machine.kids(frame):
        if leaf.wait is not None:
            machine.close(leaf, Closing.WITHDRAWN)
    fire(machine, frame, value)


def _value(_machine: Machine, frame: Frame, step: Step) -> Json:
    """Return the results so far: by branch, or in the list's order with null where there is none."""
    count: Any = frame.more
    ended = {key: value for key, value, outcome in count["res"] if outcome == COMPLETED}
    if step.kind == "parallel":
        return copied(ended)
    return [copied(ended.get(number)) for number in range(count["next"])]


def add_item(machine: Machine, frame: Frame, leaf: Frame, payload: Json) -> None:
    """Take a signal that adds an item, or closes the list of items."""
    step, count = machine.step_of(frame), frame.more
    assert count is not None
    if leaf.role == "close":
        count["open"] = 0
        for found in machine.kids(frame):
            if found.wait == WaitKind.ADD.value:
                machine.close(found, Closing.ANSWERED if found is leaf else Closing.WITHDRAWN)
    else:
        count["todo"].append([count["next"], payload, {"signal": payload}])
        count["next"] += 1
    if leaf.role == "close" or _fill(machine, frame, step, "told"):
        _decide(machine, frame, step)


AFTER_FILLING: Mapping[str, Callable[[Machine, Frame, Step], None]] = {
    "began": _decide_at_once,
    "told": _decide,
    "lingered": _linger_on,
}
"""What is left to be done once items were started, by what started them."""

KINDS.update(
    {
        "parallel": Kind(_parallel, told=_told, so_far=_value),
        "for_each": Kind(_for_each, told=_told, so_far=_value),
    }
)
