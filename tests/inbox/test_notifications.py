"""What people are told by mail: by a real mail server on loopback, as they want it, and nothing that they may not see."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from engine.audit.chain import database_now
from engine.dispatch.notifications import send_notifications
from engine.models import Instance, Notification, NotificationCursor, Task
from engine.services.instances.lifecycle import cancel_instance
from engine.services.notifications import collecting, sending
from engine.services.notifications.collecting import collect_news
from engine.services.notifications.notify import News, notify_people
from engine.services.notifications.preferences import Preferences, change_preferences, own_preferences
from engine.services.people.absences import enter_absence
from engine.services.tasks.assignment import assign_task
from engine.services.tasks.handover import ask_about_task, delegate_task, return_task, withdraw_question
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.inbox.conftest import REVIEW
from tests.mail_server import Post, mail_server, texts_of
from tests.settling import settle
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import Absence, Membership, Role, User

PAIRS = 500 if os.environ.get("WORKFLOW_TEST_ALL") else 30
"""Each is two tasks at once."""

GIVEN = """
workflow: given
title: Given
starters: {min_level: 2}
input:
  type: object
  properties: {who: {type: string}, pin: {type: string, title: Secret PIN, x-confidential: true}, amount: {type: number}}
reference: {key: "${'GIV-' + start.who}"}
steps:
  - id: do
    task:
      title: "Do it, ${start.who}"
      assignee: "${start.who}"
      due: PT3H
      outcomes: {approve: {title: Approve}, reject: {title: Reject, reject: true}}
"""


@pytest.fixture
def post(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Generator[Post]:
    """Send every mail to a real server, and wait for no more of a kind than there are."""
    monkeypatch.setattr(sending, "SETTLING", timedelta(0))
    with mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
        settings.DEFAULT_FROM_EMAIL = "workflow@acme.example"
        yield server


def told() -> list[Notification]:
    """Notify people of all that was done before; return what is written by then."""
    settle()
    send_notifications()
    return list(Notification.objects.order_by("pk"))


def given(cast: Cast, who: str = "ada", **more: Any) -> Task:
    if not Instance.objects.filter(template__name="given").exists():
        activated(cast.actor("gwen"), GIVEN)
    return only_task(started(cast.actor("uri"), "given", who=who, **more))


def test_who_gets_a_task_gets_a_mail_with_facts_and_absolute_addresses(committed_cast: Cast, post: Post) -> None:
    task = given(committed_cast, amount=12, pin="4711")
    told()
    (mail,) = post.to("ada@acme.example")
    plain, page = texts_of(mail)
    assert mail["Subject"] == "Given (GIV-ada)"
    assert mail["References"] == f"<case-{task.instance_id}@acme.example>"
    assert str(task.pk) not in plain, "the button leads to the signed link"
    for text in (plain, page):
        assert "Do it, ada" in text
        assert "Amount" in text
        assert "4711" not in text
        assert "Secret PIN" not in text
        assert "https://workflow.example.com/inbox/answer/" in text
        assert "https://workflow.example.com/inbox/notifications/" in text
    assert not re.findall(r'href="/', page)


def test_mail_is_written_in_the_language_and_zone_of_its_reader(committed_cast: Cast, post: Post) -> None:
    User.objects.filter(username="ada").update(language="de", time_zone="Asia/Tokyo")
    task = given(committed_cast)
    told()
    plain, page = texts_of(post.to("ada@acme.example")[0])
    assert task.due_at is not None
    assert f"{task.due_at.astimezone(ZoneInfo('Asia/Tokyo')):%H:%M}" in plain
    assert '<html lang="de">' in page


def test_own_acts_are_no_news(committed_cast: Cast, post: Post) -> None:
    given(committed_cast, "uri")
    task = given(committed_cast, "adam")
    told()
    assert [mail["To"] for mail in post.mails] == ["adam@acme.example"]
    assign_task(actor=committed_cast.actor("gwen"), task_id=task.pk, person="gwen")
    send_notifications()
    assert len(post.mails) == 1


def test_questions_and_delegated_tasks_are_told_at_once(committed_cast: Cast, post: Post) -> None:
    task = given(committed_cast)
    ada = committed_cast.actor("ada")
    claim_task(actor=ada, task_id=task.pk)
    ask_about_task(actor=ada, task_id=task.pk, user="uri", question="Which colour?")
    told()
    (plain, _page) = texts_of(post.to("uri@acme.example")[0])
    assert "Which colour?" in plain
    assert "https://workflow.example.com/inbox/answer/question/" in plain
    withdraw_question(actor=ada, task_id=task.pk)
    delegate_task(actor=ada, task_id=task.pk, user="adam", note="Prepare it")
    told()
    assert len(post.to("adam@acme.example")) == 1


def test_question_that_was_withdrawn_is_not_told(committed_cast: Cast, post: Post) -> None:
    task = given(committed_cast)
    ada = committed_cast.actor("ada")
    claim_task(actor=ada, task_id=task.pk)
    ask_about_task(actor=ada, task_id=task.pk, user="uri", question="Which colour?")
    withdraw_question(actor=ada, task_id=task.pk)
    told()
    assert post.to("uri@acme.example") == []


def test_deputies_are_told_for_whom_and_how_long(committed_cast: Cast, post: Post) -> None:
    given(committed_cast)
    begin = timezone.now() + timedelta(days=1)
    adam = committed_cast.adam
    for role in Role.objects.filter(memberships__user=committed_cast.ada).exclude(memberships__user=adam):
        Membership.objects.create(tenant=committed_cast.acme, user=adam, role=role)
    days: dict[str, Any] = {"starts_at": begin, "ends_at": begin + timedelta(days=2)}
    enter_absence(actor=committed_cast.actor("ada"), person="ada", deputy="adam", **days)
    told()
    (row,) = Notification.objects.filter(kind="handed_over")
    assert (row.person_id, row.actor_name, row.text.rpartition("/")[2]) == (committed_cast.adam.pk, "ada", "1")
    assert len(post.to("adam@acme.example")) == 1


def test_what_one_may_not_see_any_more_is_not_told(committed_cast: Cast, post: Post) -> None:
    task = given(committed_cast)
    with transaction.atomic():
        notify_people(
            [(News("mentioned", "one", task.pk, task.instance_id, "uri", "look"), committed_cast.ada.pk)],
            database_now(),
        )
    User.objects.filter(username="ada").update(level=2)
    cancel_instance(actor=committed_cast.actor("gwen"), instance_id=task.instance_id, reason="over")
    told()
    assert post.to("ada@acme.example") == []
    assert set(Notification.objects.filter(person=committed_cast.ada).values_list("status", flat=True)) == {"dropped"}


def test_many_tasks_at_once_are_one_mail_for_each_person(committed_cast: Cast, post: Post) -> None:
    activated(committed_cast.actor("gwen"), REVIEW)
    activated(committed_cast.actor("gwen"), GIVEN)
    for name in ("ada", "gwen"):
        change_preferences(actor=committed_cast.actor(name), mail={"offered": "once"})
    with transaction.atomic():
        for number in range(PAIRS):
            started(committed_cast.actor("uri"), "review", what=f"{number}", amount=1)
            started(committed_cast.actor("uri"), "given", who="adam")
    told()
    assert len(post.to("adam@acme.example")) == 1
    assert len(post.to("ada@acme.example")) <= 1
    assert len(post.to("gwen@acme.example")) <= 1
    send_notifications()
    assert len(post.to("adam@acme.example")) == 1


def test_more_than_three_in_ten_minutes_become_one_that_waits(cast: Cast, post: Post) -> None:
    task = given(cast)
    for number in range(3):
        notify_people(
            [(News("mentioned", str(number), task.pk, task.instance_id, "uri", "hello"), cast.ada.pk)], database_now()
        )
        _send_all()
    assert len(post.mails) == 3
    for number in range(3, 6):
        notify_people(
            [(News("mentioned", str(number), task.pk, task.instance_id, "uri", "hello"), cast.ada.pk)], database_now()
        )
        _send_all()
    assert len(post.mails) == 3
    Notification.objects.filter(status="sent").update(sent_at=database_now() - timedelta(minutes=11))
    Notification.objects.filter(status="pending").update(due_at=database_now())
    Notification.objects.filter(status="pending").update(created_at=database_now() - timedelta(minutes=2))
    _send_all()
    assert len(post.mails) == 4


def _send_all() -> None:
    from engine.dispatch.notifications import _send

    while messages := sending.take_messages():
        for message in messages:
            sending.settle_message(message, _send(message))


def test_address_that_is_refused_for_good_is_kept_as_bounced_and_not_tried_again(cast: Cast, post: Post) -> None:
    post.refused["ada@acme.example"] = "550 no such user"
    task = given(cast)
    notify_people([(News("assigned", "one", task.pk, task.instance_id), cast.ada.pk)], database_now())
    _send_all()
    (row,) = Notification.objects.all()
    assert (row.status, row.tries) == ("failed", 1)
    assert own_preferences(cast.actor("ada")).bounced_address == "ada@acme.example"
    notify_people([(News("assigned", "two", task.pk, task.instance_id), cast.ada.pk)], database_now())
    _send_all()
    assert Notification.objects.get(key="two").status == "dropped"


def test_server_that_is_busy_is_asked_again_later(cast: Cast, post: Post) -> None:
    post.refused["ada@acme.example"] = "451 try later"
    task = given(cast)
    notify_people([(News("assigned", "one", task.pk, task.instance_id), cast.ada.pk)], database_now())
    _send_all()
    row = Notification.objects.get()
    assert (row.status, row.tries) == ("pending", 1)
    assert "451 try later" in row.error
    assert row.due_at > database_now()
    del post.refused["ada@acme.example"]
    Notification.objects.update(due_at=database_now())
    _send_all()
    assert len(post.mails) == 1


def test_kinds_that_are_off_are_not_told_and_daily_ones_wait_for_the_digest(cast: Cast, post: Post) -> None:
    change_preferences(actor=cast.actor("ada"), mail={"assigned": "off", "mentioned": "daily"})
    task, now = given(cast), database_now()
    notify_people([(News("assigned", "one", task.pk, task.instance_id), cast.ada.pk)], now)
    notify_people([(News("mentioned", "two", task.pk, task.instance_id, "uri", "please look"), cast.ada.pk)], now)
    (row,) = Notification.objects.all()
    assert row.way == "daily"
    assert row.due_at > now
    Notification.objects.update(due_at=now)
    _send_all()
    (mail,) = post.mails
    plain, _page = texts_of(mail)
    assert "please look" in plain
    assert "Do it, ada" in plain


def test_quiet_hours_hold_messages_back_until_they_are_over() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    wishes = Preferences(quiet=True, quiet_weekend=True, zone=berlin)
    friday_evening = datetime(2026, 11, 20, 20, 0, tzinfo=berlin).astimezone(UTC)
    assert wishes.due("once", friday_evening) == ("quiet", datetime(2026, 11, 23, 7, 30, tzinfo=berlin))
    noon = datetime(2026, 11, 20, 12, 0, tzinfo=berlin).astimezone(UTC)
    assert wishes.due("once", noon) == ("once", noon)
    early = datetime(2026, 11, 20, 6, 0, tzinfo=berlin).astimezone(UTC)
    assert wishes.due("once", early) == ("quiet", datetime(2026, 11, 20, 7, 30, tzinfo=berlin))


def test_due_dates_are_told_once_each(cast: Cast, post: Post) -> None:
    task, now = given(cast), database_now()
    NotificationCursor.objects.filter(tenant=cast.acme).delete()
    NotificationCursor.objects.create(tenant=cast.acme, due_until=now - timedelta(minutes=5))
    Task.objects.filter(pk=task.pk).update(due_at=now - timedelta(minutes=1))
    collect_news([cast.acme.pk])
    NotificationCursor.objects.update(due_until=now - timedelta(minutes=5))
    collect_news([cast.acme.pk])
    assert list(Notification.objects.values_list("kind", flat=True)) == ["late"]


def test_who_started_a_case_hears_how_it_was_decided(committed_cast: Cast, post: Post) -> None:
    task = given(committed_cast)
    claim_task(actor=committed_cast.actor("ada"), task_id=task.pk)
    complete_task(actor=committed_cast.actor("ada"), task_id=task.pk, outcome="approve", comment="Fine by me")
    told()
    (mail,) = post.to("uri@acme.example")
    plain, _page = texts_of(mail)
    assert mail["From"] == "Ada via Workflow <workflow@acme.example>"
    assert "Fine by me" in plain
    assert mail["Subject"] == "Given (GIV-ada)"


ORDERED = """
workflow: ordered
title: Ordered
starters: {min_level: 2}
steps:
  - id: decide
    task:
      title: Decide
      users: [ada]
      outcomes: {ok: {title: Fine}, changes: {title: Ask for changes}, no: {title: Not this, reject: true}}
  - id: buy
    title: Place the order
    task: {title: Buy it, users: [adam]}
"""


def decided(cast: Cast, post: Post, outcome: str) -> str:
    """Return the mail about an answer after which the case continues."""
    activated(cast.actor("gwen"), ORDERED)
    task = only_task(started(cast.actor("uri"), "ordered"))
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome=outcome)
    told()
    (mail,) = post.to("uri@acme.example")
    return texts_of(mail)[0]


@pytest.mark.wording
@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("ok", "Ada approved your request. Next: Place the order."),
        ("changes", "Ada answered: Ask for changes. Next: Place the order."),
        ("no", "Ada rejected your request. You can start again with the same data. Next: Place the order."),
    ],
)
def test_a_decision_on_the_way_is_told_by_the_authors_marks_with_what_comes_next(
    committed_cast: Cast, post: Post, outcome: str, said: str
) -> None:
    assert said in decided(committed_cast, post, outcome)


@pytest.mark.wording
def test_the_end_of_a_case_is_told_besides_its_decision_and_names_nothing_next(
    committed_cast: Cast, post: Post
) -> None:
    assert "Next:" in decided(committed_cast, post, "ok")
    complete_task(actor=committed_cast.actor("adam"), task_id=Task.objects.open().get(step="buy").pk)
    told()
    _first, mail = post.to("uri@acme.example")
    assert "Next:" not in texts_of(mail)[0]
    assert "Your request is finished." in texts_of(mail)[0]


def test_what_is_decided_and_over_at_once_is_one_message(committed_cast: Cast, post: Post) -> None:
    activated(committed_cast.actor("gwen"), ORDERED)
    task = only_task(started(committed_cast.actor("uri"), "ordered"))
    complete_task(actor=committed_cast.actor("ada"), task_id=task.pk, outcome="ok")
    settle()
    collect_news([committed_cast.acme.pk])
    complete_task(actor=committed_cast.actor("adam"), task_id=Task.objects.open().get(step="buy").pk)
    told()
    assert len(post.to("uri@acme.example")) == 1


def test_other_tenants_hear_nothing(committed_cast: Cast, post: Post) -> None:
    given(committed_cast)
    told()
    assert {row.tenant_id for row in Notification.objects.all()} == {committed_cast.acme.pk}
    assert not [mail for mail in post.mails if "globex" in mail["To"]]


def test_members_of_a_role_get_one_digest_a_day_for_all_offers(committed_cast: Cast, post: Post) -> None:
    activated(committed_cast.actor("gwen"), REVIEW)
    for number in range(3):
        started(committed_cast.actor("uri"), "review", what=f"{number}", amount=1)
    told()
    rows = Notification.objects.filter(kind="offered")
    holders = Membership.objects.filter(role__name="finance", role__tenant=committed_cast.acme)
    assert {row.person_id for row in rows} == set(holders.values_list("user_id", flat=True))
    assert rows.count() == 1
    rows.update(due_at=database_now())
    send_notifications()
    (mail,) = post.to("ada@acme.example")
    plain, _page = texts_of(mail)
    assert "Review 2" in plain


def test_two_workers_send_each_message_once(committed_cast: Cast, post: Post) -> None:
    from tests.races.crowd import at_once

    task = given(committed_cast)
    notify_people(
        [(News("mentioned", "one", task.pk, task.instance_id, "uri", "x"), committed_cast.ada.pk)], database_now()
    )
    at_once([_send_all, _send_all, _send_all])
    assert len([mail for mail in post.mails if "x" in texts_of(mail)[0]]) == 1


def test_collecting_costs_people_nothing_and_a_few_statements(
    committed_cast: Cast, post: Post, django_assert_max_num_queries: Any
) -> None:
    activated(committed_cast.actor("gwen"), REVIEW)
    for number in range(20):
        started(committed_cast.actor("uri"), "review", what=f"{number}", amount=1)
    with django_assert_max_num_queries(30):
        collecting.collect_news([committed_cast.acme.pk])


def test_who_asked_is_told_the_answer(committed_cast: Cast, post: Post) -> None:
    task, ada = given(committed_cast), committed_cast.actor("ada")
    claim_task(actor=ada, task_id=task.pk)
    ask_about_task(actor=ada, task_id=task.pk, user="uri", question="Which colour?")
    return_task(actor=committed_cast.actor("uri"), task_id=task.pk, note="Light blue")
    told()
    (plain,) = [texts_of(mail)[0] for mail in post.to("ada@acme.example") if "Light blue" in texts_of(mail)[0]]
    assert f"https://workflow.example.com/inbox/tasks/{task.pk}/" in plain


def test_deputies_are_told_of_what_comes_meanwhile_and_answer_it_for_the_absent_person(
    committed_cast: Cast, post: Post
) -> None:
    now = database_now()
    days = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(days=2)}
    absent = {"tenant": committed_cast.acme, "person": committed_cast.ada, "deputy": committed_cast.adam}
    Absence.objects.create(**absent, **days, entered_by="ada")
    task = given(committed_cast)
    told()
    (mail,) = post.to("adam@acme.example")
    address = re.findall(r"https://workflow\.example\.com(/inbox/answer/\S+)", texts_of(mail)[0])[0]
    page = Client().get(address)
    (form,) = re.findall(r'name="form" value="([^"]+)"', page.content.decode())
    assert Client().post(address, {"form": form, "outcome": "approve"}).status_code == 200
    task.refresh_from_db()
    assert (task.status, task.completed_by_name, task.completed_for_name) == ("completed", "adam", "ada")


def test_deputies_are_not_told_of_what_the_absence_leaves_out(committed_cast: Cast, post: Post) -> None:
    now = database_now()
    days = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(days=2)}
    absent = {"tenant": committed_cast.acme, "person": committed_cast.ada, "deputy": committed_cast.adam}
    Absence.objects.create(**absent, **days, entered_by="ada", templates=["another"])
    given(committed_cast)
    told()
    assert post.to("adam@acme.example") == []
