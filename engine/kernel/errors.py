"""The errors inside the machine.

A `StepError` is what an author or a person can cause: it becomes the error of a step and follows the rules of
handlers. A `KernelError` is a broken invariant: an unreadable snapshot, an unknown event. Only the second
ever leaves `advance`.
"""

from enum import StrEnum

from engine.kernel.effects import ErrorRecord
from engine.kernel.signals import Json
from engine.kernel.transitions import InstanceStatus


class ErrorClass(StrEnum):
    DEFINITION = "definition"
    EXPRESSION = "expression"
    TRANSPORT = "transport"
    TIMEOUT = "timeout"
    AUTHORIZATION = "authorization"
    CONSISTENCY = "consistency"
    BUSINESS = "business"


UNCAUGHT: dict[str, InstanceStatus] = {
    ErrorClass.BUSINESS: InstanceStatus.FAILED,
    ErrorClass.TIMEOUT: InstanceStatus.EXPIRED,
}
"""How an instance ends when no handler catches the error; classes that are absent make it an incident."""


class KernelError(Exception):
    """The machine was given something it cannot read."""


class StepError(Exception):
    """A step failed: class, code and a sentence for people."""

    def __init__(self, error_class: str, code: str, message: str, cause: Json = None) -> None:
        super().__init__(message)
        self.error_class = ErrorClass(error_class).value
        self.code = code
        self.message = message
        self.cause = cause

    def record(self, step: str | None, attempt: int) -> ErrorRecord:
        """Return the error together with the step and attempt where it happened."""
        return ErrorRecord(self.error_class, self.code, self.message, step, attempt, self.cause)


def expression_error(message: str, code: str = "expression") -> StepError:
    """Make the error of an expression that cannot be computed."""
    return StepError(ErrorClass.EXPRESSION, code, message)


def business_error(code: str, message: str) -> StepError:
    """Make the error that an author's own rule raises."""
    return StepError(ErrorClass.BUSINESS, code, message)


def error_names(record: ErrorRecord) -> dict[str, Json]:
    """Show an error to expressions as `error`."""
    return {
        "class": str(record.error_class),
        "code": record.code,
        "message": record.message,
        "step": record.step,
        "attempt": record.attempt,
        "cause": record.cause,
    }


def error_record(names: Json) -> ErrorRecord:
    """Read back what `error_names` wrote."""
    return ErrorRecord(names["class"], names["code"], names["message"], names["step"], names["attempt"], names["cause"])
