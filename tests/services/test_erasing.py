"""A person can be erased: no name of theirs stays where the platform wrote it, the chains hold, and work continues."""

import json
import re
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, models, transaction

from engine.errors import Conflict, Invalid, NotFound, Refused
from engine.models import Audit, AuditRedaction, Erasure, Instance, RuntimeState, Task, TaskComment, TaskEvent
from engine.services.audit.roots import compare_with_root, make_root, newest_root
from engine.services.audit.verification import verify_everything, verify_folds
from engine.services.people import erasure, pseudonyms
from engine.services.people.accounts import change_details, create_person
from engine.services.people.erasure import agree_erasure, ask_erasure, erase_person, withdraw_erasure
from engine.services.people.person_export import export_person, find_mentions
from engine.services.people.pseudonyms import NAMED
from engine.services.people.tokens import create_token
from engine.services.tasks.comments import comment_task
from engine.services.tasks.lifecycle import claim_task, complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.accounts.actor import actor_of
from workflowplatform.accounts.models import Token, User

pytestmark = pytest.mark.security("a person can be erased and the chains still verify")

NAME, FULL, MAIL = "penelope", "Penelope Quark", "penelope@quark.example"

NOT_PEOPLE = {
    "Tenant.name", "Role.name", "Token.name", "KeptSignal.name", "Event.name", "TemplateVersion.event_name", "HostLock.name",
    "SavedFilter.name", "Secret.name", "BusinessCalendar.name", "Task.name", "TaskAttachment.name",
    "CaseFile.name", "Wait.name", "Webhook.name",
    "BulkRow.subject_name", "RuntimeState.last_executed_by", "Template.name", "Rate.name",
}  # fmt: skip
"""Columns that sound like people and name other things."""
HANDLED = {
    "User.username",
    "User.full_name",
    "User.email",
    "Audit.actor_name",
    "JournalRow.actor_name",
    "TaskEvent.actor_name",
    "SavedFilter.owner_name",
}
"""Columns that are erased by steps of their own."""


SWAPPED_SEAL = """
UPDATE wf_audit_redactions r SET seal = o.seal FROM wf_audit_redactions o
WHERE r.audit_id = (SELECT min(audit_id) FROM wf_audit_redactions)
  AND o.audit_id = (SELECT max(audit_id) FROM wf_audit_redactions)
"""
INVENTED = """
INSERT INTO wf_audit_redactions (audit_id, tenant_id, erasure_id, seal)
SELECT id, tenant_id, gen_random_uuid(), hash FROM wf_audit WHERE id = (SELECT min(id) FROM wf_audit)
"""


@pytest.fixture
def penny(cast: Cast) -> User:
    """Create a person in Acme who did a bit of everything."""
    gwen = cast.actor("gwen")
    person = create_person(
        actor=gwen, tenant=cast.acme, name=NAME, level=4, roles=["finance"], email="old@quark.example", full_name=FULL
    )
    person = change_details(actor=gwen, person=person, full_name=FULL, email=MAIL)
    create_token(actor=actor_of(person), person=person, name="hers")
    activated(gwen, APPROVAL)
    done, held = (started(actor_of(person), "approval", amount=amount) for amount in (5, 6))
    task = only_task(done)
    adam = started(cast.actor("uri"), "approval", amount=7)
    comment_task(actor=actor_of(person), task_id=task.pk, text="Looks right to me")
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "ok"})
    complete_task(actor=actor_of(person), task_id=only_task(adam).pk, outcome="approve", values={"note": "mine"})
    claim_task(actor=actor_of(person), task_id=only_task(started(cast.actor("uri"), "approval", amount=8)).pk)
    assert held.started_by_name == NAME
    return person


def rows_with(*words: str) -> list[str]:
    """Find the rows of all our tables that contain one of these words, whatever the column."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.django_table_names(only_existing=True, include_views=False):
            cursor.execute(
                f'SELECT t::text FROM "{table}" t WHERE t::text ILIKE ANY(%s)', [[f"%{word}%" for word in words]]
            )
            found += [f"{table}: {row[0]}" for row in cursor.fetchall()]
    return found


def test_no_name_stays_anywhere_and_every_chain_still_verifies(cast: Cast, penny: User) -> None:
    assert rows_with(NAME, "Quark")
    done = erase_person(person=penny, reason="asked for it")
    assert rows_with(NAME, "Quark") == []
    assert done.mentions == ()
    assert verify_everything().broken == ()
    assert verify_folds().broken == ()
    person = User.objects.get(pk=penny.pk)
    assert (person.username, person.email, person.full_name, person.is_active) == (
        done.erasure.pseudonym,
        "",
        "",
        False,
    )
    assert not person.has_usable_password()
    assert not Token.objects.filter(user=person).exists()
    assert AuditRedaction.objects.count() == done.erasure.counts["audit"] > 5
    assert TaskComment.objects.get().author_name == done.erasure.pseudonym


def test_what_the_person_held_is_released_and_work_goes_on(cast: Cast, penny: User) -> None:
    held = Task.objects.get(assignee=penny, status="claimed")
    erase_person(person=penny, reason="asked for it")
    held.refresh_from_db()
    assert (held.status, held.assignee_id) == ("open", None)
    complete_task(actor=cast.actor("ada"), task_id=held.pk, outcome="approve", values={"note": "ok"})
    assert verify_everything().broken == ()
    assert verify_folds().broken == ()


def test_four_eyes_still_know_who_took_part(cast: Cast, penny: User) -> None:
    took_part = RuntimeState.objects.filter(snapshot__people__review__has_key=NAME)
    assert took_part.count() == 1
    pseudonym = erase_person(person=penny, reason="asked for it").erasure.pseudonym
    assert (took_part.count(), RuntimeState.objects.filter(snapshot__people__review__has_key=pseudonym).count()) == (
        0,
        1,
    )


@pytest.mark.parametrize(
    "tamper",
    [
        "UPDATE wf_audit SET actor_name = 'former-abcdef' WHERE id = (SELECT min(audit_id) FROM wf_audit_redactions)",
        "UPDATE wf_audit SET action = 'nothing' WHERE id = (SELECT min(audit_id) FROM wf_audit_redactions)",
        "UPDATE wf_audit SET hash = left(hash, 8) || repeat('0', 56) WHERE id = (SELECT min(audit_id) FROM wf_audit_redactions)",
        "DELETE FROM wf_audit_redactions WHERE audit_id = (SELECT min(audit_id) FROM wf_audit_redactions)",
        SWAPPED_SEAL,
        INVENTED,
    ],
)
def test_an_erasure_excuses_exactly_its_own_rows(cast: Cast, penny: User, tamper: str) -> None:
    erase_person(person=penny, reason="asked for it")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(tamper)
        cursor.execute("SET LOCAL session_replication_role = origin")
    assert len(verify_everything().broken) == 1


def test_the_database_lets_an_erasure_change_names_and_nothing_else(cast: Cast, penny: User) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('workflow.redacting', 'on', true)")
        for forbidden in ("UPDATE wf_audit SET action = 'x'", "UPDATE wf_audit SET hash = 'x'", "DELETE FROM wf_audit"):
            with pytest.raises(Exception, match="append-only"), transaction.atomic():
                cursor.execute(forbidden)


def test_a_root_of_before_still_fits(cast: Cast, penny: User, tmp_path: Path, settings: Any) -> None:
    settings.WORKFLOW_AUDIT_ROOT_DIR = str(tmp_path)
    make_root()
    erase_person(person=penny, reason="asked for it")
    place = newest_root()
    assert place is not None
    assert compare_with_root(place).broken == ()


def test_texts_that_mention_the_person_are_listed_and_stay(cast: Cast, penny: User) -> None:
    instance = Instance.objects.filter(status="running")[0]
    comment_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, text=f"Ask {FULL} about this")
    Instance.objects.filter(pk=instance.pk).update(state={"applicant": MAIL, "canada": "penelopes"})
    found = {(one.table, one.field) for one in erase_person(person=penny, reason="asked for it").mentions}
    assert found == {("wf_task_comments", "text"), ("wf_instances", "state")}
    assert TaskComment.objects.filter(text__contains=FULL).exists()


# Who may


def test_two_of_level_five_agree(cast: Cast, penny: User) -> None:
    gwen = cast.actor("gwen")
    second = create_person(actor=gwen, tenant=cast.acme, name="greta", level=5)
    asked = ask_erasure(actor=gwen, person=penny, reason="asked for it")
    with pytest.raises(Refused) as refusal:
        agree_erasure(actor=gwen, person=penny)
    assert refusal.value.code == "four_eyes"
    assert rows_with("Quark")
    done = agree_erasure(actor=actor_of(second), person=penny)
    assert (done.erasure.pk, done.erasure.asked_by_name, done.erasure.agreed_by_name) == (asked.pk, "gwen", "greta")
    assert rows_with(NAME, "Quark") == []
    assert Audit.objects.get(action="erase_person").actor_name == "greta"


def test_an_erasure_can_be_withdrawn_until_it_is_done(cast: Cast, penny: User) -> None:
    gwen = cast.actor("gwen")
    ask_erasure(actor=gwen, person=penny, reason="asked for it")
    with pytest.raises(Conflict):
        ask_erasure(actor=gwen, person=penny, reason="again")
    withdraw_erasure(actor=gwen, person=penny)
    assert not Erasure.objects.exists()
    with pytest.raises(Conflict):
        agree_erasure(actor=cast.actor("zoe").within(cast.acme), person=penny)


@pytest.mark.parametrize(("name", "error"), [("ada", Refused), ("sam", NotFound), ("uri", Refused)])
def test_others_may_not(cast: Cast, penny: User, name: str, error: type[Exception]) -> None:
    for act in (
        lambda: ask_erasure(actor=cast.actor(name), person=penny, reason="x"),
        lambda: agree_erasure(actor=cast.actor(name), person=penny),
        lambda: export_person(actor=cast.actor(name), person=penny),
    ):
        with pytest.raises(error):
            act()


def test_nobody_erases_themselves_or_without_a_reason(cast: Cast, penny: User) -> None:
    with pytest.raises(Refused):
        ask_erasure(actor=cast.actor("gwen"), person=cast.gwen, reason="x")
    with pytest.raises(Invalid):
        ask_erasure(actor=cast.actor("gwen"), person=penny, reason=" ")


def test_work_that_waits_for_this_person_alone_is_named_and_refused(cast: Cast, penny: User) -> None:
    task = Task.objects.filter(status="open")[0]
    task.candidates.all().delete()
    Task.objects.filter(pk=task.pk).update(assignee=penny)
    with pytest.raises(Conflict, match=str(task.pk)):
        erase_person(person=penny, reason="asked for it")
    assert User.objects.get(pk=penny.pk).username == NAME


def test_a_run_that_died_half_way_is_finished_by_the_next(
    cast: Cast, penny: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*args: Any) -> int:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(pseudonyms, "STEPS", (*pseudonyms.STEPS[:3], dies))
        with pytest.raises(RuntimeError):
            erase_person(person=penny, reason="asked for it")
    assert User.objects.get(pk=penny.pk).username == NAME
    erase_person(person=penny, reason="asked for it")
    assert rows_with(NAME, "Quark") == []
    assert verify_everything().broken == ()


# Export and commands


def test_an_export_holds_all_that_is_kept(cast: Cast, penny: User, tmp_path: Path) -> None:
    call_command("person", "export", NAME, "--to", str(tmp_path / "out"))
    kept = json.loads((tmp_path / "out" / "person.json").read_text())
    assert (kept["person"]["email"], kept["roles"], kept["tenant"]) == (MAIL, ["finance"], "acme")
    assert "password" not in kept["person"]
    assert (len(kept["tokens"]), len(kept["comments"]), len(kept["instances_started"])) == (1, 1, 2)
    assert (
        len(kept["audit"]) == Audit.objects.filter(models.Q(actor_id=penny.pk) | models.Q(subject_id=penny.pk)).count()
    )
    assert Audit.objects.filter(action="export_person", subject_id=penny.pk).exists()
    with pytest.raises(CommandError, match=re.escape(str(tmp_path))):
        call_command("person", "export", NAME, "--to", str(tmp_path / "out"))


def test_the_command_erases_and_tells_what_stays(cast: Cast, penny: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("person", "erase", NAME, "--dry-run")
    assert capsys.readouterr().out
    with pytest.raises(CommandError):
        call_command("person", "erase", NAME)
    penny.refresh_from_db()
    assert (penny.username, penny.is_active) == (NAME, True)
    assert not Erasure.objects.exists()
    call_command("person", "erase", NAME, "--reason", "asked for it")
    assert "former-" in capsys.readouterr().out
    with pytest.raises(CommandError, match=NAME):
        call_command("person", "erase", NAME, "--reason", "again")


def test_every_column_that_names_people_is_known() -> None:
    sounding = {
        f"{model.__name__}.{field.attname}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if model._meta.db_table.startswith("wf_")
        and isinstance(field, models.CharField)
        and (field.attname.endswith("name") or field.attname.endswith("_by") or field.attname in {"owner", "email"})
    }
    known = {f"{model.__name__}.{field}" for model, field in NAMED}
    assert sounding - NOT_PEOPLE - HANDLED == known & sounding
    assert known | HANDLED | NOT_PEOPLE >= sounding


def test_mentions_are_whole_words(cast: Cast, penny: User) -> None:
    TaskComment.objects.update(text="penelopes and Penelope, too")
    assert [one.table for one in find_mentions(penny)] == ["wf_task_comments"]
    TaskComment.objects.update(text="penelopes")
    assert list(find_mentions(penny)) == []


def test_events_of_tasks_are_renamed(cast: Cast, penny: User) -> None:
    before = TaskEvent.objects.filter(actor_name=NAME).count()
    pseudonym = erase_person(person=penny, reason="asked for it").erasure.pseudonym
    assert before > 1
    assert TaskEvent.objects.filter(actor_name=pseudonym).count() == before
    assert isinstance(TaskEvent.objects.filter(actor_name=pseudonym)[0].actor_id, UUID)


# While others work


def test_an_act_under_way_is_waited_for_and_its_name_goes_too(
    committed_cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    activated(committed_cast.actor("gwen"), APPROVAL)
    adam = committed_cast.actor("adam")
    begun, may_end = threading.Event(), threading.Event()

    def starts() -> None:
        try:
            with transaction.atomic():
                started(adam, "approval", amount=9)
                begun.set()
                may_end.wait(10)
        finally:
            connection.close()

    thread = threading.Thread(target=starts)
    thread.start()
    try:
        assert begun.wait(10)
        monkeypatch.setattr(erasure, "PATIENCE", 0.2)
        with pytest.raises(Conflict) as refusal:
            erase_person(person=committed_cast.adam, reason="asked for it")
        assert refusal.value.code == "busy"
        person = User.objects.get(pk=committed_cast.adam.pk)
        assert (person.username, person.is_active) == ("adam", False)
    finally:
        may_end.set()
        thread.join()
    monkeypatch.setattr(erasure, "PATIENCE", 10)
    pseudonym = erase_person(person=committed_cast.adam, reason="asked for it").erasure.pseudonym
    assert Instance.objects.get().started_by_name == pseudonym
    assert (verify_everything().broken, verify_folds().broken) == ((), ())
