"""The demo: everything that CONTRACT promises is there, once, however often it is created."""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db.models import F, Max
from django.test import RequestFactory
from django.utils import timezone

from engine import access
from engine.audit.chain import database_now
from engine.dispatch.drain import drain
from engine.gallery import GALLERY
from engine.kernel.transitions import InstanceStatus
from engine.management.demo import furnish
from engine.models import (
    Audit,
    BusinessCalendar,
    Instance,
    RuntimeState,
    Schedule,
    Secret,
    Signal,
    Task,
    TemplateVersion,
    Wait,
    Webhook,
    WebhookDelivery,
)
from engine.services.audit.verification import verify_everything
from engine.services.insights.durations import usual_task_times
from engine.services.people.accounts import deactivate_person
from engine.services.templates.versions import archive_version
from engine.services.webhooks.deliveries import collect, look_for_work
from engine.services.webhooks.subscriptions import resume_webhook
from tests.replaying import unlike_when_replayed
from tests.settling import PATIENCE, settle
from workflowplatform.accounts.actor import Actor, actor_of
from workflowplatform.accounts.models import Absence, Membership, Role, Tenant, User
from workflowplatform.database.tenancy import crossing

pytestmark = pytest.mark.usefixtures("furnished", "db")


@pytest.fixture(scope="module")
def furnished(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Provide the committed demo to all tests of this module, a moment after `bin/up` would say ready."""
    with django_db_blocker.unblock():
        assert furnish()
        let_time_pass()
        settle()
    yield
    with django_db_blocker.unblock():
        call_command("flush", interactive=False, verbosity=0)


def actor(name: str) -> Actor:
    return actor_of(User.objects.get(username=name))


def statuses(tenant: str = "acme") -> Counter[str]:
    return Counter(Instance.objects.filter(tenant__name=tenant).values_list("status", flat=True))


def let_time_pass() -> None:
    """Wait until what is due within a second is due by the database's clock, and do what workers would."""
    due_at = Signal.objects.filter(due_at__lte=database_now() + timedelta(seconds=1)).aggregate(last=Max("due_at"))[
        "last"
    ]
    until = time.monotonic() + PATIENCE
    while due_at is not None and database_now() < due_at:
        assert time.monotonic() < until, f"{due_at} did not come"
        time.sleep(0.02)
    while drain().signals:
        pass


def test_people_and_roles_are_those_of_the_contract() -> None:
    found = {user.username: (user.tenant.name, user.level) for user in User.objects.select_related("tenant")}
    assert found == {
        "gwen": ("acme", 5), "ada": ("acme", 4), "adam": ("acme", 4), "uri": ("acme", 2),
        "mira": ("acme", 4), "jonas": ("acme", 4),
        "sam": ("globex", 5), "stan": ("globex", 4), "zoe": ("platform", 6),
    }  # fmt: skip
    held = Membership.objects.filter(user__username__in=("ada", "adam")).values_list("role__name", flat=True)
    assert set(held) == {"finance", "hr", "support", "management", "accounting", "sales", "engineering"}


@pytest.mark.parametrize("tenant", ["acme", "globex"])
def test_every_role_has_two_people(tenant: str) -> None:
    held = Counter(Membership.objects.filter(user__tenant__name=tenant).values_list("role__name", flat=True))
    assert set(held) == set(Role.objects.filter(tenant__name=tenant).values_list("name", flat=True))
    assert min(held.values()) >= 2


def test_everybody_has_a_manager_but_the_heads() -> None:
    led = dict(User.objects.values_list("username", "manager__username"))
    assert {name for name, lead in led.items() if lead is None} == {"gwen", "sam", "zoe"}


def test_mira_is_away_and_two_people_stand_in() -> None:
    now = timezone.now()
    away = Absence.objects.filter(starts_at__lte=now, ends_at__gt=now)
    assert {(one.person.username, one.deputy.username) for one in away if one.deputy} == {
        ("mira", "ada"), ("mira", "adam")
    }  # fmt: skip
    assert [person.name for person in actor("ada").stands_in] == ["mira"]


def test_thirty_days_of_history_have_every_end() -> None:
    past = Instance.objects.filter(tenant__name="acme", started_at__lt=timezone.now() - timedelta(hours=8))
    assert len({started_at.date() for started_at in past.values_list("started_at", flat=True)}) >= 28
    assert set(past.values_list("status", flat=True)) >= {"completed", "cancelled", "failed", "expired", "running"}
    assert past.filter(outcome="NOT_ANSWERED").exists()
    assert past.filter(outcome="REJECTED").exists()
    done = Task.objects.filter(instance__in=past, status="completed")
    late = done.filter(completed_at__gt=F("due_at")).count()
    assert 5 <= late < done.count() / 2
    assert set(done.values_list("completed_by_name", flat=True)) >= {"ada", "adam", "mira", "jonas", "uri"}


def test_nothing_of_the_past_waits_for_a_worker() -> None:
    """Only who is still on a trip waits, for a day to come, and two late tasks that Jonas and Mira took."""
    past = Instance.objects.filter(started_at__lt=timezone.now() - timedelta(hours=8))
    assert not Signal.objects.filter(instance__in=past, due_at__lt=timezone.now()).exists()
    open_ones = Task.objects.filter(instance__in=past, status__in=("open", "claimed"))
    assert dict(open_ones.values_list("instance__reference", "assignee__username")) == {
        "REP-0067": "jonas", f"EXP-{(timezone.now() - timedelta(days=5, hours=2)).year}-1170": "mira"
    }  # fmt: skip


def test_usual_times_come_from_the_past() -> None:
    template_id = Instance.objects.filter(template__name="expense-approval", tenant__name="acme")[0].template_id
    assert usual_task_times(actor=actor("uri"), template_id=template_id, now=timezone.now())


def test_the_audit_of_the_past_verifies_and_tells_times_in_order() -> None:
    with crossing("operator"):
        verdict = verify_everything()
    assert not verdict.broken
    rows = Audit.objects.filter(subject_kind="instance").order_by("subject_id", "seq").values_list("subject_id", "at")
    last: dict[Any, Any] = {}
    for subject, at in rows:
        assert last.get(subject, at) <= at
        last[subject] = at


def test_there_is_a_schedule_a_calendar_and_a_secret() -> None:
    found = {model: model.objects.filter(tenant__name="acme").count() for model in (Schedule, BusinessCalendar, Secret)}
    assert min(found.values()) == 1


def test_everybody_signs_in_with_the_demo_password(rf: RequestFactory) -> None:
    for name in User.objects.values_list("username", flat=True):
        assert (
            authenticate(rf.post("/", headers={"Host": "localhost"}), username=name, password=f"demo-{name}")
            is not None
        ), name


def test_every_gallery_template_is_active_in_acme_and_three_in_globex() -> None:
    active = TemplateVersion.objects.active().values_list("tenant__name", "template__name")
    assert {name for tenant, name in active if tenant == "acme"} == set(GALLERY)
    assert len([name for tenant, name in active if tenant == "globex"]) == 3


def test_an_archived_version_and_a_draft_with_findings_are_there_to_look_at() -> None:
    versions = TemplateVersion.objects.filter(tenant__name="acme").exclude(status="active")
    found = {(version.template.name, version.status, len(version.findings)) for version in versions}
    assert found == {("expense-approval", "archived", 0), ("travel-request", "draft", 1)}


def test_cases_stand_in_every_status() -> None:
    found = statuses()
    assert set(found) == {status.value for status in InstanceStatus}
    assert found["running"] >= 35
    assert found["completed"] >= 12


def test_tasks_are_open_claimed_overdue_and_soon_due() -> None:
    now = timezone.now()
    ada, adam, uri = actor("ada"), actor("adam"), actor("uri")
    assert access.tasks_mine(ada).filter(status="claimed").count() >= 3
    assert access.tasks_mine(adam).filter(status="claimed").count() >= 2
    assert access.tasks_available(ada).count() >= 8
    assert access.tasks_available(adam).count() >= 8
    assert access.tasks_mine(uri).count() >= 4
    assert access.tasks_available(ada).filter(due_at__lt=now).count() >= 2
    assert access.tasks_available(ada).filter(due_at__range=(now, now + timedelta(hours=4))).count() >= 2
    assert set(Task.objects.values_list("priority", flat=True)) == {0, 1, 2, 3}


def test_one_run_is_queued_behind_the_two_that_may_run_at_once() -> None:
    runs = Instance.objects.filter(tenant__name="acme", template__name="payment-run")
    assert [run.reference[-2:] for run in runs.filter(status="queued")] == ["47"]
    assert runs.filter(status__in=("running", "incident")).count() == 2


def test_people_are_at_work_side_by_side_in_one_case() -> None:
    votes = Task.objects.filter(instance__reference="VOTE-0006")
    assert Counter(votes.values_list("status", flat=True)) == {"completed": 1, "open": 3}


def test_a_child_is_at_work_for_its_parent() -> None:
    review = Instance.objects.get(template__name="invoice-review")
    assert (review.status, review.tasks.get().step) == ("running", "assign_reviewer")


def test_timers_and_a_call_that_is_tried_again_wait() -> None:
    kinds = Counter(Wait.objects.filter(side=False).values_list("kind", flat=True))
    assert kinds["timer"] >= 4
    assert kinds["retry"] == 1


def test_the_refused_address_is_an_incident_that_says_so() -> None:
    incident = Instance.objects.get(status="incident")
    assert incident.reference.startswith("PAY-")
    assert incident.error["code"] == "address_refused"


def test_a_webhook_has_something_to_tell_and_fails_at_nothing() -> None:
    webhook = Webhook.objects.get()
    assert (webhook.tenant.name, webhook.status, webhook.failures) == ("acme", "paused", 0)
    assert httpx.URL(webhook.url).host.endswith(".example")
    assert not look_for_work()[1], "no worker tries to send it"
    resume_webhook(actor=actor("gwen"), webhook_id=webhook.pk)
    collect()
    waiting = WebhookDelivery.objects.filter(webhook=webhook, status="pending", attempts=0)
    assert set(waiting.values_list("event", flat=True)) == set(webhook.events)


def test_every_instance_run_again_from_its_audit_has_its_whole_snapshot() -> None:
    begun = RuntimeState.objects.exclude(snapshot={})
    assert begun.count() > 150
    with crossing("operator"):
        assert unlike_when_replayed() == {}


def test_seeding_twice_is_seeding_once() -> None:
    before = counts()
    assert not furnish()
    assert counts() == before


def test_what_people_changed_afterwards_stays() -> None:
    gwen = actor("gwen")
    deactivate_person(actor=gwen, person=User.objects.get(username="uri"))
    archive_version(actor=gwen, name="leave-request", number=1)
    assert not furnish()
    assert not User.objects.get(username="uri").is_active
    assert (
        not TemplateVersion.objects.active().filter(tenant_id=gwen.tenant_id, template__name="leave-request").exists()
    )


def test_no_case_is_told_by_writing_rows() -> None:
    started = Audit.objects.filter(action="start_workflow", subject_kind="instance").values("subject_id").distinct()
    assert started.count() == Instance.objects.count()


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in (Tenant, User, TemplateVersion, Instance, Task, Audit)}
