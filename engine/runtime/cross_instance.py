"""Carry what a slice asks of other instances: children to start or to end, signals to send.

A slice writes rows of its own instance only. A child is created in its parent's transaction as an instance of its own;
everything else that concerns another instance is a signal to it. That a child has ended is told to its parent by
engine.runtime.coordinator.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.audit.chain import Act
from engine.kernel.effects import CancelChild, Emit, ErrorRecord, StartChild
from engine.kernel.errors import StepError, error_names
from engine.kernel.forms import FieldError, check_values
from engine.kernel.interpreter.triggers import EventStart, event_start
from engine.kernel.signals import ChildEnded, SignalType
from engine.kernel.steps.children import unfit_input
from engine.kernel.transitions import TERMINAL_INSTANCE
from engine.models import Instance, TemplateVersion
from engine.runtime import signal_routing
from engine.runtime.definition_cache import definition_of
from engine.runtime.projection import Loaded, Stage, new_instance
from engine.runtime.signal_routing import Address

DEEPEST = 25
"""How deep children may be nested."""


@dataclass(frozen=True, slots=True)
class ChildStart:
    """An instance that a slice starts, and what of the slice wants it."""

    born: Loaded
    effect: StartChild | Emit

    def refuse(self, stage: Stage, code: str, message: str) -> None:
        """Refuse the start: answer the parent's wait, or write the refusal to the history of the instance that asked."""
        if isinstance(self.effect, StartChild):
            _refuse(stage, self.effect, "business", code, message)
        else:
            new = {"workflow": self.born.facts.template, "event": self.effect.name}
            stage.refusals.append(Act("refuse_start", cause=message, new=new))


def child_starts_of(stage: Stage) -> Iterator[ChildStart]:
    """Return the instances that this slice starts; one that cannot be started answers its parent at once."""
    for effect in stage.result.effects:
        if isinstance(effect, StartChild):
            child = _child(stage, effect)
            if child is not None:
                yield ChildStart(child, effect)
        elif isinstance(effect, Emit) and effect.kind == "event":
            for born in _started_by_event(stage, effect):
                yield ChildStart(born, effect)


def _started_by_event(stage: Stage, effect: Emit) -> Iterator[Loaded]:
    starter, starter_id = stage.loaded.facts.started_by, stage.loaded.started_by_id
    for version, given, errors in listeners(stage.loaded.tenant_id, effect.name, effect.payload, stage.now):
        if errors:
            continue
        name = version.template.name
        born = new_instance(version, name, given.input, now=stage.now, started_by=starter, started_by_id=starter_id)
        born = replace(born, facts=replace(born.facts, reference=given.reference), limited=version.is_limited)
        yield _linked(stage, born)


def _linked(stage: Stage, born: Loaded) -> Loaded:
    """Count a link of a chain: after a wait a new family begins, without one the family continues."""
    if stage.result.snapshot.waited:
        return born
    return replace(born, root_id=_root(stage), hops=stage.loaded.hops + 1)


def _root(stage: Stage) -> UUID:
    return stage.loaded.root_id or stage.loaded.instance_id


def listeners(
    tenant_id: UUID, name: str, payload: Any, now: datetime
) -> Iterator[tuple[TemplateVersion, EventStart, Sequence[FieldError]]]:
    """Return every active version that an event is meant for, what it is started with, and what of that does not fit it."""
    active = TemplateVersion.objects.startable().filter(tenant_id=tenant_id, event_name=name)
    for version in active.select_related("template", "tenant").order_by("template__name"):
        definition, faults = definition_of(version.pk), []
        try:
            given = event_start(definition, name, payload, now)
        except StepError as fault:
            given, faults = EventStart(payload), [FieldError("", fault.code, fault.message)]
        if given is not None:
            values, errors = check_values(definition.input_schema, given.input)
            yield version, replace(given, input=values), errors or faults


def _child(stage: Stage, effect: StartChild) -> Loaded | None:
    key = (stage.loaded.version_id, effect.name, effect.version)
    if key not in stage.batch.versions:
        stage.batch.versions[key] = _version(stage, effect)
    version = stage.batch.versions[key]
    if version is None:
        _refuse(stage, effect, "definition", "unknown_workflow", f"There is no active workflow named {effect.name}.")
        return None
    if stage.loaded.depth >= DEEPEST:
        _refuse(stage, effect, "definition", "too_deep", f"Children may be nested at most {DEEPEST} deep.")
        return None
    values, errors = check_values(definition_of(version.pk).input_schema, effect.input)
    if errors:
        first = errors[0]
        _refuse(stage, effect, "definition", "child_input", unfit_input(effect.name, first))
        return None
    return _born(stage, effect, version, values)


def _born(stage: Stage, effect: StartChild, version: TemplateVersion, values: Any) -> Loaded:
    born = new_instance(
        version,
        effect.name,
        values,
        now=stage.now,
        started_by=stage.loaded.facts.started_by,
        started_by_id=stage.loaded.started_by_id,
        instance_id=UUID(effect.instance) if effect.instance else None,
    )
    born = replace(born, parent_id=stage.loaded.instance_id, parent_token=effect.token)
    if effect.token is None:
        return _linked(stage, replace(born, limited=version.is_limited))
    hops = 0 if stage.result.snapshot.waited else stage.loaded.hops
    return replace(born, depth=stage.loaded.depth + 1, root_id=_root(stage), hops=hops)


def _version(stage: Stage, effect: StartChild) -> TemplateVersion | None:
    named = TemplateVersion.objects.filter(tenant_id=stage.loaded.tenant_id, template__name=effect.name)
    versions = named.select_related("template", "tenant")
    if effect.version == "same" and effect.name == stage.loaded.facts.template:
        return versions.filter(pk=stage.loaded.version_id).first()
    if effect.version.isdigit():
        return versions.exclude(status="draft").filter(number=int(effect.version), unavailable="").first()
    return versions.startable().first()


def _refuse(stage: Stage, effect: StartChild, error_class: str, code: str, message: str) -> None:
    """Answer the parent's wait as a child that failed would; where nobody waits, let the history say it."""
    if effect.token is None:
        stage.refusals.append(Act("refuse_start", step=effect.step, cause=message, new={"workflow": effect.name}))
        return
    error = error_names(ErrorRecord(error_class, code, message, effect.step))
    stage.answers.append(ChildEnded(effect.token, "failed", None, None, error, ""))


def all_addresses_of(stages: Sequence[Stage]) -> list[Address]:
    """Return every address that these slices listen at or send to."""
    return [
        address
        for stage in stages
        for address in signal_routing.addresses_of(stage.loaded.tenant_id, stage.result.opened, _emits(stage))
    ]


def _emits(stage: Stage) -> list[Emit]:
    return [effect for effect in stage.result.effects if isinstance(effect, Emit)]


def send_outward(stages: Sequence[Stage]) -> int:
    """Send what the slices emit, take what was kept for their new waits, end their children; return how many signals that made.

    Call after the batch is written, so that waits opened in it are seen.
    """
    sent = sum(_send_emits(stage) for stage in stages)
    sent += sum(
        signal_routing.take_kept_signals(
            stage.loaded.tenant_id, stage.loaded.instance_id, stage.result.opened, stage.now
        )
        for stage in stages
    )
    return sent + sum(_end_children(stage) for stage in stages)


def _send_emits(stage: Stage) -> int:
    sent = 0
    for emit in _emits(stage):
        if emit.kind == "signal" and emit.key is not None:
            address = Address(stage.loaded.tenant_id, emit.name, emit.key)
            sent += len(signal_routing.route(address, emit.payload, now=stage.now, ttl=emit.ttl).delivered)
    return sent


def _end_children(stage: Stage) -> int:
    tokens = [effect.token for effect in stage.result.effects if isinstance(effect, CancelChild)]
    if not tokens:
        return 0
    children = Instance.objects.filter(parent_id=stage.loaded.instance_id, parent_token__in=tokens)
    live = children.exclude(status__in=TERMINAL_INSTANCE).values_list("pk", flat=True)
    return signal_routing.queue_signals(stage.loaded.tenant_id, live, SignalType.PARENT_ENDED, stage.now)
