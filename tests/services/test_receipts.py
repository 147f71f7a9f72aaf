"""A receipt of a case is signed: not a byte can be changed, and it is verified without the database."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engine.audit.signatures import public_key_pem
from engine.errors import NotFound
from engine.models import Instance
from engine.services.audit.receipts import BadReceipt, make_receipt, receipt_name, verify_receipt
from engine.services.tasks.lifecycle import complete_task
from tests.cast import Cast
from tests.workflows import APPROVAL, activated, only_task, started
from workflowplatform.servers.paths import PROJECT

pytestmark = pytest.mark.security("a receipt of a case cannot be changed unseen")


@pytest.fixture
def case(cast: Cast) -> Instance:
    activated(cast.actor("gwen"), APPROVAL)
    instance = started(cast.actor("uri"), "approval", amount=7)
    task = only_task(instance)
    complete_task(actor=cast.actor("ada"), task_id=task.pk, outcome="approve", values={"note": "fine"}, comment="Yes")
    instance.refresh_from_db()
    return instance


@pytest.fixture
def receipt(cast: Cast, case: Instance, tmp_path: Path) -> Path:
    place = tmp_path / receipt_name(case)
    place.write_text(make_receipt(actor=cast.actor("uri"), instance_id=case.pk))
    return place


def test_a_receipt_says_who_decided_what_and_where_the_audit_ends(
    case: Instance, receipt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = verify_receipt(receipt)
    assert receipt.name == "APP-7-0.receipt.json" or receipt.name.startswith("APP-7")
    assert said["audit"] == {"events": case.audit_seq, "hash": case.audit_hash}
    (decision,) = said["decisions"]
    assert (decision["by"], decision["outcome"], decision["comment"]) == ("ada", "approve", "Yes")
    assert decision["answer"] == {"note": "fine"}
    call_command("verify_receipt", str(receipt))
    assert "approve by ada" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.replace("approve", "refuse", 1), "signature"),
        (lambda text: text.replace("fine", "bad"), "signature"),
        (lambda text: text[:-40], "no_receipt"),
        (lambda text: "", "no_receipt"),
        (lambda text: json.dumps(json.loads(text) | {"more": "x"}), "no_receipt"),
        (lambda text: json.dumps(json.loads(text) | {"signature": "AAAA"}), "signature"),
        (lambda text: json.dumps(json.loads(text) | {"public_key": "AAAA"}), "other_key"),
    ],
)
def test_a_changed_receipt_is_refused(receipt: Path, change: Callable[[str], str], code: str) -> None:
    receipt.write_text(change(receipt.read_text()))
    with pytest.raises(BadReceipt) as refusal:
        verify_receipt(receipt)
    assert refusal.value.code == code
    with pytest.raises(CommandError):
        call_command("verify_receipt", str(receipt))


def test_a_receipt_of_another_platform_needs_its_key(receipt: Path, tmp_path: Path, settings: Any) -> None:
    theirs = tmp_path / "theirs.pem"
    theirs.write_text(public_key_pem())
    settings.WORKFLOW_AUDIT_SIGNING_KEY = str(tmp_path / "other.pem")
    for code in ("no_key", "other_key"):
        with pytest.raises(BadReceipt) as refusal:
            verify_receipt(receipt)
        assert refusal.value.code == code
        public_key_pem()
    call_command("verify_receipt", str(receipt), key=[theirs])


def test_receipts_from_before_the_key_was_replaced_still_hold(
    cast: Cast, case: Instance, receipt: Path, tmp_path: Path, settings: Any
) -> None:
    old, new = tmp_path / "old.pem", tmp_path / "new.pem"
    old.write_text(public_key_pem())
    settings.WORKFLOW_AUDIT_SIGNING_KEY = str(tmp_path / "replaced.pem")
    new.write_text(public_key_pem())
    later = tmp_path / "later.receipt.json"
    later.write_text(make_receipt(actor=cast.actor("uri"), instance_id=case.pk))
    verify_receipt(later)
    for place in (receipt, later):
        call_command("verify_receipt", str(place), key=[old, new])
    receipt.write_text(receipt.read_text().replace("fine", "bad"))
    with pytest.raises(CommandError):
        call_command("verify_receipt", str(receipt), key=[old, new])


@pytest.mark.parametrize("tampered", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_host_with_nothing_but_the_public_key_verifies(receipt: Path, tmp_path: Path, tampered: bool) -> None:
    theirs, data = tmp_path / "theirs.pem", tmp_path / "elsewhere"
    theirs.write_text(public_key_pem())
    if tampered:
        receipt.write_text(receipt.read_text().replace("fine", "bad"))
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "WORKFLOW_DATA": str(data)}
    words = [sys.executable, "manage.py", "verify_receipt", str(receipt)]
    done = subprocess.run(
        [*words, "--key", str(theirs)], cwd=PROJECT, env=bare, capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if tampered else 0), done.stderr
    alone = subprocess.run(words, cwd=PROJECT, env=bare, capture_output=True, text=True, check=False)
    assert alone.returncode == 1
    assert not list(tmp_path.rglob("*signing_key*")), "verifying makes no key"


def test_a_receipt_is_for_those_who_see_the_case(cast: Cast, case: Instance) -> None:
    for name in ("sam",):
        with pytest.raises(NotFound):
            make_receipt(actor=cast.actor(name), instance_id=case.pk)
