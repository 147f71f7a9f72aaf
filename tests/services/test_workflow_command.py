"""manage.py workflow: scripts read standard output and the exit code, people read standard error."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from engine.models import TemplateVersion
from tests.cast import Cast

PROJECT = Path(__file__).resolve().parents[2]

GOOD = """\
workflow: say-hello
title: Say hello
steps:
  - id: greet
    task: {title: Greet, roles: [support]}
"""
BAD = """\
workflow: say-bye
steps:
  - id: wave
    tsak: {title: Wave}
"""


def run(*words: str) -> str:
    """Run the command and return what scripts read."""
    out = StringIO()
    call_command("workflow", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def run_dirty(*words: str) -> str:
    """Run the command, which must end with exit code 1, and return what scripts read."""
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("workflow", *words, stdout=out, stderr=StringIO())
    assert ended.value.code == 1
    return out.getvalue()


@pytest.fixture
def good(tmp_path: Path) -> str:
    return written(tmp_path, "good.yaml", GOOD)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    return written(tmp_path, "bad.yaml", BAD)


def written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


# validate


def test_a_clean_file_says_nothing_to_scripts(good: str) -> None:
    assert run("validate", good) == ""


def test_a_finding_stands_in_one_line_with_its_place_code_and_hint(good: str, bad: str) -> None:
    told = run_dirty("validate", good, bad)
    assert told == f"{bad}:3:5 no_kind this step says not what it does (did you mean `task`?)\n"


def test_lines_are_those_of_the_file_when_it_holds_several_documents(tmp_path: Path) -> None:
    file = written(tmp_path, "set.yaml", f"# two\n---\n{GOOD}---\n{BAD}")
    assert run_dirty("validate", file).startswith(f"{file}:11:5 no_kind")


def test_json_lists_every_document_with_its_findings(good: str, bad: str) -> None:
    clean, dirty = json.loads(run_dirty("validate", "--json", good, bad))
    assert (clean["file"], clean["name"], clean["findings"]) == (good, "say-hello", [])
    assert len(clean["sha256"]) == 64
    assert (dirty["findings"][0]["code"], dirty["findings"][0]["line"]) == ("no_kind", 3)


@pytest.mark.parametrize(
    "content", [b"", b"# nothing\n", b"\xff\xfe\x00", b"steps: [", b"- a\n- b\n", b"workflow: x\x00"]
)
def test_what_is_no_template_is_a_finding_and_no_traceback(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)
    assert run_dirty("validate", str(file)).startswith(f"{file}:1:")


def test_a_missing_file_and_a_folder_are_findings(tmp_path: Path) -> None:
    told = run_dirty("validate", str(tmp_path / "none.yaml"), str(tmp_path)).splitlines()
    assert [line.split(" ")[1] for line in told] == ["unreadable", "unreadable"]


def test_validating_needs_no_database(good: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    command = [sys.executable, "manage.py", "workflow", "validate", good]
    ended = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr


def test_with_a_tenant_its_roles_are_looked_at(cast: Cast, tmp_path: Path) -> None:
    file = written(tmp_path, "legal.yaml", GOOD.replace("support", "legal"))
    assert run("validate", file) == ""
    assert "unknown_role" in run_dirty("validate", file, "--tenant", "acme")


@pytest.mark.parametrize("act", ["test", "simulate", "diagram"])
def test_tools_that_come_later_say_so_with_exit_code_2(act: str) -> None:
    with pytest.raises(CommandError, match="not there yet") as refusal:
        run(act, "x.yaml")
    assert refusal.value.returncode == 2


# import


def test_import_saves_a_draft(cast: Cast, good: str) -> None:
    run("import", good, "--tenant", "acme")
    version = TemplateVersion.objects.get()
    assert (version.template.name, version.number, version.status) == ("say-hello", 1, "draft")
    assert (version.source, version.created_by_name) == (GOOD, "operator")


def test_import_with_activate_puts_the_next_version_in_force(cast: Cast, good: str) -> None:
    run("import", good, "--activate", "--tenant", "acme", "--as", "gwen")
    (told,) = json.loads(run("import", good, "--activate", "--tenant", "acme", "--as", "gwen", "--json"))
    assert (told["name"], told["version"], told["status"]) == ("say-hello", 2, "active")
    assert [*TemplateVersion.objects.order_by("number").values_list("status", flat=True)] == ["archived", "active"]


def test_import_keeps_a_draft_with_findings_and_is_not_clean(cast: Cast, bad: str) -> None:
    run_dirty("import", bad, "--tenant", "acme")
    assert TemplateVersion.objects.get().findings[0]["code"] == "no_kind"


def test_activating_with_errors_imports_nothing_of_the_file(cast: Cast, tmp_path: Path) -> None:
    file = written(tmp_path, "set.yaml", f"{GOOD}---\n{BAD}")
    with pytest.raises(CommandError, match="Nothing was imported"):
        run("import", file, "--activate", "--tenant", "acme")
    assert not TemplateVersion.objects.exists()


def test_every_document_of_a_set_is_imported_as_written(cast: Cast, tmp_path: Path) -> None:
    second = GOOD.replace("say-hello", "say-thanks")
    run("import", written(tmp_path, "set.yaml", f"---\n{GOOD}---\n{second}"), "--tenant", "acme")
    assert {version.source for version in TemplateVersion.objects.all()} == {GOOD, second}


def test_import_as_somebody_who_may_not_author_is_refused(cast: Cast, good: str) -> None:
    with pytest.raises(CommandError, match="level 5"):
        run("import", good, "--tenant", "acme", "--as", "ada")
    assert not TemplateVersion.objects.exists()


def test_import_into_another_tenant_as_level_5_is_refused(cast: Cast, good: str) -> None:
    with pytest.raises(CommandError):
        run("import", good, "--tenant", "globex", "--as", "gwen")


@pytest.mark.parametrize("words", [("import", "none.yaml", "--tenant", "acme"), ("export", "x", "--tenant", "nowhere")])
def test_what_is_not_there_is_one_sentence(cast: Cast, words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*words)


# export


def test_export_prints_the_version_in_force_as_written(cast: Cast, tmp_path: Path, good: str) -> None:
    run("import", good, "--activate", "--tenant", "acme")
    run("import", written(tmp_path, "newer.yaml", GOOD.replace("Say hello", "Newer")), "--tenant", "acme")
    assert run("export", "say-hello", "--tenant", "acme") == GOOD
    assert "title: Newer" in run("export", "say-hello", "--tenant", "acme", "--number", "2")


def test_every_format_can_be_imported_again_as_the_same_definition(cast: Cast, tmp_path: Path, good: str) -> None:
    run("import", good, "--tenant", "acme")
    for form in ("yaml", "json", "canonical"):
        exported = run("export", "say-hello", "--tenant", "acme", "--format", form)
        run("import", written(tmp_path, f"again.{form}", exported), "--tenant", "acme")
    assert TemplateVersion.objects.count() == 4
    assert len(set(TemplateVersion.objects.values_list("sha256", flat=True))) == 1


def test_a_template_of_another_tenant_is_not_there(cast: Cast, good: str) -> None:
    run("import", good, "--tenant", "acme")
    with pytest.raises(CommandError, match="no template say-hello"):
        run("export", "say-hello", "--tenant", "globex")
