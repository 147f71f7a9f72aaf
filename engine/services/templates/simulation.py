"""Try a version without starting anything: the stored definition under a fake clock, driven by one test."""

from collections.abc import Mapping
from typing import Any

from engine import access
from engine.errors import Invalid, Unprocessable
from engine.kernel.definition import compile_definition
from engine.kernel.findings import Finding
from engine.kernel.forms import FieldError
from engine.kernel.simulator import Report, simulate
from engine.models import TemplateVersion
from engine.services.templates.stored_tests import simulation_setup, workflows_around
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

MOST_ACTS = 500
"""How many acts one simulation may do, repetitions counted: it runs while its sender waits."""

UNPLAYABLE = (ArithmeticError, AssertionError, LookupError)
"""Errors of a test besides those that the simulator reports itself, such as the end of the calendar."""


def simulate_version(*, actor: Actor, name: str, number: int, test: Mapping[str, Any]) -> Report:
    """Play a test against a version, draft or not. Nothing is saved, called or sent."""
    version = access.version_of(actor, name, number)
    access.require_level(actor, TO_AUTHOR, "simulate templates")
    canonical = playable(version)
    refuse_endless(test)
    try:
        around = workflows_around(actor.tenant_id, canonical)
        return simulate(compile_definition(canonical), test, around, simulation_setup(actor.tenant_id))
    except UNPLAYABLE as problem:
        return Report(str(test.get("name") or "test"), (f"the test cannot be played: {problem}",))


def playable(version: TemplateVersion) -> dict[str, Any]:
    """Return the definition of a version that has no errors."""
    if version.canonical is None:
        found = [Finding(**finding) for finding in version.findings]
        raise Unprocessable("This draft has errors. Fix them before you try it.", found)
    return dict(version.canonical)


def refuse_endless(test: Mapping[str, Any]) -> None:
    """Refuse more actions than a person can wait for."""
    acts = [act for act in test.get("do") or () if isinstance(act, Mapping)]
    repeated = [act.get("again", 0) for act in acts]
    errors = [
        FieldError(f"do.{place}.again", "invalid", "Enter the number of repetitions as a whole number from 0.")
        for place, again in enumerate(repeated)
        if not isinstance(again, int) or isinstance(again, bool) or again < 0
    ]
    if not errors and sum(repeated) + len(acts) > MOST_ACTS:
        errors = [FieldError("do", "length", f"Do at most {MOST_ACTS} acts, repetitions counted.")]
    if errors:
        raise Invalid("The simulation is invalid.", errors)
