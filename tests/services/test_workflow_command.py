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
    assert told == f"{bad}:3:5 no_kind this step has no kind: say what it does (did you mean `task`?)\n"


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


def test_a_diagram_is_written_where_it_is_wanted(good: str, tmp_path: Path) -> None:
    run("diagram", good, "-o", str(tmp_path / "x.svg"))
    picture = (tmp_path / "x.svg").read_text()
    assert picture.startswith("<svg ")
    assert 'data-step="greet"' in picture
    with pytest.raises(CommandError, match=r"missing/x\.svg"):
        run("diagram", good, "-o", str(tmp_path / "missing" / "x.svg"))


# test


TESTED = (
    GOOD
    + """\
tests:
  - name: somebody greets
    answers: {greet: {}}
    expect: {status: completed, path: [greet]}
  - name: nobody greets
    expect: {status: running, tasks: [greet]}
"""
)
RED = TESTED.replace("status: running", "status: failed")
PARENT = """\
workflow: visit
steps:
  - {id: door, title: Door, workflow: say-hello}
tests:
  - name: the greeting is waited for
    expect: {status: running, started: {say-hello: 1}, instances: {door: {tasks: [greet]}}}
"""


def test_green_tests_close_with_a_count(tmp_path: Path) -> None:
    told = run("test", written(tmp_path, "tested.yaml", TESTED)).splitlines()
    assert [line.strip() for line in told[1:]] == ["green somebody greets", "green nobody greets", "2 passed, 0 failed"]


EMBEDS = """\
workflow: outer
steps: [{id: sub, workflow: {name: inner, embed: true}}]
tests: [{name: its task is ours, start: {}, answers: {sub_look: {}}, expect: {status: completed, path: [sub, sub_look]}}]
"""
INNER = "workflow: inner\nsteps: [{id: look, task: {title: Look}}]\n"


def test_what_a_workflow_embeds_is_found_beside_it_and_in_its_own_file(tmp_path: Path) -> None:
    written(tmp_path, "inner.yaml", INNER)
    assert run("test", written(tmp_path, "outer.yaml", EMBEDS)).splitlines()[-1].startswith("1 ")
    both = tmp_path / "both"
    both.mkdir()
    assert run("test", written(both, "set.yaml", f"{INNER}---\n{EMBEDS}")).splitlines()[-1].startswith("1 ")


def test_workflows_that_embed_each_other_are_told(tmp_path: Path) -> None:
    circle = "workflow: inner\nsteps: [{id: back, workflow: {name: outer, embed: true}}]\n"
    written(tmp_path, "inner.yaml", circle)
    told = run_dirty("test", written(tmp_path, "outer.yaml", EMBEDS))
    assert "unknown_workflow" in told or "embeds_itself" in told


def test_a_red_test_is_told_with_what_went_otherwise(tmp_path: Path) -> None:
    told = run_dirty("test", written(tmp_path, "red.yaml", RED)).splitlines()
    assert told[2:] == [
        "  RED   nobody greets",
        "        the case is running, where failed was expected",
        "1 passed, 1 failed",
    ]


def test_what_cannot_be_read_or_played_counts_as_failed(tmp_path: Path, bad: str) -> None:
    told = run_dirty("test", bad, str(tmp_path / "none.yaml"), written(tmp_path, "tested.yaml", TESTED))
    assert told.endswith("2 passed, 2 failed\n")
    assert "no_kind" in told


def test_children_are_found_in_the_set_or_beside_the_file(tmp_path: Path) -> None:
    written(tmp_path, "say-hello.yaml", GOOD)
    assert "1 passed, 0 failed" in run("test", written(tmp_path, "visit.yaml", PARENT))
    (tmp_path / "set").mkdir()
    assert "1 passed, 0 failed" in run("test", written(tmp_path / "set", "visit.yaml", f"{PARENT}---\n{GOOD}"))


def test_tests_as_json_name_every_failure(tmp_path: Path) -> None:
    told = json.loads(run_dirty("test", "--json", written(tmp_path, "red.yaml", RED)))
    assert (told["passed"], told["failed"]) == (1, 1)
    green, red = told["workflows"][0]["tests"]
    assert (green["passed"], red["passed"], red["failures"]) == (
        True,
        False,
        ["the case is running, where failed was expected"],
    )


def test_names_are_the_gallerys_unless_a_tenant_is_named(cast: Cast, tmp_path: Path) -> None:
    assert run("test", "help-desk").endswith("2 passed, 0 failed\n")
    run("import", written(tmp_path, "tested.yaml", TESTED), "--activate", "--tenant", "acme")
    assert run("test", "say-hello", "--tenant", "acme").endswith("2 passed, 0 failed\n")
    assert run("test", "--tenant", "acme").endswith("2 passed, 0 failed\n")
    with pytest.raises(CommandError, match="no template help-desk"):
        run("test", "help-desk", "--tenant", "acme")


def test_import_with_activate_is_refused_while_a_stored_test_is_red(cast: Cast, tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        run("import", written(tmp_path, "red.yaml", RED), "--activate", "--tenant", "acme")
    assert not TemplateVersion.objects.exists()


@pytest.mark.parametrize("words", [("test",), pytest.param(("simulate",), marks=pytest.mark.slow)])
def test_trying_a_file_needs_no_database(words: tuple[str, ...], tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    command = [sys.executable, "manage.py", "workflow", *words, written(tmp_path, "tested.yaml", TESTED)]
    ended = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# simulate


def test_a_simulated_case_is_told_step_by_step(good: str) -> None:
    told = run("simulate", good, "--answers", '{"greet": {}}').splitlines()
    assert [line.split()[2:] for line in told[:-1]] == [["greet", "task", "running"], ["greet", "task", "success"]]
    assert told[-1] == "completed at 2030-01-07T09:00:00Z"


def test_a_simulated_case_that_waits_says_for_whom(good: str) -> None:
    told = run("simulate", good, "--at", "2031-02-03T08:00:00Z").splitlines()
    assert told[-2:] == ["running at 2031-02-03T08:00:00Z", "  waits for support: Greet (greet)"]


def test_a_simulated_case_as_json_holds_its_trace(good: str) -> None:
    told = json.loads(run("simulate", good, "--json", "--answers", '{"greet": {}}'))
    assert (told["status"], [entry["status"] for entry in told["trace"]]) == ("completed", ["running", "success"])


def test_a_refused_start_is_not_clean(tmp_path: Path) -> None:
    source = GOOD + "input: {type: object, required: [name], properties: {name: {type: string}}}\n"
    assert run_dirty("simulate", written(tmp_path, "asks.yaml", source)).startswith("refused: invalid")


def test_an_incident_says_why(tmp_path: Path) -> None:
    source = "workflow: broken\nsteps:\n  - {id: count, set: {x: '${start.missing}'}}\n"
    told = run("simulate", written(tmp_path, "broken.yaml", source))
    assert "missing" in told
    assert "incident" in told


@pytest.mark.parametrize("option", [("--start", "{"), ("--answers", "[1]"), ("--at", "never"), ("--signals", "[7]")])
def test_what_cannot_be_simulated_is_one_sentence(good: str, option: tuple[str, str]) -> None:
    with pytest.raises(CommandError):
        run("simulate", good, *option)


def test_a_file_with_errors_is_told_instead_of_simulated(bad: str) -> None:
    with pytest.raises(CommandError, match="no_kind"):
        run("simulate", bad)


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
    with pytest.raises(CommandError):
        run("import", file, "--activate", "--tenant", "acme")
    assert not TemplateVersion.objects.exists()


def test_every_document_of_a_set_is_imported_as_written(cast: Cast, tmp_path: Path) -> None:
    second = GOOD.replace("say-hello", "say-thanks")
    run("import", written(tmp_path, "set.yaml", f"---\n{GOOD}---\n{second}"), "--tenant", "acme")
    assert {version.source for version in TemplateVersion.objects.all()} == {GOOD, second}


def test_import_as_somebody_who_may_not_author_is_refused(cast: Cast, good: str) -> None:
    with pytest.raises(CommandError) as refused:
        run("import", good, "--tenant", "acme", "--as", "ada")
    assert getattr(refused.value.__cause__, "code", "") == "level"
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
