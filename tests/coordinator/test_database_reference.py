"""docs/database.sql shows what a migrated database enforces."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from engine.management.commands.database_reference import PAGE
from workflowplatform.database.reference import database_reference

pytestmark = pytest.mark.django_db
RENEW = "renew it with: manage.py database_reference"


def change(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_committed_page_is_the_generated_one() -> None:
    assert PAGE.read_text(encoding="utf-8") == database_reference(connection), RENEW


def test_check_accepts_the_page_and_refuses_another(tmp_path: Path) -> None:
    page = tmp_path / "database.sql"
    call_command("database_reference", output=page)
    call_command("database_reference", output=page, check=True)
    page.write_text(page.read_text().replace("wf_require_moved", "wf_moved"))
    kept = page.read_text()
    with pytest.raises(CommandError, match="out of date"):
        call_command("database_reference", output=page, check=True, stderr=StringIO())
    assert page.read_text() == kept


CHANGES = {
    "function": ("CREATE FUNCTION wf_two() RETURNS int LANGUAGE sql AS 'SELECT 2'", "FUNCTION wf_two()"),
    "right": ("REVOKE ALL ON FUNCTION wf_legal_move FROM PUBLIC", "REVOKE ALL ON FUNCTION wf_legal_move"),
    "column": ("ALTER TABLE wf_rates ADD note text DEFAULT 'x y' NOT NULL", "note text DEFAULT 'x y'::text NOT NULL"),
    "constraint": ("ALTER TABLE wf_rates ADD CONSTRAINT two CHECK (2 > 1)", "CONSTRAINT two CHECK (2 > 1)"),
    "index": ("CREATE INDEX two ON wf_rates (tenant_id)", "INDEX two ON wf_rates"),
    "trigger": (
        "CREATE TRIGGER two BEFORE UPDATE ON wf_rates FOR EACH ROW EXECUTE FUNCTION wf_append_only()",
        "TRIGGER two BEFORE UPDATE ON wf_rates",
    ),
    "view": ("CREATE VIEW wf_two AS SELECT 2 AS two", "CREATE VIEW wf_two"),
    "policy": (
        "CREATE POLICY two ON wf_rates FOR DELETE USING (1 = 2)",
        "two ON wf_rates FOR DELETE TO PUBLIC USING (1 = 2)",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_whatever_the_database_enforces_is_on_the_page(kind: str) -> None:
    statement, written = CHANGES[kind]
    assert written not in database_reference(connection)
    change(statement)
    assert written in database_reference(connection)


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("DROP TRIGGER legal_move ON wf_tasks", "TRIGGER legal_move BEFORE UPDATE OF status ON wf_tasks"),
        ("ALTER TABLE wf_tasks DISABLE TRIGGER legal_move", "TRIGGER legal_move BEFORE UPDATE OF status ON wf_tasks"),
        ("ALTER TABLE wf_tasks NO FORCE ROW LEVEL SECURITY", "wf_tasks ENABLE ROW LEVEL SECURITY, FORCE"),
    ],
)
def test_what_is_no_longer_active_is_not_on_the_page(statement: str, written: str) -> None:
    assert written in database_reference(connection)
    change(statement)
    assert written not in database_reference(connection)
