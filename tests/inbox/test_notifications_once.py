"""Nothing that people are told is lost or told twice: servers that refuse, workers that die, crowds that come at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from engine.audit.chain import database_now
from engine.dispatch import notifications as dispatch
from engine.dispatch.notifications import CHANNELS, send_notifications, tidy_up
from engine.models import Notification, NotificationSettings, Task
from engine.services.notifications import collecting, sending
from engine.services.notifications.notify import News, notify_people
from engine.services.notifications.preferences import change_preferences, own_preferences
from engine.services.notifications.sending import Message, Sent
from tests.cast import Cast
from tests.inbox.conftest import REVIEW
from tests.inbox.test_notifications import GIVEN, given
from tests.mail_server import Post, mail_server
from tests.workers import ROOT, environment
from tests.workflows import activated, only_task, started
from workflowplatform.accounts.models import User

MANY = 1_000 if os.environ.get("WORKFLOW_TEST_ALL") else 60
FOLLOWER = """
import django
django.setup()
from engine.dispatch.notifications import send_notifications
from engine.services.notifications import sending
from workflowplatform.database.tenancy import crossing
from datetime import timedelta
sending.SETTLING = timedelta(0)
with crossing("background"):
    send_notifications()
"""


@pytest.fixture
def post(settings: Any) -> Generator[Post]:
    """Send every mail to a real server; the product's own patience is kept."""
    with mail_server() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
        settings.DEFAULT_FROM_EMAIL = "workflow@acme.example"
        yield server


def mention(cast: Cast, task: Task, key: str, name: str = "ada") -> None:
    news = News("mentioned", key, task.pk, task.instance_id, "uri", f"look {key}")
    notify_people([(news, getattr(cast, name).pk)], database_now())


def send_due() -> list[Message]:
    """Send what is due as a worker does, without collecting."""
    sent = []
    while messages := sending.take_messages():
        for message in messages:
            if sending.is_still_ours(message):
                sending.settle_message(message, dispatch._send(message))
                sent.append(message)
    return sent


def make_due() -> None:
    Notification.objects.filter(status="pending").update(due_at=database_now())


# What servers answer


@pytest.mark.parametrize(
    ("says", "to"),
    [
        ("550 5.7.1 relaying denied", "person"),
        ("530 5.7.0 authentication required", "person"),
        ("550 5.1.8 sender is not known here", "sender"),
        ("535 5.7.8 sign in first", "sender"),
        ("451 4.3.0 come again", "sender"),
    ],
)
def test_server_that_refuses_the_platform_is_no_fault_of_any_address(
    cast: Cast, post: Post, says: str, to: str
) -> None:
    if to == "person":
        post.refused["ada@acme.example"] = says
    else:
        post.says_to_sender = says
    mention(cast, given(cast), "one")
    send_due()
    row = Notification.objects.get()
    assert row.status == "pending"
    assert says[:3] in row.error
    assert own_preferences(cast.actor("ada")).bounced_at is None
    post.refused.clear()
    post.says_to_sender = "250 OK"
    make_due()
    send_due()
    assert len(post.mails) == 1


def test_mail_that_a_server_refuses_for_its_content_stops_no_other(cast: Cast, post: Post) -> None:
    post.says_to_data = "554 5.6.0 not like this"
    task = given(cast)
    mention(cast, task, "one")
    send_due()
    assert Notification.objects.get().status == "failed"
    assert own_preferences(cast.actor("ada")).bounced_at is None
    post.says_to_data = "250 OK"
    mention(cast, task, "two")
    send_due()
    assert len(post.mails) == 1


def test_server_that_is_down_loses_nothing_and_many_become_one_when_it_is_back(
    cast: Cast, post: Post, settings: Any
) -> None:
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 1
    task = given(cast)
    for number in range(8):
        mention(cast, task, f"{number}")
        send_due()
    assert set(Notification.objects.values_list("status", flat=True)) == {"pending"}
    settings.EMAIL_PORT = port
    Notification.objects.update(due_at=database_now(), created_at=database_now() - timedelta(hours=1))
    send_due()
    assert len(post.mails) == 1
    assert Notification.objects.filter(status="sent").count() == 8


# Workers that die


def follower(post: Post) -> subprocess.Popen[bytes]:
    """Start a process that collects and sends once."""
    extra = {
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": str(post.port),
        "WORKFLOW_PUBLIC_URL": "https://workflow.example.com",
        "DEFAULT_FROM_EMAIL": "workflow@acme.example",
        "DJANGO_SETTINGS_MODULE": "workflowplatform.settings",
    }
    return subprocess.Popen([sys.executable, "-c", FOLLOWER], cwd=ROOT, env=environment(extra), start_new_session=True)


def test_worker_that_dies_after_the_server_took_a_mail_repeats_it_as_it_was(
    committed_cast: Cast, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SETTLING", timedelta(0))
    task = given(committed_cast)
    collecting.collect_news()
    worker = follower(post)
    post.taken.append(lambda: os.kill(worker.pid, signal.SIGKILL))
    assert worker.wait(60) == -signal.SIGKILL
    post.taken.clear()
    assert len(post.mails) == 1
    assert Notification.objects.get().status == "pending"
    mention(committed_cast, task, "two")
    make_due()
    send_due()
    ids = [str(mail["Message-ID"]) for mail in post.mails]
    assert len(ids) == 3
    assert len(set(ids)) == 2, "the repeat has its first id, so that mail servers recognise it, and holds nothing else"
    assert set(Notification.objects.values_list("status", flat=True)) == {"sent"}


def test_worker_that_dies_while_it_collects_loses_nothing_and_sends_nothing_twice(
    committed_cast: Cast, post: Post
) -> None:
    send_notifications()
    given(committed_cast)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE wf_notifications IN SHARE ROW EXCLUSIVE MODE")
        worker = follower(post)
        _wait_for_a_blocked_insert()
        worker.kill()
        worker.wait(60)
    assert not Notification.objects.exists(), "what it had begun is gone with it, its place in the audit too"
    deadline = time.monotonic() + 30
    while not post.mails and time.monotonic() < deadline:
        assert follower(post).wait(60) == 0
        time.sleep(0.1)
    assert follower(post).wait(60) == 0
    assert len(post.to("ada@acme.example")) == 1


def _wait_for_a_blocked_insert() -> None:
    deadline = time.monotonic() + 60
    sql = "SELECT count(*) FROM pg_locks WHERE relation = 'wf_notifications'::regclass AND NOT granted"
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if cursor.fetchone()[0]:
                return
        time.sleep(0.05)
    raise AssertionError("the follower never came to write")


def test_worker_that_was_too_slow_leaves_a_message_to_the_one_that_took_it(cast: Cast, post: Post) -> None:
    mention(cast, given(cast), "one")
    (slow,) = sending.take_messages()
    make_due()
    (quick,) = sending.take_messages()
    assert not sending.is_still_ours(slow)
    assert sending.is_still_ours(quick)
    assert quick.id == slow.id


def test_outcome_that_is_not_known_is_repeated_under_the_same_id(
    cast: Cast, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    mention(cast, given(cast), "one")
    monkeypatch.setitem(CHANNELS, "mail", lambda message: Sent("failed", "cut off", is_sure=False))
    (first,) = send_due()
    mention(cast, given(cast), "two")
    make_due()
    assert {message.id for message in sending.take_messages()} > {first.id}


# Crowds


def test_crowd_that_comes_one_by_one_is_one_mail(committed_cast: Cast, post: Post, monkeypatch: Any) -> None:
    """The first waits a moment: it may be the first of a thousand. Here a moment is a second."""
    monkeypatch.setattr(sending, "SETTLING", timedelta(seconds=1))
    activated(committed_cast.actor("gwen"), GIVEN)
    for _number in range(MANY):
        started(committed_cast.actor("uri"), "given", who="adam")
        send_notifications()
    deadline = time.monotonic() + 30
    while Notification.objects.exclude(status="sent").exists() and time.monotonic() < deadline:
        send_notifications()
        time.sleep(0.1)
    assert len(post.to("adam@acme.example")) == 1
    assert Notification.objects.filter(person=committed_cast.adam, status="sent").count() == MANY


def test_second_crowd_within_ten_minutes_waits_for_their_end(cast: Cast, post: Post) -> None:
    task = given(cast)
    long_ago = database_now() - timedelta(minutes=5)
    for crowd in range(3):
        for number in range(5):
            mention(cast, task, f"{crowd}-{number}")
        Notification.objects.filter(status="pending").update(created_at=long_ago)
        send_due()
    assert len(post.mails) == 1
    Notification.objects.filter(status="sent").update(sent_at=database_now() - timedelta(minutes=11))
    make_due()
    send_due()
    assert len(post.mails) == 2


def test_crowds_of_two_kinds_are_one_mail(cast: Cast, post: Post) -> None:
    activated(cast.actor("gwen"), REVIEW)
    change_preferences(actor=cast.actor("ada"), mail={"offered": "once"})
    for number in range(5):
        task = only_task(started(cast.actor("uri"), "review", what=f"{number}", amount=1))
        notify_people([(News("offered", f"offered:{task.pk}", task.pk, task.instance_id), cast.ada.pk)], database_now())
        mention(cast, task, f"{number}")
    Notification.objects.update(created_at=database_now() - timedelta(minutes=5))
    send_due()
    assert len(post.mails) == 1


# Housekeeping


def test_one_tenant_that_cannot_be_read_stops_no_other(
    committed_cast: Cast, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = given(committed_cast)
    broken, real = committed_cast.globex.pk, collecting._collect_for

    def collect(tenant_id: Any) -> tuple[int, bool]:
        if tenant_id == broken:
            raise ValueError("broken")
        return real(tenant_id)

    monkeypatch.setattr(collecting, "_collect_for", collect)
    mention(committed_cast, task, "one")
    assert broken in collecting.tenants_with_news()
    send_notifications()
    assert post.to("ada@acme.example")


def test_old_messages_are_deleted_however_many_there_are(
    cast: Cast, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "FORGOTTEN_AT_ONCE", 2)
    task = given(cast)
    for number in range(5):
        mention(cast, task, f"{number}")
    Notification.objects.update(status="sent", sent_at=database_now() - timedelta(days=31))
    tidy_up()
    assert not Notification.objects.exists()


def test_people_who_left_are_not_told_and_what_waits_for_them_is_dropped(cast: Cast, post: Post) -> None:
    task = given(cast)
    mention(cast, task, "one")
    User.objects.filter(pk=cast.ada.pk).update(is_active=False)
    mention(cast, task, "two")
    send_due()
    assert [(row.key, row.status) for row in Notification.objects.all()] == [("one", "dropped")]
    assert post.mails == []


def test_address_that_came_back_is_used_again_when_its_person_says_so(cast: Cast, post: Post, browser: Any) -> None:
    NotificationSettings.objects.create(
        tenant=cast.acme, person=cast.ada, bounced_at=database_now(), bounced_address="ada@acme.example"
    )
    mention(cast, given(cast), "one")
    send_due()
    assert post.mails == []
    page = browser("ada").get("/inbox/notifications/")
    assert 'data-act="use_address"' in page.content.decode()
    assert browser("ada").post("/inbox/notifications/address/").status_code == 302
    mention(cast, given(cast), "two")
    send_due()
    assert len(post.mails) == 1
