"""Findings: what is wrong in a template, where, and what to do."""

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from engine.kernel.signals import Json

ERROR = "error"
WARNING = "warning"
WHOLE = "document"
"""The path of a finding about the whole document."""
SINCE_ACTIVATED = frozenset(
    {"no_steps", "trigger_contradicts", "unknown_outcome", "unknown_status", "unknown_part", "duplicate_outcome"}
)
"""Errors that keep a draft from being activated, but not a version from running that was activated before the rule."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; an error keeps the template from being activated, a warning does not."""

    code: str
    severity: str
    message: str
    line: int
    column: int
    path: str = WHOLE
    hint: str = ""

    def as_json(self) -> dict[str, Json]:
        """Return the form that REST and the command line show."""
        return asdict(self)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the known word that looks most like this one."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else ""
