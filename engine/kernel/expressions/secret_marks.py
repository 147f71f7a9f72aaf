"""Keep secrets out of everything the kernel touches.

To an expression `secret.x` is a mark, never the secret. A call's request carries the marks, together with the names
that its author used; whoever makes the call puts the secrets in at the last moment with `fill_secrets`. A mark that
came in by data is refused, so that nobody can ask for a secret by typing its mark into a form. What the outside answers has
another text in place of a secret, which asks for nothing: see hiding.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.kernel.errors import StepError
from engine.kernel.signals import Json

OPEN, CLOSE = "\u27e6secret:", "\u27e7"
HIDDEN = "••secret {name}••"
"""What stands in place of a secret in everything that is kept, shown or logged."""


@dataclass(frozen=True, slots=True)
class SecretValue:
    """A secret for the one who sends it: what it is, and the origins that it may be sent to; none at all: any."""

    value: str = field(repr=False)
    origins: tuple[str, ...] = ()


def mark(name: str) -> str:
    """Give the mark that stands for a secret."""
    return f"{OPEN}{name}{CLOSE}"


def hidden(name: str) -> str:
    """Give what is kept in place of a secret's value."""
    return HIDDEN.format(name=name)


def refuse_marks(request: Json) -> None:
    """Fail a call whose request holds a mark that its author did not write."""
    if _holds_mark(request):
        raise StepError("authorization", "secret_mark", "the request holds the mark of a secret that came in by data")


def _holds_mark(value: Json) -> bool:
    if isinstance(value, str):
        return OPEN in value
    if isinstance(value, dict):
        return any(_holds_mark(key) or _holds_mark(item) for key, item in value.items())
    return isinstance(value, list) and any(_holds_mark(item) for item in value)


def fill_secrets(request: Json, secrets: Mapping[str, str]) -> Json:
    """Put secrets where their marks stand; marks of other names stay as they are."""
    if isinstance(request, str):
        for name, secret in secrets.items():
            request = request.replace(mark(name), secret)
        return request
    if isinstance(request, dict):
        return {key: fill_secrets(value, secrets) for key, value in request.items()}
    return [fill_secrets(item, secrets) for item in request] if isinstance(request, list) else request
