"""What a webhook is told: everything it waits for once committed, signed, tried again, and nothing of other tenants."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any

import pytest
import standardwebhooks
from django.core import mail
from django.db import connection, transaction

from engine.audit.chain import database_now
from engine.dispatch import webhooks as dispatch
from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Audit, DeliveryAttempt, Webhook, WebhookDelivery
from engine.services.people import accounts as people
from engine.services.tasks.lifecycle import claim_task, complete_task
from engine.services.webhooks import deliveries
from engine.services.webhooks import subscriptions as webhooks
from engine.services.webhooks.deliveries import PAUSES, DeliveryResult, collect, pause_after, settle, take_on
from engine.services.webhooks.events import EVENTS
from engine.transports.address_guard import AddressRefused, safe_addresses
from tests.cast import Cast
from tests.races.crowd import at_once
from tests.services.outside import Outside, outside_world
from tests.workflows import APPROVAL, TWO_TASKS, activated, only_task, started
from workflowplatform.accounts.actor import Actor
from workflowplatform.accounts.models import Tenant

ADDRESS = "https://hooks.example.com/in"
GOOD, BAD = DeliveryResult(200), DeliveryResult(500, "The answer was 500.")


@pytest.fixture
def outside(settings: Any) -> Generator[Outside]:
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        yield world


def made(actor: Actor, *events: str, url: str = ADDRESS, **more: Any) -> tuple[Webhook, str]:
    return webhooks.create_webhook(actor=actor, url=url, events=events or ["instance.started"], **more)


def collected(expected: int) -> list[WebhookDelivery]:
    """Collect until as many are there: another test's open transaction holds the cursor back for a while."""
    give_up = time.monotonic() + 60
    while WebhookDelivery.objects.count() < expected and time.monotonic() < give_up:
        collect()
        time.sleep(0.02)
    return list(WebhookDelivery.objects.order_by("audit_id"))


def one_try() -> deliveries.Try:
    """Take the one delivery that is due, as a worker does."""
    WebhookDelivery.objects.filter(status="pending").update(due_at=database_now())
    (taken,) = take_on()
    return taken


def test_committed_acts_are_told_signed_and_once(committed_cast: Cast, outside: Outside) -> None:
    gwen, ada = committed_cast.actor("gwen"), committed_cast.actor("ada")
    activated(gwen, APPROVAL)
    activated(gwen, TWO_TASKS)
    wanted = ("instance.started", "task.opened", "task.claimed", "task.completed", "instance.completed")
    _, secret = made(gwen, *wanted, url=f"{outside.origin}/status/204", templates=["approval"])
    made(committed_cast.actor("sam"), *EVENTS, url=f"{outside.origin}/status/500")
    case = started(committed_cast.actor("uri"), "approval", amount=12)
    started(ada, "two")
    task = only_task(case)
    claim_task(actor=ada, task_id=task.pk)
    complete_task(actor=ada, task_id=task.pk, outcome="approve", values={"note": "ok"})
    assert [one.event for one in collected(5)] == list(wanted)
    assert dispatch.send_webhooks() == 5
    told = [
        standardwebhooks.Webhook(secret).verify(body, headers)
        for method, path, headers, body in outside.requests
        if (method, path) == ("POST", "/status/204")
    ]
    assert len(told) == len(outside.requests) == 5
    assert {one["type"] for one in told} == set(wanted)
    assert {(one["data"]["instance"], one["data"]["reference"]) for one in told} == {(str(case.pk), "APP-12")}
    by_type = {one["type"]: one["data"] for one in told}
    assert {by_type[name]["task"] for name in wanted[1:4]} == {str(task.pk)}
    assert (by_type["task.completed"]["outcome"], by_type["task.claimed"]["assignee"]) == ("approve", "ada")
    assert "ok" not in json.dumps(told), "what people answered is asked for, not told"
    assert (collect(), dispatch.send_webhooks()) == (0, 0)
    assert set(WebhookDelivery.objects.values_list("status", "attempts")) == {("delivered", 1)}


def test_act_that_commits_late_is_not_passed_over(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    activated(gwen, TWO_TASKS)
    webhook, _ = made(gwen)
    written, go_on = threading.Event(), threading.Event()

    def late() -> None:
        try:
            with transaction.atomic():
                started(gwen, "two")
                written.set()
                go_on.wait(30)
        finally:
            connection.close()

    other = threading.Thread(target=late)
    other.start()
    assert written.wait(30)
    started(gwen, "two")
    collect()
    assert WebhookDelivery.objects.count() == 0, "the younger one waits behind the older one that still runs"
    go_on.set()
    other.join()
    told = collected(2)
    starts = Audit.objects.filter(action="start_workflow").values_list("pk", flat=True)
    assert sorted(one.audit_id or 0 for one in told) == sorted(starts)
    webhook.refresh_from_db()
    assert webhook.after_xid > max(Audit.objects.values_list("xid", flat=True))


def test_killed_worker_leaves_a_message_that_goes_out_again_under_its_id(
    committed_cast: Cast, outside: Outside
) -> None:
    gwen = committed_cast.actor("gwen")
    webhook, _ = made(gwen, url=f"{outside.origin}/slow/30")
    ping = webhooks.ping_webhook(actor=gwen, webhook_id=webhook.pk)
    connection.close()
    worker = os.fork()
    if not worker:
        dispatch.send_webhooks()
        os._exit(0)
    while not outside.requests:
        time.sleep(0.01)
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    ping.refresh_from_db()
    assert (ping.status, ping.attempts) == ("pending", 1)
    assert timedelta() < ping.due_at - database_now() < timedelta(seconds=21)
    assert take_on() == [], "nobody takes it on before its deadline"
    Webhook.objects.update(url=f"{outside.origin}/status/200")
    WebhookDelivery.objects.update(due_at=database_now())
    assert dispatch.send_webhooks() == 1
    (_, _, first, body), (_, _, again, same) = outside.requests
    assert (first["webhook-id"], body) == (again["webhook-id"], same)
    log = list(DeliveryAttempt.objects.order_by("number").values_list("number", "status"))
    assert log == [(1, None), (2, 200)]
    assert WebhookDelivery.objects.get().status == "delivered"


def test_two_workers_never_take_or_settle_the_same_try(committed_cast: Cast) -> None:
    gwen = committed_cast.actor("gwen")
    webhook, _ = made(gwen)
    for _ in range(4):
        webhooks.ping_webhook(actor=gwen, webhook_id=webhook.pk)
    taken = at_once([take_on] * 4)
    ids = [one.delivery_id for some in taken for one in some]
    assert len(ids) == len(set(ids)) == 4
    tries = [one for some in taken for one in some]
    assert at_once([lambda: settle(tries[0], GOOD), lambda: settle(tries[0], BAD)]).count(True) == 1
    counted = at_once([lambda one=one: settle(one, BAD) for one in tries[1:]])  # type: ignore[misc]
    assert counted == [True, True, True]
    webhook.refresh_from_db()
    assert webhook.failures in {3, 4}


@pytest.fixture
def hook(gwen: Actor) -> Webhook:
    """A webhook with one message on its way."""
    webhook, _ = made(gwen)
    webhooks.ping_webhook(actor=gwen, webhook_id=webhook.pk)
    return webhook


def test_failed_try_is_made_again_after_growing_pauses(hook: Webhook) -> None:
    for pause in PAUSES:
        before = database_now()
        assert settle(one_try(), BAD)
        delivery = WebhookDelivery.objects.get()
        assert delivery.status == "pending"
        assert pause * 0.79 < delivery.due_at - before < pause * 1.21 + timedelta(seconds=30)
    settle(one_try(), BAD)
    assert WebhookDelivery.objects.get().status == "failed"
    hook.refresh_from_db()
    assert (hook.status, hook.failures) == ("active", len(PAUSES) + 1), "so many failures, but not for long enough"
    assert sum(PAUSES, timedelta()) > timedelta(days=2)


def test_pause_is_as_long_as_the_other_side_asks_within_a_day() -> None:
    assert pause_after(1, timedelta(hours=2)) == timedelta(hours=2)
    assert pause_after(1, timedelta(days=90)) == timedelta(days=1)
    assert (pause_after(1, timedelta(0)) or timedelta()) >= timedelta(seconds=4)


def test_late_answer_of_a_try_that_was_given_up_does_not_count(hook: Webhook) -> None:
    lost = one_try()
    second = one_try()
    assert not settle(lost, GOOD)
    assert WebhookDelivery.objects.get().status == "pending"
    assert settle(second, GOOD)
    assert not settle(second, BAD)


def test_address_that_is_gone_is_disabled_at_once_with_a_notice(
    hook: Webhook, gwen: Actor, django_capture_on_commit_callbacks: Callable[..., Any], settings: Any
) -> None:
    settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
    with django_capture_on_commit_callbacks(execute=True):
        settle(one_try(), DeliveryResult(410, "The answer was 410 Gone."))
    hook.refresh_from_db()
    assert (hook.status, "410" in hook.reason) == ("disabled", True)
    assert WebhookDelivery.objects.get().status == "failed"
    assert Audit.objects.filter(action="disable_webhook", subject_kind="tenant").count() == 1
    assert [letter.to for letter in mail.outbox] == [["gwen@acme.example"]]
    assert "410" in mail.outbox[0].body
    assert f"https://workflow.example.com/admin/engine/webhook/{hook.pk}/change/" in mail.outbox[0].body
    with pytest.raises(Conflict):
        webhooks.ping_webhook(actor=gwen, webhook_id=hook.pk)


def test_webhook_is_disabled_after_many_failures_over_a_long_time(hook: Webhook, gwen: Actor, settings: Any) -> None:
    settings.WORKFLOW_WEBHOOK_FAILURES = 3
    for _ in range(3):
        settle(one_try(), BAD)
    hook.refresh_from_db()
    assert hook.status == "active"
    Webhook.objects.update(failing_since=database_now() - timedelta(hours=24))
    settle(one_try(), BAD)
    hook.refresh_from_db()
    assert (hook.status, hook.failures) == ("disabled", 4)
    WebhookDelivery.objects.update(due_at=database_now())
    assert take_on() == [], "a disabled webhook is told nothing"
    webhooks.resume_webhook(actor=gwen, webhook_id=hook.pk)
    hook.refresh_from_db()
    assert (hook.status, hook.failures, hook.reason) == ("active", 0, "")
    assert settle(one_try(), GOOD)


def test_success_forgets_the_failures_before(hook: Webhook) -> None:
    settle(one_try(), BAD)
    settle(one_try(), GOOD)
    hook.refresh_from_db()
    assert (hook.failures, hook.failing_since) == (0, None)
    assert hook.delivered_at is not None


def test_webhook_whose_owner_may_no_longer_see_is_disabled(cast: Cast, hook: Webhook) -> None:
    people.create_person(actor=None, tenant=cast.acme, name="greta", level=5)
    people.deactivate_person(actor=cast.actor("greta"), person=cast.gwen)
    assert collect() == 0
    hook.refresh_from_db()
    assert (hook.status, "gwen" in hook.reason) == ("disabled", True)
    webhooks.resume_webhook(actor=cast.actor("greta"), webhook_id=hook.pk)
    hook.refresh_from_db()
    assert (hook.status, hook.owner_name) == ("active", "greta")


def test_failed_deliveries_are_sent_again_one_or_all_since(hook: Webhook, ada: Actor, gwen: Actor) -> None:
    first = one_try()
    settle(first, DeliveryResult(410))
    webhooks.resume_webhook(actor=gwen, webhook_id=hook.pk)
    later = database_now()
    assert deliveries.replay_failed(actor=ada, webhook_id=hook.pk, since=later) == 0
    assert deliveries.replay_failed(actor=ada, webhook_id=hook.pk) == 1
    again = one_try()
    assert (again.delivery_id, again.body, again.number) == (first.delivery_id, first.body, 2)
    settle(again, GOOD)
    replayed = deliveries.replay_delivery(actor=ada, delivery_id=again.delivery_id)
    assert (replayed.status, replayed.attempts, replayed.tries) == ("pending", 2, 0)
    with pytest.raises(Conflict):
        deliveries.replay_delivery(actor=ada, delivery_id=again.delivery_id)


def test_what_ended_long_ago_is_forgotten_and_nothing_else(hook: Webhook, gwen: Actor) -> None:
    settle(one_try(), GOOD)
    webhooks.ping_webhook(actor=gwen, webhook_id=hook.pk)
    assert deliveries.forget_old() == 0
    WebhookDelivery.objects.filter(status="delivered").update(ended_at=database_now() - timedelta(days=31))
    assert deliveries.forget_old() == 1
    assert WebhookDelivery.objects.get().status == "pending"
    assert DeliveryAttempt.objects.count() == 0


def test_both_secrets_sign_while_one_replaces_the_other(hook: Webhook, gwen: Actor) -> None:
    _, new = webhooks.rotate_secret(actor=gwen, webhook_id=hook.pk)
    hook.refresh_from_db()
    both = deliveries.secrets_of(one_try())
    assert (len(both), both[0]) == (2, new)
    Webhook.objects.update(old_secret_until=database_now())
    assert deliveries.secrets_of(one_try()) == [new]
    with pytest.raises(Invalid):
        webhooks.rotate_secret(actor=gwen, webhook_id=hook.pk, keep_for=timedelta(days=31))


def test_secrets_are_encrypted_at_rest(gwen: Actor) -> None:
    webhook, secret = made(gwen)
    assert secret.startswith("whsec_")
    assert secret.removeprefix("whsec_").encode() not in bytes(webhook.secret)


def test_redirect_is_not_followed_and_nothing_private_is_reached(gwen: Actor, outside: Outside, settings: Any) -> None:
    webhook, _ = made(gwen, url=f"{outside.origin}/to/{outside.origin}/status/200")
    webhooks.ping_webhook(actor=gwen, webhook_id=webhook.pk)
    answer = dispatch.post(one_try())
    assert (answer.status, answer.is_good, len(outside.requests)) == (307, False, 1)
    assert "redirect" in answer.error
    settings.WORKFLOW_HTTP_ALLOW = []
    refused = dispatch.post(one_try())
    assert (refused.status, len(outside.requests)) == (None, 1)
    with pytest.raises(AddressRefused) as guarded:
        safe_addresses("127.0.0.1", 80, private=False, timeout=1)
    assert str(guarded.value) in refused.error


def test_only_the_beginning_of_an_answer_is_kept(gwen: Actor, outside: Outside) -> None:
    webhook, _ = made(gwen, url=f"{outside.origin}/status/503")
    webhooks.ping_webhook(actor=gwen, webhook_id=webhook.pk)
    taken = one_try()
    settle(taken, DeliveryResult(503, "no", "x" * 5000))
    assert len(DeliveryAttempt.objects.get().answer) == 1024


BAD_ADDRESSES = (
    "ftp://example.com/", "https://", "nonsense", "https://user:pass@example.com/", "http://127.0.0.1/", "http://[::1]/x",
    "http://169.254.169.254/latest", "http://10.0.0.1", "http://localhost:8000/", "http://2130706433/", "https://a\x00b/",
)  # fmt: skip


@pytest.mark.parametrize("url", BAD_ADDRESSES)
def test_address_that_could_never_be_reached_is_refused(gwen: Actor, url: str) -> None:
    with pytest.raises(Invalid) as refusal:
        made(gwen, url=url)
    assert [error.path for error in refusal.value.errors] == ["url"]


def test_tenants_own_list_is_exhaustive(cast: Cast, gwen: Actor) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(http_allow=["https://other.example"])
    with pytest.raises(Invalid):
        made(gwen)
    made(gwen, url="https://other.example/in")


def test_unknown_events_and_templates_are_refused_by_name(gwen: Actor) -> None:
    with pytest.raises(Invalid) as refusal:
        made(gwen, "task.opened", "task.eaten", templates=["nobodys"])
    assert [(error.path, error.code) for error in refusal.value.errors] == [
        ("events", "unknown"),
        ("templates", "unknown"),
    ]


def test_level_4_sees_and_level_5_manages(hook: Webhook, ada: Actor, uri: Actor, sam: Actor) -> None:
    assert webhooks.find_webhook(actor=ada, webhook_id=hook.pk) == hook
    with pytest.raises(Refused):
        made(ada)
    with pytest.raises(Refused):
        webhooks.delete_webhook(actor=ada, webhook_id=hook.pk)
    for stranger, refusal in ((uri, Refused), (sam, NotFound)):
        for act in (webhooks.find_webhook, webhooks.delete_webhook, webhooks.ping_webhook, deliveries.replay_failed):
            with pytest.raises(refusal):
                act(actor=stranger, webhook_id=hook.pk)  # type: ignore[operator]
    with pytest.raises(Refused):
        deliveries.list_deliveries(actor=uri)


def test_every_event_tells_acts_that_the_audit_knows() -> None:
    actions = [action for told in EVENTS.values() for action in told]
    assert len(actions) == len(set(actions))
