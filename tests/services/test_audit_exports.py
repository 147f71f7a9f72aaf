"""An export of the audit is signed at its end: not a byte can be changed, added or left out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from engine.audit.signatures import public_key_pem
from engine.models import Audit
from engine.services.audit.exports import BadExport, export_audit, verify_export
from engine.services.audit.verification import list_audit
from tests.cast import Cast

pytestmark = pytest.mark.security("an export of the audit cannot be changed unseen")


@pytest.fixture(params=["csv", "json"])
def exported(request: pytest.FixtureRequest, cast: Cast, tmp_path: Path) -> Path:
    ada = cast.actor("ada")
    export = export_audit(actor=ada, rows=list_audit(actor=ada), form=request.param, asked={"actor": "operator"})
    place = tmp_path / export.name
    place.write_text("".join(export.lines), newline="")
    return place


def test_an_untouched_file_says_what_it_is(cast: Cast, exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = verify_export(exported)
    assert (said["tenant"], said["by"], said["asked"]) == (str(cast.acme.pk), "ada", {"actor": "operator"})
    assert len(exported.read_text().splitlines()) >= Audit.objects.filter(tenant=cast.acme).count() + 1
    call_command("verify_export", str(exported))
    assert "ada" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.replace("operator", "nobody", 1), "changed"),
        (lambda text: text[text.index("\n") + 1 :], "changed"),
        (lambda text: text[: text.rstrip().rindex("\n") + 1], "cut_off"),
        (lambda text: "=1+1\n" + text, "changed"),
        (lambda text: text.replace("ada", "eve"), "signature"),
        (lambda text: "", "cut_off"),
    ],
)
def test_a_changed_file_is_refused(exported: Path, change: Callable[[str], str], code: str) -> None:
    with exported.open(newline="") as file:
        text = file.read()
    exported.write_text(change(text), newline="")
    with pytest.raises(BadExport) as refusal:
        verify_export(exported)
    assert refusal.value.code == code
    with pytest.raises(CommandError):
        call_command("verify_export", str(exported))


def test_a_file_of_another_platform_needs_its_key(exported: Path, tmp_path: Path, settings: Any) -> None:
    theirs = tmp_path / "theirs.pem"
    theirs.write_text(public_key_pem())
    settings.WORKFLOW_AUDIT_SIGNING_KEY = str(tmp_path / "ours")
    with pytest.raises(BadExport) as refusal:
        verify_export(exported)
    assert refusal.value.code == "other_key"
    call_command("verify_export", str(exported), "--key", str(theirs))


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path, settings: Any) -> None:
    settings.WORKFLOW_AUDIT_SIGNING_KEY = str(tmp_path / "made")
    assert public_key_pem() == public_key_pem()
    assert (tmp_path / "made").stat().st_mode & 0o077 == 0
