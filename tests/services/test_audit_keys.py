"""Rows are hashed with a key that the database does not know; rows of before, and keys that were replaced, stay verifiable."""

import hashlib
import hmac
import json
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import F

from engine.audit.chain import Act, AuditKey, _derived, append, hash_plainly, keyring
from engine.audit.chain import Chain as AuditChain
from engine.audit.subjects import FOREIGN_ANCHOR, KEYLESS_ROWS_MISSING, NO_KEY, UNKNOWN_KEY
from engine.audit.unkeyed_rows import seal_ends
from engine.models import Audit, Instance, JournalRow
from engine.services.audit.verification import hashed_values, verify_everything
from engine.services.instances.lifecycle import cancel_instance
from engine.services.retention.purge import apply_retention, set_retention
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, started
from workflowplatform.ids import uuid7


@pytest.fixture
def told(cast: Cast) -> Instance:
    activated(cast.actor("gwen"), APPROVAL)
    return started(cast.actor("uri"), "approval", amount=5)


def make_plain(instance: Instance) -> None:
    """Write an instance's chain as releases before the key did: a row for each act, hashed plainly."""
    previous, seq = "", 0
    acts = list(Audit.objects.filter(subject_id=instance.pk).order_by("seq"))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM wf_audit WHERE subject_id = %s", [instance.pk])
        for act in acts:
            columns = {field.attname: getattr(act, field.attname) for field in Audit._meta.concrete_fields}
            row = JournalRow(
                **{name: value for name, value in columns.items() if name not in ("id", "row_id", "xid", "hash")}
            )
            previous, seq = hash_plainly(previous, hashed_values(row)), row.seq
            row.hash = previous
            row.save(force_insert=True)
        cursor.execute("SET LOCAL session_replication_role = origin")
    Instance.objects.filter(pk=instance.pk).update(audit_seq=seq, audit_hash=previous)


def whats() -> list[str]:
    return [broken.what for broken in verify_everything().broken]


def test_a_hash_is_hmac_sha256_with_its_keys_name_in_front() -> None:
    secret = _derived("some text")
    made = AuditKey(secret).mac(b"a row")
    assert made[8:] == hmac.new(secret, b"a row", "sha256").hexdigest()[:56]
    assert (len(made), made[0]) == (64, "k")


def test_every_row_is_keyed(cast: Cast, told: Instance) -> None:
    made = set(Audit.objects.values_list("hash", flat=True))
    assert made
    assert all(one.startswith(keyring().current.mark) for one in made)
    assert Instance.objects.get(pk=told.pk).audit_hash in made


def test_rows_of_before_the_key_still_verify_and_the_chain_goes_on(cast: Cast, told: Instance) -> None:
    make_plain(told)
    assert whats() == [NO_KEY]
    seal_ends()
    assert whats() == []
    cancel_instance(actor=cast.actor("ada"), instance_id=told.pk, reason="no")
    assert Audit.objects.filter(subject_id=told.pk, hash__startswith="k").exists()
    assert whats() == []


@pytest.mark.security("the audit shows tampering from within")
def test_plain_rows_after_the_upgrade_are_found_and_accepted_by_the_operator_alone(told: Instance) -> None:
    make_plain(told)
    with pytest.raises(Exception, match="--reason"):
        call_command("audit_key", "accept_plain")
    call_command("audit_key", "accept_plain", "--reason", "one web process was restarted late")
    assert whats() == []
    note = Audit.objects.get(action="accept_plain_audit")
    assert (note.subject_id, note.new) == (told.tenant_id, {"chains": 1})


@pytest.mark.security("the audit shows tampering from within")
@pytest.mark.parametrize(
    "forge",
    [
        "UPDATE wf_audit_plain_ends SET seq = seq + 1",
        "UPDATE wf_audit_plain_ends SET hash = repeat('0', 64)",
        "DELETE FROM wf_audit_plain_ends",
        "UPDATE wf_audit SET actor_name = 'nobody' WHERE hash NOT LIKE 'k%' AND seq = 1",
    ],
)
def test_the_upgrades_memory_cannot_be_rewritten(told: Instance, forge: str) -> None:
    make_plain(told)
    seal_ends()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(forge)
        cursor.execute("SET LOCAL session_replication_role = origin")
    assert len(whats()) == 1


@pytest.mark.security("the audit shows tampering from within")
def test_a_chain_cut_to_before_the_upgrade_is_found(told: Instance) -> None:
    make_plain(told)
    seal_ends()
    first = Audit.objects.get(subject_id=told.pk, seq=1)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM wf_audit WHERE subject_id = %s AND seq > 1", [told.pk])
        cursor.execute("SET LOCAL session_replication_role = origin")
    Instance.objects.filter(pk=told.pk).update(audit_seq=1, audit_hash=first.hash)
    assert whats() == [KEYLESS_ROWS_MISSING]


def test_a_replaced_key_still_verifies_what_it_made_and_a_forgotten_one_is_named(
    cast: Cast, told: Instance, settings: Any
) -> None:
    settings.WORKFLOW_AUDIT_KEYS = ("the new one",)
    cancel_instance(actor=cast.actor("ada"), instance_id=told.pk, reason="no")
    assert len({row.hash[:8] for row in Audit.objects.filter(subject_id=told.pk)}) == 2
    assert whats() == []
    settings.WORKFLOW_AUDIT_KEYS = ("a newer one", "the new one")
    assert whats() == []
    settings.WORKFLOW_AUDIT_KEYS = ("a newer one",)
    assert whats() == [UNKNOWN_KEY]


def test_show_prints_the_key_in_use_and_the_public_key(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("audit_key")
    said = capsys.readouterr().out
    assert keyring().current.id in said
    assert "BEGIN PUBLIC KEY" in said


def test_the_key_costs_a_row_little(cast: Cast, record_property: Callable[[str, object], None]) -> None:
    """Hash the same text both ways, turn by turn."""
    text = json.dumps({"word": "x" * 450}).encode()
    key = keyring().current
    sides: dict[str, Callable[[], object]] = {
        "plain": lambda: hashlib.sha256(text).hexdigest(),
        "keyed": lambda: key.mac(text),
    }
    took: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(30):
        for name, act in sides.items():
            began = time.thread_time()
            for _ in range(500):
                act()
            took[name].append((time.thread_time() - began) / 500 * 1e6)
    plain, keyed = (statistics.median(took[name]) for name in ("plain", "keyed"))
    record_property("figure", f"hash of an audit row: {plain:.2f} µs plain, {keyed:.2f} µs keyed")
    assert keyed - plain < 5


def test_a_row_says_who_made_its_hash_in_a_chain_of_any_length(cast: Cast) -> None:
    chain = AuditChain("tenant", uuid7(), cast.acme.pk)
    now = cast.acme.created_at
    rows, after = append(chain, [Act("one"), Act("two")], actor=cast.actor("ada"), at=now)
    assert [row["hash"][:8] for row in rows] == [keyring().current.mark]
    assert after.seq == 2
    assert after.hash == rows[-1]["hash"]


@pytest.mark.security("the audit shows tampering from within")
def test_the_upgrade_seals_anchors_of_before(cast: Cast, told: Instance) -> None:
    cancel_instance(actor=cast.actor("ada"), instance_id=told.pk, reason="no")
    Instance.objects.filter(pk=told.pk).update(ended_at=F("ended_at") - timedelta(days=9))
    set_retention(actor=cast.actor("gwen"), audit_for="P5D")
    apply_retention()
    with connection.cursor() as cursor:
        cursor.execute("SELECT wf_seal_anchors(%s, %s)", [[told.pk], [""]])
    assert whats() == [FOREIGN_ANCHOR]
    migration = import_module("engine.migrations.0032_audit_keys")
    migration.seal_what_is_there(apps, SimpleNamespace(connection=connection))
    assert whats() == []
