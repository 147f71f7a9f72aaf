"""Every refusal the platform gives, each with a stable code, a sentence and its facts.

Wrong status, no permission and not found are different things. REST and pages map the classes by one table each; the messages
speak to the person who asked.
"""

from collections.abc import Sequence
from typing import Any

from engine.kernel.findings import Finding
from engine.kernel.forms import FieldError


class WorkflowError(Exception):
    """A refusal: `code` for programs, the message for people, facts for both."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.facts = facts


class NotFound(WorkflowError):
    """There is no such thing for this actor, whether or not it exists for another."""

    code = "not_found"

    def __init__(self, message: str = "Not found, or you can't see it.", errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.errors = tuple(errors)


class Refused(WorkflowError):
    """The actor may see it but may not do this; the message names the rule."""

    code = "refused"


class Conflict(WorkflowError):
    """Another person was faster, or the status does not allow this."""

    code = "status"


class Unreadable(Conflict):
    """What is stored has a shape that no release of this code writes; the message names what and where."""

    code = "unreadable"


class Invalid(WorkflowError):
    """Invalid request; one entry per field."""

    code = "invalid"

    def __init__(self, message: str, errors: Sequence[FieldError] = (), *, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.errors = tuple(errors)

    @property
    def first_code(self) -> str:
        """Return what is wrong at the first field, or the refusal's own code where no field is named."""
        return self.errors[0].code if self.errors else self.code


class IdReused(WorkflowError):
    """A sender's id came again with other content: one of the two would be lost."""

    code = "id_reused"

    def __init__(self) -> None:
        message = "You sent this id before with different content. Repeat the first request exactly, or use a new id."
        super().__init__(message)
        self.errors = (FieldError("id", self.code, message),)


class KeyReused(WorkflowError):
    """An Idempotency-Key was sent again with another body."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used before with a different body.")


class UntrustedFile(Exception):
    """A signed file cannot be read, or is not what was signed; the code says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Unprocessable(WorkflowError):
    """The document was understood and has findings that must be fixed first."""

    code = "findings"

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)
