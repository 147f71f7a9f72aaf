"""Repairs in the admin: one instance, many with one cause, schedules, calendars and secrets; no other tenant reaches them."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from engine.dispatch.drain import drain
from engine.models import Audit, BulkAct, Instance, Schedule, Secret
from engine.services.instances.bulk_operations import begin_bulk_act
from engine.services.instances.repair import incidents_by_cause
from engine.services.schedules.lifecycle import create_schedule
from engine.services.tenants.settings import put_calendar, put_secret
from engine.storage.encryption import secrets_for_call
from tests.admin.conftest import BREAKS, SignIn, words_of
from tests.admin.test_operations import page
from tests.cast import Cast
from tests.hooks import codes, form_errors, notices, part, toasts, value, values
from tests.workflows import TIMER, activated, started
from workflowplatform.accounts.actor import Actor

OFFICE = {"timezone": "Europe/Berlin", "hours": {"mon": ["09:00-17:00"]}}


@pytest.fixture
def broken(gwen: Actor, ada: Actor) -> list[Instance]:
    """Return three instances that have stopped for the same cause."""
    activated(gwen, BREAKS)
    found = [started(ada, "breaks", over=0) for _ in range(3)]
    assert {instance.status for instance in found} == {"incident"}
    return found


def form_of(asked: Any) -> dict[str, str]:
    """Read the hidden fields of the page that asks before it begins."""
    return dict(re.findall(r'type="hidden" name="(action|rows|key)" value="([^"]*)"', words_of(asked)))


def press(browser: Client, row: object, button: str, **answers: str) -> Any:
    return browser.post(page(row, button), answers, follow=True)


def test_an_instance_is_suspended_and_resumed(sign_in: SignIn, case: Instance) -> None:
    browser = sign_in("ada")
    assert toasts(press(browser, case, "suspend", answer="audit")) == ["instance.suspend"]
    case.refresh_from_db()
    assert case.status == "suspended"
    assert toasts(press(browser, case, "resume")) == ["instance.resume"]


def test_a_failed_step_is_skipped_with_what_it_should_have_given(sign_in: SignIn, broken: list[Instance]) -> None:
    browser = sign_in("ada")
    assert notices(press(browser, broken[0], "skip", answer="known", output="{")) == ["json"]
    skipped = press(browser, broken[0], "skip", answer="known", output='{"half": 1}')
    assert toasts(skipped) == ["instance.skip"]
    broken[0].refresh_from_db()
    assert (broken[0].status, broken[0].state) == ("completed", {"done": True})


def test_a_signal_that_no_step_waits_for_is_reported(sign_in: SignIn, case: Instance) -> None:
    sent = press(sign_in("ada"), case, "signal", answer="papers", payload='{"a": 1}')
    assert toasts(sent) == ["instance.signal.ignored"]


def test_a_signal_is_sent_with_its_reason_on_record(sign_in: SignIn, case: Instance) -> None:
    press(sign_in("ada"), case, "signal", answer="papers", reason="They came by post.")
    sent = Audit.objects.get(subject_id=case.pk, action="send_signal")
    assert (sent.actor_name, sent.cause, sent.new) == ("ada", "They came by post.", {"name": "papers"})


def progress_of(browser: Client, act: BulkAct) -> tuple[str, ...]:
    """Return the status of an operation, how many rows are done, and of how many."""
    shown = browser.get(page(act))
    return tuple(value(name, shown) for name in ("status", "done", "total"))


def test_incidents_of_one_cause_are_tried_again_together(sign_in: SignIn, broken: list[Instance]) -> None:
    browser, address = sign_in("ada"), reverse("admin:engine_incidents")
    shown = browser.get(address)
    assert (value("group", shown), value("count", shown)) == ("breaks", "3")
    chosen = [str(instance.pk) for instance in broken[:2]]
    begun = browser.post(address, {"action": "retry", "reason": "known", "instance": [*chosen, "nonsense"]})
    act = BulkAct.objects.get()
    assert (begun.status_code, begun.headers["Location"]) == (302, page(act))
    assert progress_of(browser, act) == ("running", "0", "2")
    drain()
    assert progress_of(browser, act) == ("done", "2", "2")


def test_where_work_is_lost_the_page_asks_first(sign_in: SignIn, broken: list[Instance]) -> None:
    browser = sign_in("ada")
    asked = browser.post(
        reverse("admin:engine_incidents"),
        {"action": "skip", "reason": "known", "instance": [str(broken[0].pk), str(broken[1].pk)]},
    )
    assert (value("confirm", asked), value("total", asked)) == ("skip", "2")
    assert not BulkAct.objects.exists()
    form = form_of(asked) | {"reason": "known", "output": '{"half": 7}'}
    for _twice in range(2):
        browser.post(reverse("admin:engine_bulkact_begin"), form)
    act = BulkAct.objects.get()
    drain()
    assert progress_of(browser, act) == ("done", "2", "2")
    assert Instance.objects.filter(status="completed").count() == 2


def test_all_of_a_cause_are_selected_by_one_box(sign_in: SignIn, broken: list[Instance], ada: Actor) -> None:
    browser, address = sign_in("ada"), reverse("admin:engine_incidents")
    cause = incidents_by_cause(actor=ada)[0].cause
    asked = browser.post(address, {"action": "cancel", "all": "1", "cause": cause, "instance": [str(broken[0].pk)]})
    assert (value("confirm", asked), value("total", asked)) == ("cancel", "3")
    nothing = browser.post(address, {"action": "retry", "all": "1", "cause": "other"})
    assert notices(nothing) == ["nothing_selected"]


def test_what_was_typed_is_kept_when_it_is_refused(sign_in: SignIn, broken: list[Instance]) -> None:
    browser, address = sign_in("ada"), reverse("admin:engine_bulkact_begin")
    form = {"action": "skip", "rows": str(broken[0].pk), "output": "{half", "reason": "known to all"}
    refused = browser.post(address, form)
    assert refused.status_code == 422
    assert notices(refused) == ["json"]
    assert "{half" in words_of(refused)
    assert "known to all" in words_of(refused)
    assert notices(browser.post(address, form | {"output": "", "reason": " "})) == ["required"]
    assert browser.post(address, {"action": "erase", "rows": str(broken[0].pk)}).status_code == 404
    assert notices(browser.post(reverse("admin:engine_incidents"), {"action": "retry"})) == ["nothing_selected"]
    assert not BulkAct.objects.exists()


def test_rows_of_a_list_are_chosen_and_suspended(sign_in: SignIn, broken: list[Instance]) -> None:
    browser = sign_in("ada")
    chosen = {"action": "suspend_chosen", "_selected_action": [str(row.pk) for row in broken], "index": "0"}
    asked = browser.post("/admin/engine/instance/", chosen)
    assert (value("confirm", asked), value("total", asked)) == ("suspend", "3")
    browser.post(reverse("admin:engine_bulkact_begin"), form_of(asked))
    drain()
    assert set(Instance.objects.values_list("status", flat=True)) == {"suspended"}
    act = BulkAct.objects.get()
    assert codes("result", browser.get(f"{page(act)}?show=refused")) == []
    shown = browser.get(f"{page(act)}?show=done&after=x")
    assert codes("result", shown) == ["done"] * 3
    assert (values("now", shown), values("count", shown)) == (["suspended"], ["3"])
    Instance.objects.filter(pk=broken[0].pk).update(status="incident")
    shown = browser.get(page(act))
    assert (values("now", shown), values("count", shown)) == (["suspended", "incident"], ["2", "1"])


def test_an_act_at_work_is_watched_and_stopped(sign_in: SignIn, broken: list[Instance], ada: Actor) -> None:
    browser = sign_in("ada")
    act = begin_bulk_act(actor=ada, action="suspend", subject_ids=[row.pk for row in broken])
    progress = reverse("admin:engine_bulkact_progress", args=[act.pk])
    assert "hx-get" in words_of(browser.get(progress))
    assert toasts(press(browser, act, "stop")) == ["bulkact.stop"]
    ended = browser.get(progress)
    assert "hx-get" not in words_of(ended)
    assert ended.headers["HX-Refresh"] == "true"


def test_another_tenant_repairs_nothing_of_ours(sign_in: SignIn, broken: list[Instance]) -> None:
    browser, address = sign_in("sam"), reverse("admin:engine_incidents")
    assert "Breaks" not in words_of(browser.get(address))
    for identity in (str(broken[0].pk), str(uuid4())):
        after = browser.post(address, {"action": "cancel", "reason": "x", "instance": [identity]})
        assert (value("confirm", after), value("total", after)) == ("cancel", "0")
        form = {"action": "cancel", "reason": "x", "rows": identity}
        assert notices(browser.post(reverse("admin:engine_bulkact_begin"), form)) == ["required"]
    broken[0].refresh_from_db()
    assert broken[0].status == "incident"
    for button in ("suspend", "retry", "skip", "signal", "cancel"):
        assert browser.post(page(broken[0], button), {"answer": "x"}).status_code == 404


@pytest.fixture
def schedule(gwen: Actor) -> Schedule:
    activated(gwen, TIMER)
    return create_schedule(actor=gwen, template="timer", cron="0 9 * * 1", time_zone="Europe/Berlin")


def test_a_schedule_shows_its_next_runs_and_can_be_paused(sign_in: SignIn, schedule: Schedule) -> None:
    browser = sign_in("ada")
    assert part("next_runs", browser.get(page(schedule))).count(" 09:00") >= 10
    for button, status in (("pause", "paused"), ("resume", "active"), ("end", "cancelled")):
        answer = press(browser, schedule, button)
        assert (toasts(answer), value("status", answer)) == ([f"schedule.{button}"], status)


def test_a_schedule_is_made_by_a_form_that_keeps_what_was_typed(
    sign_in: SignIn, gwen: Actor, schedule: Schedule
) -> None:
    browser = sign_in("ada")
    typed = {"template": str(schedule.template_id), "timezone": "Europe/Berlin", "overlap": "skip", "catch_up": "last"}
    refused = words_of(browser.post("/admin/engine/schedule/add/", typed | {"cron": "61 * * * *"}))
    assert "61 * * * *" in refused
    assert Schedule.objects.count() == 1
    browser.post("/admin/engine/schedule/add/", typed | {"cron": "0 7 * * *"})
    assert Schedule.objects.filter(cron="0 7 * * *", owner_name="ada").count() == 1


def test_a_secret_goes_in_and_never_comes_out(sign_in: SignIn, cast: Cast) -> None:
    browser = sign_in("gwen")
    browser.post("/admin/engine/secret/add/", {"name": "key", "value": "hush-hush"})
    secret = Secret.objects.get()
    assert secrets_for_call(cast.acme.pk, ["key"])["key"].value == "hush-hush"
    assert "hush-hush" not in words_of(browser.get(page(secret)))
    assert "⚠" in words_of(browser.get("/admin/engine/secret/"))
    browser.post(page(secret), {"value": "", "origins": "https://a.example\nhttps://b.example"})
    assert secrets_for_call(cast.acme.pk, ["key"])["key"].origins == ("https://a.example", "https://b.example")
    wider = browser.post(page(secret), {"value": "", "origins": "https://evil.example"})
    assert form_errors(wider.context["adminform"].form) == {"value": ["required"]}
    assert secrets_for_call(cast.acme.pk, ["key"])["key"].value == "hush-hush"
    assert sign_in("ada").get(page(secret)).status_code in (403, 404)
    assert toasts(press(browser, secret, "delete-secret")) == ["secret.delete-secret"]


def test_other_tenants_find_no_schedule_secret_or_calendar(sign_in: SignIn, gwen: Actor, schedule: Schedule) -> None:
    rows = (
        schedule,
        put_secret(actor=gwen, name="key", value="a-long-value"),
        put_calendar(actor=gwen, name="o", content=OFFICE),
    )
    browser = sign_in("sam")
    for row in rows:
        assert browser.get(page(row)).status_code == 404
        assert browser.post(page(row), {}).status_code == 404
