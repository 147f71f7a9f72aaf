"""What the simulator shows is what happens: every stored test of the gallery, event by event, through the real commit.

The simulator plays a test; each event it sends to a case is then delivered to a real instance at the same moment, with every
constraint of the database checked after each commit. In the end both have run the same steps to the same ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from engine.gallery import gallery
from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import normalize
from engine.kernel.program import Definition
from engine.kernel.signals import Continue, Event, SignalType, Started
from engine.kernel.simulator import run_test
from engine.kernel.simulator.instance import Instance as Case
from engine.models import Instance, Signal, StepRun, Template, TemplateVersion
from engine.runtime import claims, coordinator
from engine.runtime.commit import Batch
from engine.runtime.projection import Delivery, new_instance
from engine.services.audit.verification import verify_folds
from tests.cast import Cast
from workflowplatform.accounts.actor import Actor
from workflowplatform.ids import uuid7

TIMED = """
workflow: timed-and-throttled
title: Timed and throttled
steps:
  - for_each:
      each: [1, 2, 3]
      steps:
        - {id: talk, task: {title: Talk}, throttle: {key: room, limit: 2}, timeout: PT1H, on_timeout: []}
        - id: send
          call: {python: echo}
          throttle: {key: post, limit: 1}
          rate_limit: {key: post, limit: 1, per: PT1M}
          retry: {attempts: 2, delay: PT1S}
tests:
  - name: two at once, one letter a minute, one gives up
    start: {}
    calls: {send: [{error: timeout}, {result: ok}]}
    do:
      - {expect: {tasks: {talk: 2}}}
      - {complete: "talk[0]"}
      - {expect: {tasks: {talk: 2}, calls: {send: 1}, runs: {send: [retrying]}}}
      - {complete: "talk[1]"}
      - {advance: PT2H}
    expect: {status: completed, calls: {send: 4}, runs: {talk: [success, success, timed_out]}}
"""
DEFINITIONS: dict[str, Definition] = {}


def definitions() -> dict[str, Definition]:
    """Return the gallery's compiled definitions, each compiled once."""
    if not DEFINITIONS:
        for name, source in {**gallery(), "timed-and-throttled": TIMED}.items():
            canonical = normalize(source).canonical
            assert canonical is not None, name
            DEFINITIONS[name] = compile_definition(canonical)
    return DEFINITIONS


def stored_tests() -> Iterator[Any]:
    """Yield every stored test; in the short form the first of each workflow."""
    for name, definition in definitions().items():
        for place, test in enumerate(definition.canonical.get("tests", ())):
            marks = [pytest.mark.slow] if place else []
            yield pytest.param(name, test, id=f"{name}: {test.get('name', '')}", marks=marks)


@dataclass
class Real:
    """The real instances next to the simulated ones."""

    cast: Cast
    versions: dict[str, TemplateVersion]
    ids: dict[int, UUID] = field(default_factory=dict)

    def take(self, case: Case, now: datetime, event: Event) -> None:
        """Let the same happen to the real instance."""
        if isinstance(event, Started):
            self._start(case, now, event)
        else:
            self._deliver(self.ids[id(case)], now, event)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")

    def _actor(self) -> Actor:
        return Actor(None, "simulated", 5, self.cast.acme.pk, self.cast.acme.pk)

    def _start(self, case: Case, now: datetime, event: Started) -> None:
        unknown = Instance.objects.filter(template__name=case.definition.name).exclude(pk__in=self.ids.values())
        born = unknown.order_by("id").first()
        self.ids[id(case)] = born.pk if born else self._give_birth(case, now, event)
        self._go_on(self.ids[id(case)], now)

    def _give_birth(self, case: Case, now: datetime, event: Started) -> UUID:
        version = self.versions[case.definition.name]
        facts = {"now": now, "started_by": case.facts.started_by, "started_by_id": None}
        loaded = new_instance(version, case.definition.name, event.input, **facts)
        batch = Batch()
        return coordinator._commit(batch, coordinator._run(batch, loaded, (), self._actor()))[0].instance_id

    def _deliver(self, instance_id: UUID, now: datetime, event: Event) -> None:
        token = getattr(event, "token", None)
        delivery = Delivery(event, SignalType.EXTERNAL_SIGNAL, uuid7(), self._actor(), token=token, queued=False)
        loaded = replace(claims.load([instance_id])[instance_id], now=now)
        batch = Batch()
        coordinator._commit(batch, coordinator._run(batch, loaded, [delivery], self._actor()))
        self._go_on(instance_id, now)

    def _go_on(self, instance_id: UUID, now: datetime) -> None:
        """Carry a slice on that stopped early: the simulator never does."""
        pending = Signal.objects.filter(instance_id=instance_id, type=SignalType.INTERNAL_CONTINUE)
        if pending.exists():
            pending.delete()
            self._deliver(instance_id, now, Continue())


@pytest.fixture
def real(cast: Cast) -> Real:
    """Return the gallery as active templates of Acme, whatever roles and secrets it wants."""
    versions = {}
    for name, definition in definitions().items():
        template = Template.objects.create(tenant=cast.acme, name=name)
        limit = (definition.canonical.get("limits") or {}).get("concurrent")
        Template.objects.filter(pk=template.pk).update(concurrent_limit=limit)
        versions[name] = TemplateVersion.objects.create(
            tenant=cast.acme,
            template=template,
            number=1,
            status="active",
            source="",
            canonical=definition.canonical,
            event_name=(definition.canonical.get("event") or {}).get("name", ""),
        )
    return Real(cast, versions)


def told(case: Case) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return what the simulator showed last of each run."""
    return {(run.run, run.attempt): (run.step, run.path, run.iteration, run.status.value) for run in case.trace}


def found(instance_id: UUID) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return what the tables hold of each run."""
    rows = StepRun.objects.filter(instance_id=instance_id)
    return {(run.run, run.attempt): (run.step, run.path, run.iteration, run.status) for run in rows}


@pytest.mark.parametrize(("name", "test"), list(stored_tests()))
def test_the_simulated_trace_equals_the_real_one(
    real: Real, name: str, test: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Case, datetime, Event]] = []
    send = Case.send

    def recording(case: Case, event: Event) -> Any:
        sent.append((case, case.world.now, event))
        return send(case, event)

    monkeypatch.setattr(Case, "send", recording)
    report = run_test(definitions()[name], test, definitions())
    assert report.failures == ()
    for case, now, event in sent:
        real.take(case, now, event)
    for case in {id(case): case for case, _, _ in sent}.values():
        instance = Instance.objects.get(pk=real.ids[id(case)])
        assert found(instance.pk) == told(case)
        assert (instance.status, instance.outcome) == (case.status, case.outcome)
        assert case.snapshot is not None
        assert instance.state == case.snapshot.state
    assert verify_folds().broken == ()
