"""Run the host's transactional functions inside the transaction of the slice that reaches them.

A function registered with `transactional=True` writes to this very database; what it writes is kept together with the step's
result, or not at all. It never runs in a batch: there one function's failure would roll back forty-nine other calls. In a batch
the step therefore waits like any outside call, and the worker that takes the call on runs it alone.

A failing function leaves nothing behind: its savepoint is rolled back before the step is told. A database that is away or wants
the transaction repeated is no failure of the function and passes through.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import OperationalError, transaction

from engine.db.transactions import is_by_chance, is_connection_lost
from engine.extensions.functions import is_transactional
from engine.kernel.effects import MakeCall
from engine.kernel.expressions.secret_marks import SecretValue, fill_secrets
from engine.kernel.signals import CallFailed, CallSucceeded
from engine.runtime.network_guard import NetworkRefused, offline
from engine.storage.encryption import UnreadableSecret, secrets_for_call
from engine.transports.base import hide_secrets, hider_of
from engine.transports.outcomes import Call, CallResult, Failed, Succeeded
from engine.transports.python import call_function
from engine.transports.response_checks import fit_to_keep
from workflowplatform.logs import hide_in_logs

FunctionRefusal = tuple[str, str, str]
"""Step, code and message of a business error that a function raised."""


class _Undone(Exception):
    """Roll the savepoint back, then tell this."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


@dataclass(slots=True)
class FunctionRunner:
    """What the kernel asks when it reaches a call: transactional functions of one tenant are run, anything else waits."""

    tenant_id: UUID
    refused: list[FunctionRefusal] = field(default_factory=list)

    def __call__(self, call: MakeCall, step: str) -> CallSucceeded | CallFailed | None:
        if not is_transactional(call.transport, call.request):
            return None
        result = run_transactional(self.tenant_id, call.request, call.secrets, key=call.key)
        if isinstance(result, Succeeded):
            return CallSucceeded(0, result.value)
        if result.error_class == "business":
            self.refused.append((step, result.code, result.message))
        return CallFailed(0, result.error_class, result.code, result.message, result.value)


def run_transactional(tenant_id: UUID, request: Any, secrets: tuple[str, ...] | list[str], *, key: str) -> CallResult:
    """Run a function within the caller's transaction, offline; a failure leaves nothing of what it wrote."""
    try:
        with transaction.atomic(), offline():
            return _succeeded(_run(request, secrets_for_call(tenant_id, secrets), key))
    except _Undone as undone:
        return undone.failed
    except OperationalError as error:
        if is_by_chance(error) or is_connection_lost():
            raise
        return Failed("transport", "exception", f"The function raised {type(error).__name__}.")
    except UnreadableSecret as error:
        return Failed("authorization", "unreadable_secret", str(error))
    except NetworkRefused as error:
        return Failed("definition", "network_refused", str(error))
    # User code may do anything, sys.exit() included.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return Failed("transport", "exception", f"The function raised {type(error).__name__}.")


def _run(request: Any, secrets: Mapping[str, SecretValue], key: str) -> CallResult:
    filled = fill_secrets(request, {name: secret.value for name, secret in secrets.items()})
    hider = hider_of(secrets)
    if secrets:
        # A commit that fails is logged after the function, with what the database says of the rows that it wrote.
        transaction.on_commit(hide_in_logs(hider.text))
    return hide_secrets(fit_to_keep(call_function(Call(filled, key, 0, secrets=secrets))), hider)


def _succeeded(result: CallResult) -> Succeeded:
    if isinstance(result, Failed):
        raise _Undone(result)
    return result
