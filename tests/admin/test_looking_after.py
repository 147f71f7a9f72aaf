"""Operating the platform: the dashboard, schedules run by hand, dead letters, the audit as a file, workers."""

import csv
import io
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from engine.admin.cron_words import cron_words
from engine.admin.descriptions import ACTS, rows_of_value
from engine.admin.instance_page import SIGNALS
from engine.admin.operations import DeadLetterAdmin
from engine.audit.chain import database_now
from engine.errors import Conflict
from engine.kernel.signals import SignalType
from engine.models import Audit, DeadLetter, Instance, Schedule, Signal, TemplateVersion
from engine.presentation.narrative import timeline
from engine.services.audit.verification import verify_audit
from engine.services.insights.dashboard import tenant_figures
from engine.services.instances.lifecycle import cancel_instance
from engine.services.schedules.changes import run_schedule
from engine.services.schedules.lifecycle import create_schedule, preview_schedule
from engine.services.tenants.settings import put_calendar
from tests.admin.conftest import SignIn, words_of
from tests.admin.test_operations import figures, page
from tests.cast import Cast
from tests.hooks import acts, form_errors, notices, part, toasts, value, values
from tests.workflows import TIMER, activated
from workflowplatform.accounts.actor import Actor


def streamed(browser: Client, address: str) -> str:
    """Return the rows of an export, without the signed end that every one has."""
    answer: Any = browser.get(address)
    assert answer.status_code == 200
    *rows, end = b"".join(answer.streaming_content).decode().splitlines(keepends=True)
    assert "#signed" in end
    return "".join(rows)


# The dashboard


def test_the_dashboard_counts_days_waits_and_the_backlog(
    gwen: Actor, sam: Actor, case: Instance, sign_in: SignIn
) -> None:
    now = database_now()
    Signal.objects.create(
        tenant_id=gwen.tenant_id, instance=case, type="TimerDue", occurred_at=now, due_at=now - timedelta(minutes=5)
    )
    flow = tenant_figures(actor=gwen)
    assert dict(flow.waiting) == {"task": 1}
    assert (flow.days[-1].started, flow.days[-1].ended, len(flow.days)) == (1, 0, 14)
    assert flow.due == 1
    assert flow.oldest_due_for is not None
    assert flow.oldest_due_for >= timedelta(minutes=5)
    shown = sign_in("ada").get("/admin/")
    assert figures(shown)["overdue"] == "1"
    assert "?waiting=task" in words_of(shown)
    theirs = tenant_figures(actor=sam)
    assert (theirs.waiting, theirs.due, theirs.oldest_due_for) == ((), 0, None)
    assert {day.started for day in theirs.days} == {0}


def test_the_dashboard_asks_a_constant_number_of_questions(
    sign_in: SignIn, case: Instance, django_assert_max_num_queries: Any
) -> None:
    browser = sign_in("ada")
    with django_assert_max_num_queries(20):
        browser.get("/admin/")


# Schedules


@pytest.fixture
def schedule(gwen: Actor) -> Schedule:
    activated(gwen, TIMER.replace("PT0.2S", "P1D"))
    return create_schedule(actor=gwen, template="timer", cron="0 9 * * 1", time_zone="Europe/Berlin")


def test_a_schedule_is_run_by_hand_once_at_a_time(sign_in: SignIn, schedule: Schedule) -> None:
    browser = sign_in("ada")
    assert toasts(browser.post(page(schedule, "run"), {"reason": "asked for"}, follow=True)) == ["schedule.run"]
    begun = Instance.objects.get()
    assert (begun.schedule_id, begun.started_by_name) == (schedule.pk, "ada")
    assert notices(browser.post(page(schedule, "run"), {}, follow=True)) == ["overlap"]
    assert Instance.objects.count() == 1
    assert Audit.objects.get(action="run_schedule").cause == "asked for"


def test_a_reason_for_holding_a_schedule_is_kept(sign_in: SignIn, schedule: Schedule) -> None:
    browser = sign_in("ada")
    browser.post(page(schedule, "pause"), {"reason": "year's end"})
    assert Audit.objects.get(action="pause_schedule").cause == "year's end"


def test_another_tenant_runs_no_schedule_of_ours(sign_in: SignIn, schedule: Schedule) -> None:
    assert sign_in("sam").post(page(schedule, "run"), {}).status_code == 404
    assert not Instance.objects.exists()


def test_an_ended_schedule_is_not_run(gwen: Actor, sign_in: SignIn, schedule: Schedule) -> None:
    sign_in("ada").post(page(schedule, "end"), {})
    with pytest.raises(Conflict):
        run_schedule(actor=gwen, schedule_id=schedule.pk)


# Dead letters


def test_a_dead_letter_is_told_with_all_that_it_carried(sign_in: SignIn, case: Instance) -> None:
    envelope = {"id": str(uuid4()), "type": "TimerDue", "payload": {"room": "12b"}, "waiting_token": 3}
    letter = DeadLetter.objects.create(
        tenant_id=case.tenant_id,
        instance=case,
        envelope=envelope,
        reason="unreadable snapshot",
        node="n1",
        at=case.started_at,
    )
    shown = words_of(sign_in("ada").get(page(letter)))
    for words in (SIGNALS[SignalType.TIMER_DUE], "unreadable snapshot", "EXP-1200", "12b", "n1"):
        assert words in shown
    assert "unreadable snapshot" in words_of(sign_in("ada").get("/admin/engine/deadletter/?q=EXP-1200"))


# The audit


def test_the_audit_is_exported_as_the_list_is_narrowed(sign_in: SignIn, case: Instance) -> None:
    browser = sign_in("ada")
    rows = list(csv.DictReader(io.StringIO(streamed(browser, "/admin/engine/audit/export/?on=instance"))))
    assert {row["subject_kind"] for row in rows} == {"instance"}
    assert len(rows) == Audit.objects.filter(subject_id=case.pk).count()
    lines = streamed(browser, "/admin/engine/audit/export/?format=json&q=ada").splitlines()
    told = [json.loads(line) for line in lines]
    assert {act["actor_name"] for act in told} == {"ada", "operator"}
    assert all("ada" in f"{act['actor_name']} {act['subject_name']}" for act in told)


def test_an_exported_cell_is_never_a_formula(sign_in: SignIn, gwen: Actor, case: Instance) -> None:
    cancel_instance(actor=gwen, instance_id=case.pk, reason='=HYPERLINK("http://evil.example")')
    told = streamed(sign_in("ada"), "/admin/engine/audit/export/")
    causes = [row["cause"] for row in csv.DictReader(io.StringIO(told))]
    assert any(cause.startswith("'=HYPERLINK") for cause in causes)
    assert not any(cause.startswith("=") for cause in causes)


def test_another_tenants_export_holds_nothing_of_ours(sign_in: SignIn, case: Instance) -> None:
    for form in ("csv", "json"):
        told = streamed(sign_in("sam"), f"/admin/engine/audit/export/?format={form}")
        assert "EXP-1200" not in told
        assert str(case.pk) not in told


def test_verifying_says_that_chains_hold_or_which_does_not(
    sign_in: SignIn, case: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = sign_in("ada")
    assert value("verdict", browser.post("/admin/engine/audit/verify/")) == "intact"
    assert browser.get("/admin/engine/audit/verify/").status_code == 405
    Instance.objects.filter(pk=case.pk).update(audit_hash="changed")
    broken = browser.post("/admin/engine/audit/verify/")
    assert (value("verdict", broken), "EXP-1200" in words_of(broken)) == ("broken", True)
    assert "EXP-1200" not in words_of(sign_in("sam").post("/admin/engine/audit/verify/"))


@pytest.mark.parametrize("kind", ["people", "templates", "repairs", "tasks", "set-up"])
def test_the_audit_is_narrowed_by_kind_of_act(sign_in: SignIn, case: Instance, kind: str) -> None:
    assert sign_in("ada").get(f"/admin/engine/audit/?did={kind}").status_code == 200


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("30 9 * * *", "every day at 09:30"), ("0 9 * * 1", "every Monday at 09:00"),
        ("0 9 * * 1-5", "Monday to Friday at 09:00"),
        ("5 18 * * mon,wed,sun", "Monday, Wednesday and Sunday at 18:05"), ("0 7 1 * *", "on day 1 of every month at 07:00"),
        ("*/15 * * * *", "every 15 minutes"), ("*/1 * * * *", "every minute"), ("* * * * *", "every minute"),
        ("5 * * * *", "every hour at minute 5"), ("0 0 * * 7", "every Sunday at 00:00"),
        ("*/7 * * * *", ""), ("0 9 1 * 1", ""), ("0 9,17 * * *", ""), ("0 9 * 1 *", ""), ("0 9 L * *", ""), ("0 9 * * 1#2", ""),
        ("0 9 * * 8", ""), ("@daily", ""), ("", ""), ("0 0 9 * * *", ""), ("0 9 * * 1-", ""),
    ],
)  # fmt: skip
@pytest.mark.wording
def test_plain_cron_is_said_in_words_and_nothing_is_said_wrongly(cron: str, said: str) -> None:
    assert cron_words(cron) == said


def test_the_next_runs_say_which_days_the_calendar_leaves_out(
    gwen: Actor, expense: TemplateVersion, sign_in: SignIn
) -> None:
    put_calendar(actor=gwen, name="office", content={"hours": {"mon": ["09:00-17:00"]}, "holidays": ["2030-12-24"]})
    begun = {"cron": "0 9 * * *", "calendar": "office", "input": {"amount": 5}}
    made = create_schedule(actor=gwen, template="expense", **begun)
    second = preview_schedule(actor=gwen, schedule_id=made.pk, n=2)[1]
    days = [second.local.date() - timedelta(days=number) for number in range(6, 0, -1)]
    named = ", ".join(f"{day:%a} {day.day} {day:%b}" for day in days[:4])
    assert named in second.reason
    shown = sign_in("gwen").get(page(made))
    assert second.reason in part("next_runs", shown)
    assert cron_words("0 9 * * *") in words_of(shown).lower()
    assert "amount 5" in part("rules", shown)


# What pages say


def test_every_act_is_told_in_words(acmes: dict[str, Model]) -> None:
    acts = set(Audit.objects.values_list("action", flat=True))
    assert {"schedule_workflow", "begin_bulk_act", "set_retention"} <= acts
    assert [action for action in acts if action not in ACTS and not timeline.has_message(action)] == []


def test_an_empty_list_says_what_it_would_show(sign_in: SignIn) -> None:
    browser = sign_in("sam")
    empty = browser.get("/admin/engine/deadletter/")
    assert value("empty", empty) == "deadletter"
    assert DeadLetterAdmin.empty_text in words_of(empty)
    assert value("empty", browser.get("/admin/engine/deadletter/?q=nobody")) == "filters"
    assert "add" in acts(browser.get("/admin/engine/businesscalendar/"))


# Workers


QUEUES = ("/admin/engine/signal/workers/", "/admin/queues/", "/admin/queues/queues/0/", "/admin/queues/stats.json")


@pytest.mark.parametrize("address", QUEUES)
def test_workers_and_queues_are_for_level_six_alone(sign_in: SignIn, address: str) -> None:
    for name in ("gwen", "ada", "sam", "uri"):
        assert sign_in(name).get(address).status_code == 403
    assert Client().get(address).status_code == 302
    assert sign_in("zoe").get(address).status_code == 200


def test_the_page_of_workers_says_that_nobody_works(sign_in: SignIn, cast: Cast) -> None:
    assert "workers" in values("empty", sign_in("zoe").get(reverse("admin:engine_workers")))
    assert verify_audit(actor=cast.actor("gwen")).broken == ()


def test_the_audit_of_a_case_is_found_by_its_reference_and_by_nobody_else(sign_in: SignIn, case: Instance) -> None:
    address = f"/admin/engine/audit/?q={case.reference}"
    found = sign_in("ada").get(address).context["cl"]
    assert found.result_count == Audit.objects.filter(subject_id=case.pk).count() > 0
    assert {act.subject_id for act in found.result_list} == {case.pk}
    rows = list(
        csv.DictReader(io.StringIO(streamed(sign_in("ada"), f"/admin/engine/audit/export/?q={case.reference}")))
    )
    assert {row["subject_id"] for row in rows} == {str(case.pk)}
    assert sign_in("sam").get(address).context["cl"].result_count == 0


def test_a_schedule_without_what_its_template_needs_is_told_which_field_is_missing(
    sign_in: SignIn, case: Instance
) -> None:
    typed = {"template": case.template_id, "cron": "0 9 * * 1", "timezone": "Europe/Berlin", "overlap": "skip"}
    answer = sign_in("gwen").post("/admin/engine/schedule/add/", {**typed, "catch_up": "last"})
    form = answer.context["adminform"].form
    assert form_errors(form) == {"input": ["required"]}
    assert form.errors["input"][0].startswith("amount: ")


def test_a_schedule_is_offered_the_calendars_of_its_own_tenant(gwen: Actor, sign_in: SignIn) -> None:
    put_calendar(actor=gwen, name="acmes_office", content={"hours": {"mon": "09:00-17:00"}}, title="Acme's office")
    assert "acmes_office" in words_of(sign_in("ada").get("/admin/engine/schedule/add/"))
    assert "acmes_office" not in words_of(sign_in("sam").get("/admin/engine/schedule/add/"))
    typed = {"template": "", "cron": "0 9 * * 1", "timezone": "UTC", "overlap": "skip", "catch_up": "last"}
    refused = sign_in("sam").post("/admin/engine/schedule/add/", {**typed, "calendar": "acmes_office"})
    made_up = sign_in("sam").post("/admin/engine/schedule/add/", {**typed, "calendar": "acmes_office2"})
    errors = [answer.context["adminform"].form.errors["calendar"][0] for answer in (refused, made_up)]
    assert errors[0].replace("acmes_office", "acmes_office2") == errors[1]


def test_amounts_are_shown_without_what_binary_arithmetic_left_behind() -> None:
    assert rows_of_value({"total": 14 * 1302.86, "parts": [0.1 + 0.2, 2]}) == [
        ("total", "18240.04"),
        ("parts", "0.3, 2"),
    ]
