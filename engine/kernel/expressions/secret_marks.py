"""Keep secrets out of everything the kernel touches.

To an expression `secret.x` is a mark, never the secret. A call's request carries the marks and the names
that its author used; the transport inserts the secrets at the last moment with `fill_secrets`. A mark that
came in by data is refused, so that typing a mark into a form never reveals a secret. In responses, a secret is replaced by
another text, which requests nothing: see secret_redaction.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.kernel.errors import StepError
from engine.kernel.signals import Json

OPEN, CLOSE = "\u27e6secret:", "\u27e7"
HIDDEN = "••secret {name}••"
"""What replaces a secret in everything that is kept, shown or logged."""


@dataclass(frozen=True, slots=True)
class SecretValue:
    """A secret's value, and the origins that it may be sent to; none: any."""

    value: str = field(repr=False)
    origins: tuple[str, ...] = ()


def mark(name: str) -> str:
    """Return the mark that represents a secret."""
    return f"{OPEN}{name}{CLOSE}"


def hidden(name: str) -> str:
    """Return what is kept in place of a secret's value."""
    return HIDDEN.format(name=name)


def refuse_marks(request: Json) -> None:
    """Fail a call whose request holds a mark that its author did not write."""
    if _holds_mark(request):
        raise StepError(
            "authorization", "secret_mark", "the request contains the mark of a secret that came in by data"
        )


def _holds_mark(value: Json) -> bool:
    if isinstance(value, str):
        return OPEN in value
    if isinstance(value, dict):
        return any(_holds_mark(key) or _holds_mark(item) for key, item in value.items())
    return isinstance(value, list) and any(_holds_mark(item) for item in value)


def fill_secrets(request: Json, secrets: Mapping[str, str]) -> Json:
    """Replace marks by their secrets; marks of other names are left alone."""
    if isinstance(request, str):
        for name, secret in secrets.items():
            request = request.replace(mark(name), secret)
        return request
    if isinstance(request, dict):
        return {key: fill_secrets(value, secrets) for key, value in request.items()}
    return [fill_secrets(item, secrets) for item in request] if isinstance(request, list) else request
