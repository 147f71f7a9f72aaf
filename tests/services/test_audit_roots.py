"""A root remembers where all chains ended: signed, outside the database, and compared with what is there later."""

import base64
import gzip
import json
import subprocess
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from engine.audit.signatures import public_key_pem
from engine.audit.subjects import CHAIN_REMOVED, ROWS_REMOVED
from engine.db.host_locks import acquire, holder_of
from engine.dispatch.audit_roots import EVERY, RootMaker
from engine.models import Audit, AuditRoot, Instance
from engine.services.audit import roots as audit_roots
from engine.services.audit.roots import DAILY, LOCK, BadRoot, believed_root, compare_with_root, make_root, newest_root
from engine.services.audit.verification import verify_audit, verify_everything
from engine.services.instances.lifecycle import cancel_instance
from engine.services.retention.purge import apply_retention, set_retention
from tests.cast import Cast
from tests.services.outside import outside_world
from tests.workflows import APPROVAL, activated, started

pytestmark = pytest.mark.security("a signed root shows what was removed")


@pytest.fixture(autouse=True)
def roots(tmp_path: Path, settings: Any) -> Path:
    """Keep roots in a folder of this test's own, and let workers make them."""
    settings.WORKFLOW_AUDIT_ROOT_DIR = str(tmp_path / "roots")
    settings.WORKFLOW_AUDIT_ROOTS = True
    return tmp_path / "roots"


@pytest.fixture
def case(cast: Cast) -> Instance:
    activated(cast.actor("gwen"), APPROVAL)
    return started(cast.actor("uri"), "approval", amount=5)


def newest() -> Path:
    found = newest_root()
    assert found is not None
    return found


def behind_our_backs(sql: str, *values: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, values)
        cursor.execute("SET LOCAL session_replication_role = origin")


def test_a_root_counts_every_chain_and_names_its_tenants(cast: Cast, case: Instance) -> None:
    root = make_root()
    chains = Audit.objects.values("subject_id").distinct().count()
    said = believed_root(newest()).said
    assert (root.chains, said["chains"]) == (chains, chains)
    assert said["tenants"][str(cast.acme.pk)]["chains"] > said["tenants"][str(cast.globex.pk)]["chains"] > 0
    assert compare_with_root(newest()).broken == ()


def test_chains_that_went_on_since_are_no_finding(cast: Cast, case: Instance) -> None:
    make_root()
    cancel_instance(actor=cast.actor("ada"), instance_id=case.pk, reason="no")
    verdict = verify_everything()
    assert (verdict.broken, bool(verdict.root)) == ((), True)


def test_roots_are_linked_to_the_one_before(case: Instance) -> None:
    first, second = make_root(), make_root()
    assert json.loads(second.statement)["previous"] == first.digest
    assert json.loads(first.statement)["previous"] == ""


def test_what_retention_lets_go_is_explained_and_what_an_insider_deletes_is_not(cast: Cast, case: Instance) -> None:
    other = started(cast.actor("uri"), "approval", amount=6)
    for one in (case, other):
        cancel_instance(actor=cast.actor("ada"), instance_id=one.pk, reason="no")
    Instance.objects.filter(pk=case.pk).update(ended_at=F("ended_at") - timedelta(days=9))
    make_root()
    set_retention(actor=cast.actor("gwen"), cancelled_for="P5D", audit_for="P5D")
    apply_retention()
    assert not Audit.objects.filter(subject_id=case.pk).exists()
    verdict = verify_everything()
    assert (verdict.broken, verdict.let_go) == ((), 1)
    behind_our_backs("DELETE FROM wf_audit WHERE subject_id = %s", other.pk)
    behind_our_backs("DELETE FROM wf_instances WHERE id = %s", other.pk)
    assert [(one.subject_id, one.what) for one in verify_everything().broken] == [(other.pk, CHAIN_REMOVED)]


def test_a_tenants_own_verification_compares_its_own_chains(cast: Cast, case: Instance) -> None:
    make_root()
    behind_our_backs("DELETE FROM wf_audit WHERE subject_id = %s", case.pk)
    behind_our_backs("DELETE FROM wf_instances WHERE id = %s", case.pk)
    assert [one.subject_id for one in verify_audit(actor=cast.actor("ada")).broken] == [case.pk]
    assert verify_audit(actor=cast.actor("stan")).broken == ()


def rewrite(place: Path, change: Callable[[str], str]) -> None:
    place.write_bytes(gzip.compress(change(gzip.decompress(place.read_bytes()).decode()).encode()))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.replace("instance ", "template ", 1), "changed"),
        (
            lambda text: "\n".join(line for line in text.splitlines() if not line.startswith("inst")) + "\n",
            "changed",
        ),
        (lambda text: text.replace('\\"chains\\": ', '\\"chains\\": 1', 1), "signature"),
        (lambda text: text[: text.index("root {")], "cut_off"),
        (lambda text: "something else", "no_root"),
    ],
)
def test_a_changed_root_is_not_believed(case: Instance, change: Callable[[str], str], code: str) -> None:
    make_root()
    rewrite(newest(), change)
    with pytest.raises(BadRoot) as refusal:
        believed_root(newest())
    assert refusal.value.code == code
    assert [one.subject_kind for one in verify_everything().broken] == ["root"]


def test_a_root_signed_by_another_key_needs_its_name(case: Instance, tmp_path: Path, settings: Any) -> None:
    make_root()
    theirs = tmp_path / "theirs.pem"
    theirs.write_text(public_key_pem())
    settings.WORKFLOW_AUDIT_SIGNING_KEY = str(tmp_path / "ours")
    with pytest.raises(SystemExit):
        call_command("verify_audit", "--against", str(newest()))
    call_command("verify_audit", "--against", str(newest()), "--key", str(theirs))


def openssl_believes(folder: Path, statement: str, signature: str) -> bool:
    for name, content in {
        "key.pem": public_key_pem().encode(),
        "said": statement.encode(),
        "sig": base64.b64decode(signature),
    }.items():
        (folder / name).write_bytes(content)
    args = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin", "-in", "said", "-sigfile", "sig"]
    done = subprocess.run(args, cwd=folder, capture_output=True, text=True, check=False)
    return "Verified Successfully" in done.stdout


def test_openssl_verifies_a_signature_without_us(case: Instance, tmp_path: Path) -> None:
    root = make_root()
    assert openssl_believes(tmp_path, root.statement, root.signature)


def test_a_posted_root_is_signed_and_finds_its_chains(
    cast: Cast, case: Instance, tmp_path: Path, settings: Any
) -> None:
    cancel_instance(actor=cast.actor("ada"), instance_id=case.pk, reason="no")
    with outside_world() as world:
        settings.WORKFLOW_HTTP_ALLOW = [world.origin]
        settings.WORKFLOW_AUDIT_ROOT_URL = f"{world.origin}/json/roots"
        root = make_root()
    [(method, path, headers, body)] = world.requests
    assert (method, path, headers["idempotency-key"]) == ("POST", "/json/roots", root.digest)
    sent = json.loads(body)
    assert json.loads(sent["statement"])["digest"] == root.digest
    assert openssl_believes(tmp_path, sent["statement"], sent["signature"])
    assert not openssl_believes(tmp_path, sent["statement"].replace(root.digest, "0" * 64), sent["signature"])
    (tmp_path / "posted.json").write_bytes(body)
    assert compare_with_root(tmp_path / "posted.json").broken == ()
    behind_our_backs("DELETE FROM wf_audit WHERE subject_id = %s AND seq > 1", case.pk)
    assert [one.subject_id for one in compare_with_root(tmp_path / "posted.json").broken] == [case.pk]


def test_a_mailed_root_finds_its_chains(cast: Cast, case: Instance, tmp_path: Path, settings: Any) -> None:
    cancel_instance(actor=cast.actor("ada"), instance_id=case.pk, reason="no")
    settings.WORKFLOW_AUDIT_ROOT_MAIL = ["auditor@example.com"]
    make_root()
    make_root()
    letter = mail.outbox[0]
    assert letter.to == ["auditor@example.com"]
    kept = tmp_path / "kept.txt"
    kept.write_text(f"Subject: {letter.subject}\n\n{letter.body}")
    behind_our_backs("DELETE FROM wf_audit WHERE subject_id = %s AND seq > 1", case.pk)
    left = Audit.objects.filter(subject_id=case.pk).count()
    assert [one.what for one in compare_with_root(kept).broken] == [ROWS_REMOVED.format(last=left)]
    kept.write_text("{}")
    with pytest.raises(BadRoot):
        compare_with_root(kept)


def test_an_outside_program_that_does_not_answer_keeps_no_root_from_being_made(case: Instance, settings: Any) -> None:
    settings.WORKFLOW_HTTP_ALLOW = ["http://127.0.0.1:9"]
    settings.WORKFLOW_AUDIT_ROOT_URL = "http://127.0.0.1:9/roots"
    assert make_root().chains > 0


# By workers


def make_by(maker: RootMaker) -> int:
    shares = 0
    maker.look()
    while maker.every < EVERY:
        maker.look()
        shares += 1
    return shares


def test_workers_make_one_a_day_in_shares(case: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_roots, "BATCH", 2)
    assert make_by(RootMaker()) > 3
    assert AuditRoot.objects.count() == 1
    make_by(RootMaker())
    assert AuditRoot.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wf_host_locks SET expires_at = clock_timestamp() WHERE name = %s", [DAILY])
    make_by(RootMaker())
    assert AuditRoot.objects.count() == 2
    assert compare_with_root(newest()).broken == ()


def test_one_worker_makes_it_and_one_that_leaves_frees_it(case: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_roots, "BATCH", 2)
    first, second = RootMaker(), RootMaker()
    first.look()
    second.look()
    assert (holder_of(LOCK) is not None, second.every) == (True, EVERY)
    first.leave()
    assert (holder_of(LOCK), AuditRoot.objects.count(), newest_root()) == (None, 0, None)
    assert make_by(RootMaker()) > 0
    assert AuditRoot.objects.count() == 1


def test_a_folder_that_cannot_be_written_is_tried_again_later(case: Instance, tmp_path: Path, settings: Any) -> None:
    (tmp_path / "file").write_text("")
    settings.WORKFLOW_AUDIT_ROOT_DIR = str(tmp_path / "file" / "roots")
    make_by(RootMaker())
    assert (AuditRoot.objects.count(), holder_of(LOCK), holder_of(DAILY)) == (0, None, None)


def test_the_command_waits_for_nobody(case: Instance) -> None:
    acquire(LOCK, seconds=60)
    with pytest.raises(BadRoot) as refusal:
        make_root()
    assert refusal.value.code == "busy"
    with pytest.raises(CommandError):
        call_command("audit_root")


def test_old_files_are_thinned_out_to_one_a_month(roots: Path, case: Instance) -> None:
    roots.mkdir()
    for month in (1, 2):
        for day in range(1, 29):
            (roots / f"root-2020{month:02}{day:02}T000000000000Z.txt.gz").write_bytes(b"")
    make_root()
    kept = [file.name[5:13] for file in sorted(roots.glob("root-*"))]
    assert (kept[:4], len(kept)) == (["20200101", "20200127", "20200128", "20200201"], 32)


# Scale


def test_a_root_reads_no_row_of_the_audit(case: Instance, record_property: Callable[[str, object], None]) -> None:
    with CaptureQueriesContext(connection) as asked:
        root = make_root()
    assert not [one["sql"] for one in asked.captured_queries if '"wf_audit"' in one["sql"] or "wf_audit " in one["sql"]]
    record_property("figure", f"root over {root.chains} chains: {len(asked)} statements, none reads wf_audit")


@pytest.mark.slow
def test_a_root_over_many_chains(cast: Cast, case: Instance, record_property: Callable[[str, object], None]) -> None:
    """Make a hundred thousand anchors, which have no rows, and count what a root over them takes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO wf_audit_anchors (tenant_id, subject_id, template_id, seq, hash, ended_at, anchored_at) "
            "SELECT %s, gen_random_uuid(), gen_random_uuid(), 12, repeat('0', 64), now(), now() FROM generate_series(1, 100000)",
            [cast.acme.pk],
        )
    began = time.perf_counter()
    with CaptureQueriesContext(connection) as asked:
        root = make_root()
    took = time.perf_counter() - began
    assert root.chains > 100_000
    assert len(asked) < 400
    record_property("figure", f"root over {root.chains} chains: {took:.1f} s, {len(asked)} statements")
