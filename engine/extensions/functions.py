"""Python functions that templates may call by name.

A host project lists modules in `WORKFLOW_FUNCTIONS`; importing one registers what it decorates::

    @workflow_function("add_vat")
    def add_vat(*, amount: float) -> dict[str, float]: ...

A function takes keyword arguments (the step's `args`) and returns JSON. It is called by a worker with no transaction open, at
least once; `BusinessError` fails the step with that code, any other exception counts as a transport failure and is retried as
the author says.

A function gets secrets only if it is registered with `secrets=True`, by which the project vouches that the
function does not leak them. They are hidden in what it returns, raises or logs.

One that only writes to this database may be registered with `transactional=True`: it runs inside the transaction that commits
its step, so that both are kept or neither, and it has no network meanwhile. Where a person's answer leads to it in one go and it
raises `BusinessError` that no handler catches, the answer is refused with its message and the task stays open.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from engine.conf import Conf, conf
from workflowplatform.servers.errors import CannotStart

Function = Callable[..., Any]

_registered: dict[str, Function] = {}
_transactional: set[str] = set()
_with_secrets: set[str] = set()


class BusinessError(Exception):
    """Raise this in a function to fail the step with a business error under a code."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class AlreadyRegistered(Exception):
    """Two functions claim one name."""


def workflow_function(
    name: str, *, transactional: bool = False, secrets: bool = False
) -> Callable[[Function], Function]:
    """Register a function under the name that templates use.

    `transactional`: it runs inside the transaction of its step. `secrets`: calls may pass secrets to it.
    """

    def register(function: Function) -> Function:
        if _registered.get(name, function) is not function:
            raise AlreadyRegistered(
                f"{name} is registered twice: by {_registered[name].__module__} and {function.__module__}"
            )
        _registered[name] = function
        if transactional:
            _transactional.add(name)
        if secrets:
            _with_secrets.add(name)
        return function

    return register


def registered_functions() -> Mapping[str, Function]:
    """Return all functions by name."""
    return _registered


def takes_secrets(name: str) -> bool:
    """Return whether a function may be given secrets."""
    return name in _with_secrets


def functions_with_secrets() -> frozenset[str]:
    """Return the names of the functions that may be given secrets."""
    return frozenset(_with_secrets)


def is_transactional(transport: str, request: Mapping[str, Any]) -> bool:
    """Return whether a call is one that runs inside the transaction of its step."""
    return transport == "python" and request.get("function") in _transactional


def load_functions() -> None:
    """Import the modules that the settings name."""
    for module in conf.functions:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there, what it imports is not
            sentence = f"{Conf.functions.variable} names {module}, which is no module. {Conf.functions.hint}"
            raise CannotStart(sentence) from error


@workflow_function("echo")
def echo(**values: Any) -> dict[str, Any]:
    """Return what was given: for trying out a template."""
    return values
