"""Call handlers: the steps that a signal, a timer or an escalation runs, instead of their host or next to it."""

from collections.abc import Mapping
from typing import Any

from engine.kernel.machine.idempotency_keys import number
from engine.kernel.machine.lingering import carried_names, scope_above
from engine.kernel.machine.machine import Machine
from engine.kernel.machine.step_start import open_list, open_steps
from engine.kernel.machine.task_timers import FAMILIES
from engine.kernel.signals import Json
from engine.kernel.snapshot import Frame
from engine.kernel.transitions import StepStatus


def timer_spec(machine: Machine, frame: Frame, role: str) -> Mapping[str, Any]:
    """Return what the author wrote for the handler or reminder with this role."""
    family, place = role.split(".")
    step = machine.step_of(frame)
    found: Mapping[str, Any] = (step.body if family in FAMILIES else step.spec)[family][int(place)]
    return found


def call_handler(machine: Machine, host: Frame, role: str, names: dict[str, Json]) -> None:
    """Run a handler's steps: instead of its host when it interrupts, else in parallel to it."""
    spec = timer_spec(machine, host, role)
    if spec.get("interrupting", False):
        machine.withdraw_below(host)
        machine.handle(host)
        machine.note(host, StepStatus.CANCELLED, reason=f"interrupted by {role}")
        open_list(machine, host, role, role="interrupting", env=names)
        return
    scope = host if not host.step else scope_above(machine, host)
    key = machine.step_of(host).lists[role]
    env = {**carried_names(machine, host, scope), **names}
    open_steps(machine, scope, key, role="beside", env=env, results={}, pos=_position(machine, host, scope, key))


def _position(machine: Machine, host: Frame, scope: Frame, handler: str) -> str:
    """Return which occurrence of a handler this is, at the place of its host within the scope."""
    place = machine.iteration(host)
    return f"{place[len(machine.iteration(scope)) :]}[{number(machine, f'{handler}{place}')}]"


def escalate(machine: Machine, frame: Frame, name: str, payload: Json) -> bool:
    """Call the nearest enclosing handler of an escalation; return whether there was one."""
    for host in list(machine.upward(frame)):
        if host.step is None or host.phase is not None:
            continue
        for place, handler in enumerate(machine.step_of(host).spec.get("on", ())):
            if handler.get("escalation") == name:
                call_handler(machine, host, f"on.{place}", {"signal": payload})
                return True
    return False
