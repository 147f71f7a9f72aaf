"""The admin reads through engine.access: no page asks a table of the audit by itself."""

import re
from pathlib import Path

import pytest

from engine import access
from tests.admin.conftest import SignIn
from tests.cast import Cast
from tests.hooks import codes

FOLDERS = (Path("engine/admin"), Path("workflowplatform/accounts/admin"))
PAGES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))


def test_no_page_reads_the_audit_past_access() -> None:
    assert len(PAGES) > 20
    found = [path.name for path in PAGES if re.search(r"\bAudit\.objects\b", path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(("name", "sees"), [("uri", False), ("ada", True), ("gwen", True), ("sam", False)])
def test_the_audit_is_for_people_who_operate_this_tenant(cast: Cast, name: str, sees: bool) -> None:
    """Sam operates another tenant, Uri uses this one."""
    entries = access.visible_audit(cast.actor(name)).filter(subject_id=cast.ada.pk)
    assert entries.exists() is sees


def test_only_level_six_reads_the_audit_of_another_tenant(cast: Cast, sign_in: SignIn) -> None:
    address = f"/admin/accounts/tenant/{cast.acme.pk}/history/"
    assert "create_tenant" in codes("entry", sign_in("zoe").get(address))
    assert sign_in("gwen").get(address).status_code == 404
    for name, sees in (("zoe", True), ("sam", False), ("gwen", True), ("uri", False)):
        assert access.audit_of_tenant(cast.actor(name), cast.acme.pk).exists() is sees, name
