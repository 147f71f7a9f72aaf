"""Outside calls and their outcomes, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.kernel.expressions.secret_marks import SecretValue

Json = Any


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt of an outside call, every expression evaluated.

    `key` is the same for every attempt, so that the other side can tell a repeat. `http_allow` is the tenant's list of
    origins: None means any public one. `redirects` says whether an answer that points elsewhere is followed. `secrets` are in
    the request already; they are here so that the transport can keep them from going elsewhere.
    """

    request: Mapping[str, Json] = field(repr=False)
    key: str
    timeout_seconds: float
    http_allow: Sequence[str] | None = None
    redirects: bool = True
    secrets: Mapping[str, SecretValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The outside answered; `value` becomes the step's result."""

    value: Json


@dataclass(frozen=True, slots=True)
class Failed:
    """The outside refused, did not answer, or was never asked; `error_class` is one of the language's."""

    error_class: str
    code: str
    message: str
    value: Json = None


CallResult = Succeeded | Failed
