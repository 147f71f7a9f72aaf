"""Decorators that templates may put around a step by name.

A host project registers them in the modules that `WORKFLOW_FUNCTIONS` lists::

    register_decorator("in_cents", before=to_cents, after=from_cents)

`before` takes the step's own values (its `input`) and returns those that the body sees; `after` takes the body's result and
returns what becomes the step's. Both must be pure: the simulator, a replay and every attempt call them again. They run inside
the slice, so they never wait, look at a clock or talk to anybody. `BusinessError` fails the step with that code; any other
exception is a mistake of the host project and makes the case an incident.
"""

from collections.abc import Mapping

from engine.extensions.functions import AlreadyRegistered, BusinessError
from engine.kernel.errors import ErrorClass, StepError, business_error
from engine.kernel.machine.decorators import Change, Decorator
from engine.kernel.signals import Json

_registered: dict[str, Decorator] = {}


def register_decorator(name: str, *, before: Change | None = None, after: Change | None = None) -> None:
    """Register a decorator under the name that templates use."""
    if name in _registered:
        raise AlreadyRegistered(f"the decorator {name} is registered twice")
    _registered[name] = Decorator(_guarded(name, before), _guarded(name, after))


def registered_decorators() -> Mapping[str, Decorator]:
    """Return all decorators by name."""
    return _registered


def decorator_named(name: str) -> Decorator | None:
    """Return the decorator that is registered under a name."""
    return _registered.get(name)


def _guarded(name: str, change: Change | None) -> Change | None:
    """Turn what a host's function raises into the error of the step."""
    if change is None:
        return None

    def guarded(value: Json) -> Json:
        try:
            return change(value)
        except BusinessError as refusal:
            raise business_error(refusal.code, str(refusal)) from refusal
        except Exception as mistake:
            text = f"the decorator `{name}` failed: {type(mistake).__name__} {mistake}"
            raise StepError(ErrorClass.DEFINITION, "decorator_failed", text[:500]) from mistake

    return guarded
