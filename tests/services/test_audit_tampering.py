"""An insider with every right in the database rewrites history: `verify_audit` finds it."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from engine.audit.chain import hashed_text
from engine.audit.subjects import CHAIN_REMOVED, CHANGED, NO_KEY, OTHER_END, ROWS_REMOVED, Broken
from engine.models import Audit, Instance, JournalRow
from engine.services.audit.verification import count_acts, hashed_values, verify_everything
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started

TABLES = {
    "instance": "wf_instances",
    "person": "wf_people",
    "tenant": "wf_tenants",
    "template": "wf_templates",
}

pytestmark = pytest.mark.security("the audit shows tampering from within")


@pytest.fixture(autouse=True)
def roots(tmp_path: Path, settings: Any) -> Path:
    """Keep roots in a folder of this test's own."""
    settings.WORKFLOW_AUDIT_ROOT_DIR = str(tmp_path / "roots")
    return tmp_path / "roots"


@pytest.fixture
def told(committed_cast: Cast) -> Instance:
    """Return an instance with a history."""
    activated(committed_cast.actor("gwen"), APPROVAL)
    return tell(committed_cast, amount=5)


def tell(cast: Cast, *, amount: int) -> Instance:
    instance = started(cast.actor("uri"), "approval", amount=amount)
    complete_task(actor=cast.actor("ada"), task_id=only_task(instance).pk, outcome="approve", values={"note": "ok"})
    return instance


@contextmanager
def insider() -> Iterator[Any]:
    """Provide a cursor that no trigger stops."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor


def plain_hash(previous: str, row: JournalRow) -> str:
    """Hash as anybody can who has read the source: no key is needed for SHA-256."""
    return hashlib.sha256(hashed_text(previous, hashed_values(row))).hexdigest()


def rows_of(subject_id: UUID) -> list[JournalRow]:
    return list(JournalRow.objects.filter(subject_id=subject_id).order_by("seq"))


def end_of(row: JournalRow) -> int:
    """Return the number of a row's last act."""
    return row.seq - 1 + count_acts(row)[0]


def forge(cursor: Any, kind: str, subject_id: UUID) -> None:
    """Make a chain whole again after a change: every hash by SHA-256, and the subject's memory of the last one."""
    previous, seq = "", 0
    for row in rows_of(subject_id):
        previous, seq = plain_hash(previous, row), end_of(row)
        cursor.execute("UPDATE wf_audit SET hash = %s WHERE id = %s", [previous, row.pk])
    cursor.execute(
        f"UPDATE {TABLES[kind]} SET audit_seq = %s, audit_hash = %s WHERE id = %s", [seq, previous, subject_id]
    )


def only_broken() -> Broken:
    (broken,) = verify_everything().broken
    return broken


def test_a_row_rewritten_with_all_hashes_made_anew_is_found(told: Instance) -> None:
    with insider() as cursor:
        cursor.execute("UPDATE wf_audit SET actor_name = 'nobody' WHERE subject_id = %s AND seq > 1", [told.pk])
        forge(cursor, "instance", told.pk)
    found = only_broken()
    assert (found.subject_id, found.seq) == (told.pk, 1)
    assert found.what == NO_KEY


def test_a_rewritten_history_that_claims_to_be_older_than_the_key_is_found(told: Instance) -> None:
    with insider() as cursor:
        cursor.execute("UPDATE wf_audit SET at = at - interval '9 years', id = -id WHERE subject_id = %s", [told.pk])
        forge(cursor, "instance", told.pk)
    assert only_broken().subject_id == told.pk


def test_only_a_last_row_made_anew_is_found(told: Instance) -> None:
    *_, before, last = rows_of(told.pk)
    last.acts = (last.acts or "").replace("approve", "reject")
    with insider() as cursor:
        forged = plain_hash(before.hash, last)
        cursor.execute("UPDATE wf_audit SET acts = %s, hash = %s WHERE id = %s", [last.acts, forged, last.pk])
        cursor.execute("UPDATE wf_instances SET audit_hash = %s WHERE id = %s", [forged, told.pk])
    assert (only_broken().seq, only_broken().what) == (last.seq, NO_KEY)


@pytest.mark.parametrize(
    "change",
    [
        "acts = replace(acts::text, 'approve', 'reject')::json",
        "acts = replace(acts::text, ',', ', ')::json",
        "told = replace(told::text, 'approve', 'reject')::json",
        "told = NULL",
        "acts = NULL",
        "action = 'invented'",
        "new = '{\"invented\": 1}'",
    ],
)
def test_whatever_of_a_row_is_changed_is_found(told: Instance, change: str) -> None:
    last = rows_of(told.pk)[-1]
    with insider() as cursor:
        cursor.execute(f"UPDATE wf_audit SET {change} WHERE id = {last.pk}")
    assert (only_broken().seq, only_broken().what) == (last.seq, CHANGED)


def test_two_chains_that_changed_places_are_found(committed_cast: Cast, told: Instance) -> None:
    other = tell(committed_cast, amount=6)
    with insider() as cursor:
        cursor.execute(
            "UPDATE wf_audit SET seq = seq + 1000, subject_id = CASE subject_id WHEN %(a)s THEN %(b)s::uuid ELSE %(a)s END "
            "WHERE subject_id IN (%(a)s, %(b)s)",
            {"a": told.pk, "b": other.pk},
        )
        cursor.execute("UPDATE wf_audit SET seq = seq - 1000 WHERE seq > 1000")
        forge(cursor, "instance", told.pk)
        forge(cursor, "instance", other.pk)
    assert {broken.subject_id for broken in verify_everything().broken} == {told.pk, other.pk}


def test_a_rolled_back_memory_of_the_end_is_found(told: Instance) -> None:
    earlier = rows_of(told.pk)[0]
    Instance.objects.filter(pk=told.pk).update(audit_seq=end_of(earlier), audit_hash=earlier.hash)
    assert only_broken().what == OTHER_END


def test_a_chain_deleted_behind_a_false_anchor_is_found(told: Instance) -> None:
    with insider() as cursor:
        cursor.execute(
            "INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at, purged_at) "
            "SELECT tenant_id, id, template_id, audit_seq, audit_hash, now(), now(), now() FROM wf_instances WHERE id = %s",
            [told.pk],
        )
        cursor.execute("DELETE FROM wf_audit WHERE subject_id = %s", [told.pk])
    assert "anchor" in only_broken().what


@pytest.mark.parametrize("table", ["wf_audit", "wf_task_events", "wf_audit_anchors"])
def test_truncating_is_refused(told: Instance, table: str) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {table} CASCADE")
    assert Audit.objects.exists()


# What only a root shows: a shorter chain is whole in itself


def roll_back(cursor: Any, instance: Instance) -> int:
    """Delete all rows but the first, and the subject's memory of them; return the number of the last act that is left."""
    earlier = rows_of(instance.pk)[0]
    seq = end_of(earlier)
    cursor.execute("DELETE FROM wf_audit WHERE subject_id = %s AND seq > %s", [instance.pk, seq])
    cursor.execute(
        "UPDATE wf_instances SET audit_seq = %s, audit_hash = %s WHERE id = %s", [seq, earlier.hash, instance.pk]
    )
    return seq


def test_a_tail_deleted_with_the_subjects_memory_rolled_back_is_found(told: Instance) -> None:
    call_command("audit_root")
    with insider() as cursor:
        left = roll_back(cursor, told)
    found = only_broken()
    assert (found.subject_id, found.what) == (told.pk, ROWS_REMOVED.format(last=left))


def test_a_chain_deleted_with_its_subject_is_found(told: Instance) -> None:
    call_command("audit_root")
    with insider() as cursor:
        cursor.execute("DELETE FROM wf_audit WHERE subject_id = %s", [told.pk])
        cursor.execute("DELETE FROM wf_instances WHERE id = %s", [told.pk])
    found = only_broken()
    assert (found.subject_id, found.what) == (told.pk, CHAIN_REMOVED)
