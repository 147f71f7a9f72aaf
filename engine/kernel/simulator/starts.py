"""How instances of a simulation begin: started by a person, by another instance or by an event, by the platform's rules.

A limit lets them wait for their turn, a reference that only one may have keeps a second one out; a child runs in its parent's
place and is answered at once where it cannot be started.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.kernel.effects import Emit, ErrorRecord, StartChild
from engine.kernel.errors import StepError, error_names
from engine.kernel.forms import check_values
from engine.kernel.interpreter.run_to_wait import reference_at_start
from engine.kernel.interpreter.triggers import event_start
from engine.kernel.program import Definition
from engine.kernel.signals import ChildEnded, InstanceFacts, Json, Started
from engine.kernel.simulator.environment import OverBudget
from engine.kernel.simulator.instance import Instance
from engine.kernel.simulator.naming import Place
from engine.kernel.simulator.people import Person, Refused
from engine.kernel.steps.children import unfit_input
from engine.kernel.transitions import InstanceStatus

if TYPE_CHECKING:
    from engine.kernel.simulator.world import World

DEEPEST = 25
"""How deep children may nest."""
LONGEST_CHAIN = 60
"""How many instances of a simulation may start one another without a wait in between."""


class ChildStarts:
    """The starts in a world: which are allowed, and when."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.references: dict[tuple[str, str], Instance] = {}
        """The instances that hold a unique reference."""

    def start(self, name: str, given: Json, by: str | None, label: str) -> Instance:
        """Start an instance as a person; refuse an invalid input, one instance too many, a reference that is in use."""
        definition = self.world.definitions[name]
        if by is not None:
            _refuse_starter(definition, self.world.person(by))
        filled, problems = check_values(definition.input_schema, {} if given is None else given)
        if problems:
            raise Refused("invalid", problems[0].message, tuple(problem.path for problem in problems))
        waits = not self._has_room(definition)
        if waits and _limits(definition).get("at_limit") == "refuse":
            raise Refused("limit", "the limit of running instances is reached")
        instance = self._new_instance(definition, filled, by, label)
        self._hold_reference(instance)
        self._start(instance, waits=waits)
        return instance

    def _new_instance(
        self,
        definition: Definition,
        given: Json,
        by: str | None,
        label: str,
        new_id: str | None = None,
        reference: str | None = None,
        places: tuple[Place, ...] = (),
    ) -> Instance:
        """Make an instance that is about to start, with its unique reference if it has one."""
        world = self.world
        facts = InstanceFacts(new_id or world.next_id(0), definition.name, 1, by, world.now, reference)
        if definition.has_unique_reference:
            facts = replace(facts, reference=reference_at_start(definition, facts, given, world.environment()))
        instance = Instance(world, definition, facts, label, places)
        instance.input = given
        return instance

    def _hold_reference(self, instance: Instance) -> None:
        """Hold the reference of an instance that is about to start, or refuse it."""
        reference, name = instance.facts.reference, instance.definition.name
        if reference is None or not instance.definition.has_unique_reference:
            return
        holder = self.references.get((name, reference))
        if holder is not None and not holder.is_over and holder.reference == reference:
            raise Refused("reference", f"{reference} is in use by instance {holder.facts.id}, which is not over yet.")
        self.references[name, reference] = instance

    def _start(self, instance: Instance, *, waits: bool) -> None:
        """Start an instance, or queue it."""
        self.world.instances.append(instance)
        if not waits:
            instance.status = InstanceStatus.RUNNING
            self.world.starts.append((instance, Started(instance.input)))

    # Limits

    def _has_room(self, definition: Definition) -> bool:
        """Return whether one more may begin; a child runs in its parent's place."""
        most = _limits(definition).get("concurrent")
        same = [one for one in self.world.instances if one.definition.name == definition.name and not one.is_child]
        return most is None or sum(one.status is not InstanceStatus.QUEUED and not one.is_over for one in same) < most

    def admit(self, definition: Definition) -> None:
        """Start the instances that wait longest, as many as the limit allows."""
        for waiting in self.world.instances:
            mine = waiting.definition.name == definition.name and waiting.status is InstanceStatus.QUEUED
            if mine and self._has_room(definition):
                waiting.status = InstanceStatus.RUNNING
                self.world.pending.append((waiting, Started(waiting.input)))

    def _start_inside(self, instance: Instance) -> None:
        """Start what another instance starts; at a limit it is queued, whatever its author says about starts by people."""
        limited = not instance.is_child and _limits(instance.definition).get("concurrent") is not None
        self._start(instance, waits=limited)
        if limited:
            self.admit(instance.definition)

    # By other instances

    def start_child(self, instance: Instance, effect: StartChild) -> None:
        """Start what an instance starts, as its child or as what it continues with."""
        if effect.name not in self.world.definitions:
            if effect.token is not None:
                self.world.pending.append((instance, self._stub(instance, effect)))
            return
        try:
            child = self._child(instance, effect)
        except Refused as refusal:
            self._refuse_child(instance, effect, refusal)
            return
        if effect.token is not None:
            child.parent, child.is_child = (instance, effect.token), True
            instance.children[effect.token] = child
        self._start_inside(child)

    def _child(self, instance: Instance, effect: StartChild) -> Instance:
        definition = self.world.definitions[effect.name]
        if instance.depth >= DEEPEST:
            raise Refused("too_deep", f"Children nest at most {DEEPEST} deep.")
        values, problems = check_values(definition.input_schema, {} if effect.input is None else effect.input)
        if problems:
            raise Refused("child_input", unfit_input(effect.name, problems[0]))
        label, places = _named(instance, effect)
        by = instance.facts.started_by
        child = self._new_instance(definition, values, by, label, effect.instance, places=places)
        child.hops = _hops_from(instance)
        child.depth = instance.depth + 1 if effect.token is not None else 0
        self._hold_reference(child)
        return child

    def _refuse_child(self, instance: Instance, effect: StartChild, refusal: Refused) -> None:
        """Answer the parent's wait as a failed child would; without a wait nothing happens."""
        if effect.token is None:
            return
        error_class = "definition" if refusal.code in ("too_deep", "child_input") else "business"
        error = error_names(ErrorRecord(error_class, refusal.code, str(refusal), effect.step))
        self.world.pending.append((instance, ChildEnded(effect.token, "failed", None, None, error, "")))

    def _stub(self, instance: Instance, effect: StartChild) -> ChildEnded:
        """Answer for a child whose definition is not at hand: as `calls` says, else completed with no output."""
        wait = instance.waits.get(effect.token or 0)
        given = self.world._given(instance, "calls", wait) if wait is not None else None
        output = (given or {}).get("result", {})
        return ChildEnded(effect.token or 0, "completed", None, output, None, effect.instance or "")

    def start_listeners(self, instance: Instance, effect: Emit) -> None:
        """Start every workflow that an event is meant for; a payload that does not fit starts nothing."""
        for name, definition in sorted(self.world.definitions.items()):
            found = None
            with suppress(StepError):
                found = event_start(definition, effect.name, effect.payload, self.world.now)
            if found is None:
                continue
            values, problems = check_values(definition.input_schema, found.input)
            if not problems:
                by = instance.facts.started_by
                born = self._new_instance(definition, values, by, name, reference=found.reference)
                born.hops = _hops_from(instance)
                with suppress(Refused):
                    self._hold_reference(born)
                    self._start_inside(born)


def _hops_from(instance: Instance) -> int:
    """Count the instances that started one another without a wait in between: such a chain must end."""
    waited = instance.snapshot is not None and instance.snapshot.waited
    hops = 1 if waited else instance.hops + 1
    if hops > LONGEST_CHAIN:
        raise OverBudget(f"more than {LONGEST_CHAIN} cases start one another without a wait in between")
    return hops


def _named(instance: Instance, effect: StartChild) -> tuple[str, tuple[Place, ...]]:
    """Return the names under which a test means an instance: its step's, or its workflow's where no step waits for it."""
    wait = instance.waits.get(effect.token or 0)
    if effect.token is None:
        return effect.name, ()
    place = (effect.step, wait.iteration if wait is not None else "")
    label = f"{instance.label}/{''.join(place)}" if instance.label else "".join(place)
    return label, (*instance.places, place)


def _refuse_starter(definition: Definition, person: Person) -> None:
    if person.level < definition.starters.min_level:
        raise Refused("level", f"level {definition.starters.min_level} is needed")
    roles = set(definition.starters.roles)
    if roles and not roles & person.roles:
        raise Refused("not_candidate", "they may not start this")


def _limits(definition: Definition) -> Mapping[str, Json]:
    return definition.canonical.get("limits") or {}
