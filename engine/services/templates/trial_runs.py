"""Try a version step by step: the real interpreter under a clock of its own, answers typed in, calls answered by stubs.

A trial is nothing but a test that grows: what was done so far is played again from the start with one act more. So nothing is
stored between two steps, every act can be taken back, and what was tried can be kept as one of the template's tests.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engine import access
from engine.db.transactions import in_one_transaction
from engine.errors import Conflict, Invalid
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.effects import OpenTask, StepRun, WaitKind
from engine.kernel.errors import error_names
from engine.kernel.forms import FieldError
from engine.kernel.language.test_writer import CannotWrite, with_test
from engine.kernel.signals import Json
from engine.kernel.simulator.environment import OverBudget
from engine.kernel.simulator.expectations import describe
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.instance import Task as PlayedTask
from engine.kernel.simulator.player import Play
from engine.kernel.transitions import VersionStatus
from engine.models import TemplateVersion
from engine.services.templates.simulation import playable, refuse_endless
from engine.services.templates.stored_tests import simulation_setup, workflows_around
from engine.services.templates.versions import save_draft
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.levels import TO_AUTHOR

UNPLAYABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
KEPT_KEYS = ("people", "as", "at", "start", "calls", "do")


@dataclass(frozen=True, slots=True)
class TriedTask:
    """An open task of a trial, and the name under which an act means it."""

    name: str
    within: str
    step: str
    task: OpenTask
    whose: str


@dataclass(frozen=True, slots=True)
class TriedCall:
    """A call that was made, and what its stub answered."""

    step: str
    transport: str
    request: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TriedTimer:
    """What rings next."""

    step: str
    at: datetime
    advance: str
    """The duration to let pass, as an act writes it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The state of a trial after all its actions."""

    test: Mapping[str, Json]
    problem: str = ""
    """Why the last act was refused, or the trial could not be played."""
    fields: tuple[str, ...] = ()
    """The fields that the problem is about, where it is about some."""
    begun: bool = False
    status: str = ""
    outcome: str | None = None
    error: Mapping[str, Json] | None = None
    now: datetime | None = None
    state: Mapping[str, Json] | None = None
    output: Json = None
    path: tuple[str, ...] = ()
    tasks: tuple[TriedTask, ...] = ()
    timers: tuple[TriedTimer, ...] = ()
    signals: tuple[str, ...] = ()
    calls: tuple[TriedCall, ...] = ()
    trace: tuple[StepRun, ...] = ()
    unused: tuple[str, ...] = ()
    """Calls whose stub nobody asked for yet."""

    @property
    def is_over(self) -> bool:
        return self.begun and not self.tasks and not self.timers and not self.signals


def try_version(*, actor: Actor, name: str, number: int, test: Mapping[str, Json]) -> Trial:
    """Play what was done so far against a version; nothing is saved, called or sent."""
    version = access.version_of(actor, name, number)
    access.require_level(actor, TO_AUTHOR, "try templates")
    canonical = playable(version)
    refuse_endless(test)
    definition = compile_definition(canonical)
    around = workflows_around(actor.tenant_id, canonical)
    try:
        test = _cast(definition, test)
        definitions = {**around, definition.name: definition}
        play = Play(definitions, definition.name, test, simulation_setup(actor.tenant_id))
        play.run()
    except OverBudget as problem:
        return Trial(test, f"This takes too long: {problem}.")
    except UNPLAYABLE as problem:
        return Trial(test, f"This cannot be played: {problem}")
    return _told(play, test)


def _cast(definition: Definition, test: Mapping[str, Json]) -> dict[str, Json]:
    """Give the starter of a trial the level and roles that the template asks for, unless the author named a person."""
    starters = definition.starters
    asked = {"starter": {"roles": list(starters.roles), "level": max(starters.min_level, 4)}}
    people = {**(asked if starters.roles or starters.min_level > 4 else {}), **(test.get("people") or {})}
    return {**test, "do": list(test.get("do") or ()), **({"people": people} if people else {})}


def _told(play: Play, test: Mapping[str, Json]) -> Trial:
    problem = play.failures[0] if play.failures else ""
    if play.main is None:
        refused = play.refused
        return Trial(test, str(refused) if refused else problem, refused.fields if refused else ())
    main = play.main
    shown = describe(play, main)
    live = [one for one in play.world.instances if not one.is_over]
    return Trial(
        test,
        problem,
        (),
        True,
        main.status.value,
        main.outcome,
        error_names(main.error) if main.error is not None else None,
        play.world.now,
        shown["state"],
        main.output,
        tuple(shown["path"]),
        tuple(_tried(one, task) for one in live for task in one.open_tasks()),
        tuple(_timers(play)),
        tuple(sorted({str(wait.name) for one in live for wait in one.waits.values() if wait.kind is WaitKind.SIGNAL})),
        tuple(
            TriedCall(step, call.transport, call.request) for one in play.world.instances for step, call in one.requests
        ),
        tuple(main.trace),
        tuple(name for family, name in play.unused() if family == "calls"),
    )


def _tried(instance: Instance, played: PlayedTask) -> TriedTask:
    wait = played.wait
    assert wait.task is not None
    offered = ", ".join((*wait.task.roles, *wait.task.users))
    return TriedTask(
        f"{wait.step}{wait.iteration}", instance.label, wait.step, wait.task, played.assignee or offered or "anybody"
    )


def _timers(play: Play) -> list[TriedTimer]:
    now = play.world.now
    return [
        TriedTimer(wait.step, at, f"PT{max(0, math.ceil((at - now).total_seconds()))}S")
        for at, _number, _instance, wait in play.world.timers()
    ]


@in_one_transaction
def keep_as_test(
    *, actor: Actor, name: str, number: int, title: str, test: Mapping[str, Json], revision: int | None = None
) -> TemplateVersion:
    """Write a trial into a draft as a stored test that expects what came of it."""
    version = access.version_to_author(actor, name, number)
    if version.status != VersionStatus.DRAFT:
        raise Conflict(
            f"Version {number} is {version.status}; create a new version to save a test in it.", code="status"
        )
    if not title.strip():
        message = "Give the test a name that says what it shows."
        raise Invalid(message, [FieldError("title", "required", message)])
    trial = try_version(actor=actor, name=name, number=number, test=test)
    if not trial.begun or trial.problem:
        raise Conflict(trial.problem or "Start the trial first.", code="status")
    try:
        source = with_test(version.source, _kept(title.strip(), trial))
    except CannotWrite as problem:
        raise Conflict(f"The run was not kept: {problem}.", code="status") from problem
    return save_draft(actor=actor, source=source, name=name, number=number, revision=revision)


def _kept(title: str, trial: Trial) -> dict[str, Any]:
    expect: dict[str, Any] = {"status": trial.status, "path": list(trial.path)}
    if trial.outcome is not None:
        expect["outcome"] = trial.outcome
    if trial.output:
        expect["output"] = trial.output
    if trial.tasks:
        expect["tasks"] = [one.step for one in trial.tasks if not one.within]
    test = {**trial.test, "calls": _used_calls(trial)}
    given = {key: test[key] for key in KEPT_KEYS if test.get(key) or key == "do"}
    return {"name": title, **given, "expect": expect}


def _used_calls(trial: Trial) -> dict[str, Any]:
    """Leave out the stubs that nobody asked for: a stored test that answers what does not come is red."""
    return {name: answer for name, answer in (trial.test.get("calls") or {}).items() if name not in trial.unused}
