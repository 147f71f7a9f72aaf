"""Events start what listens, once; secrets reach the call and nobody else; rates hold back; late calls are made."""

from datetime import time
from zoneinfo import ZoneInfo

import pytest

from engine.dispatch.drain import drain
from engine.errors import Invalid, Refused
from engine.extensions import functions
from engine.kernel.expressions.secret_marks import hidden
from engine.models import Audit, Effect, Instance, RuntimeState, Secret, Signal
from engine.services.instances.events import accept_event
from engine.services.templates.versions import save_draft
from engine.services.tenants.settings import delete_secret, put_calendar, put_secret
from tests.cast import Cast
from tests.flaky import counter
from tests.workflows import activated, started
from workflowplatform.accounts.actor import Actor

LISTENS = """
workflow: ordered
title: Ordered
trigger: event
event: {name: order, when: start.total > 10, reference: "${'ORD-' + start.id}"}
input: {type: object, required: [id, total], properties: {id: {type: string}, total: {type: number}}}
steps:
  - id: work
    task: {title: "Order ${start.id}"}
"""

EMITS = """
workflow: shop
title: Shop
steps:
  - id: tell
    emit: {event: order, payload: {id: x1, total: 99}}
"""

SECRETIVE = """
workflow: secretive
title: Secretive
steps:
  - id: ask
    call: {python: {function: echo, args: {token: "Bearer ${secret.api_key}"}}}
  - id: keep
    set: {kept: "${result.ask.token}"}
"""

RATED = """
workflow: rated
title: Rated
steps:
  - id: step
    rate_limit: {key: bank, limit: 2, per: PT1H}
    set: {passed: true}
"""

OFFICE = """
workflow: office-hours
title: Office hours
calendar: office
steps:
  - id: work
    task: {title: Work, due: P1D}
"""

TIDY = """
workflow: tidy
title: Tidy
steps:
  - id: work
    set: {done: true}
    finally:
      - id: tell
        call: {python: {function: test_slow, args: {seconds: 0}}}
"""


def test_an_event_starts_what_listens_once_per_id(gwen: Actor, ada: Actor) -> None:
    activated(gwen, LISTENS)
    event = {"actor": ada, "name": "order", "external_id": "e-1", "payload": {"id": "7", "total": 12}}
    first, second = accept_event(**event), accept_event(**event)
    assert first == second
    instance = Instance.objects.get()
    assert (first.started, instance.reference) == ((instance.pk,), "ORD-7")


def test_an_event_that_does_not_fit_starts_nothing(gwen: Actor, ada: Actor, sam: Actor) -> None:
    activated(gwen, LISTENS)
    assert accept_event(actor=ada, name="order", external_id="a", payload={"id": "7", "total": 3}).started == ()
    assert accept_event(actor=ada, name="order", external_id="b", payload={"id": 7, "total": 30}).started == ()
    assert [one.code for one in accept_event(actor=ada, name="order", external_id="e").refused] == ["invalid"]
    assert accept_event(actor=ada, name="other", external_id="c", payload={}).started == ()
    assert accept_event(actor=sam, name="order", external_id="d", payload={"id": "7", "total": 30}).started == ()


def test_at_the_limit_an_event_queues_what_it_starts_or_leaves_the_refusal_on_record(committed_cast: Cast) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, LISTENS.replace("steps:", "limits: {concurrent: 1}\nsteps:"))
    refusing = LISTENS.replace("workflow: ordered", "workflow: busy")
    activated(gwen, refusing.replace("steps:", "limits: {concurrent: 1, at_limit: refuse}\nsteps:"))
    first, second = (
        accept_event(actor=ada, name="order", external_id=f"e-{number}", payload={"id": "7", "total": 12})
        for number in (1, 2)
    )
    instances = Instance.objects.order_by("template__name", "id").values_list("template__name", "status")
    assert list(instances) == [("busy", "running"), ("ordered", "running"), ("ordered", "queued")]
    assert first.refused == ()
    assert [(one.template, one.code) for one in second.refused] == [("busy", "limit")]
    assert Audit.objects.get(action="refuse_event").cause == second.refused[0].message


def test_bad_events_are_refused(uri: Actor, ada: Actor) -> None:
    with pytest.raises(Refused):
        accept_event(actor=uri, name="order", external_id="x")
    with pytest.raises(Invalid):
        accept_event(actor=ada, name="", external_id="x", payload={"n": float("nan")})


def test_an_emitted_event_starts_its_listener_in_the_same_commit(gwen: Actor, ada: Actor) -> None:
    activated(gwen, LISTENS)
    activated(gwen, EMITS)
    started(ada, "shop")
    assert Instance.objects.get(template__name="ordered").reference == "ORD-x1"


def test_a_secret_reaches_the_call_and_nothing_else(committed_cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    cast, given = committed_cast, []
    monkeypatch.setitem(functions._registered, "echo", lambda **values: given.append(values) or values)
    monkeypatch.setattr(functions, "_with_secrets", {"echo"})
    gwen = cast.actor("gwen")
    put_secret(actor=gwen, name="api_key", value="s3cr3t-value")
    activated(gwen, SECRETIVE)
    instance = started(cast.actor("ada"), "secretive")
    stored = str(list(Effect.objects.values_list("request", flat=True)))
    assert "s3cr3t-value" not in stored
    drain()
    instance.refresh_from_db()
    assert given == [{"token": "Bearer s3cr3t-value"}]
    assert instance.state == {"kept": f"Bearer {hidden('api_key')}"}
    assert b"s3cr3t" not in bytes(Secret.objects.get().ciphertext)
    for rows in (Audit.objects.values_list("new", flat=True), Signal.objects.values_list("payload", flat=True)):
        assert "s3cr3t" not in str(list(rows))


def test_secrets_and_calendars_are_level_five(gwen: Actor, ada: Actor) -> None:
    with pytest.raises(Refused):
        put_secret(actor=ada, name="k", value="a-long-value")
    with pytest.raises(Invalid):
        put_secret(actor=gwen, name="Bad Name", value="a-long-value")
    with pytest.raises(Invalid):
        put_calendar(actor=gwen, name="office", content={"zone": "Mars/Base"})
    put_secret(actor=gwen, name="k", value="a-long-value")
    delete_secret(actor=gwen, name="k")
    assert not Secret.objects.exists()


def test_over_the_rate_a_step_waits_for_its_turn(committed_cast: Cast) -> None:
    cast = committed_cast
    activated(cast.actor("gwen"), RATED)
    statuses = [started(cast.actor("ada"), "rated").status for _ in range(3)]
    assert statuses == ["completed", "completed", "running"]
    held = Instance.objects.get(status="running")
    assert (held.waits.get().kind, held.signals.get().type) == ("timer", "TimerDue")


def test_a_call_from_finally_is_made_after_the_end(committed_cast: Cast) -> None:
    cast = committed_cast
    counter("slow").unlink(missing_ok=True)
    activated(cast.actor("gwen"), TIDY)
    instance = started(cast.actor("ada"), "tidy")
    assert instance.status == "completed"
    drain()
    assert counter("slow").stat().st_size == 1
    assert instance.effects.get().status == "succeeded"
    assert not Signal.objects.exists()
    assert RuntimeState.objects.get().runtime_status == "completed"


def test_a_wait_and_a_due_date_follow_the_tenants_calendar(gwen: Actor, ada: Actor) -> None:
    office = {"timezone": "Europe/Berlin", "hours": {"mon-fri": ["09:00-17:00"]}}
    put_calendar(actor=gwen, name="office", content=office)
    activated(gwen, OFFICE)
    instance = started(ada, "office-hours")
    due = instance.tasks.get().due_at
    assert due is not None
    berlin = due.astimezone(ZoneInfo("Europe/Berlin"))
    assert berlin.weekday() < 5
    assert time(9) <= berlin.time() <= time(17)


def test_an_unknown_calendar_is_a_finding(gwen: Actor) -> None:
    draft = save_draft(actor=gwen, source=OFFICE)
    assert "unknown_calendar" in {finding["code"] for finding in draft.findings}
