"""Settings that lead outside are checked before anything runs, and `check --deploy` warns of what would show up late."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from engine.checks import check_settings
from engine.conf import SETTINGS, Conf, Setting, conf
from tests.settings_table import PAGE, written
from tests.workers import ROOT
from workflowplatform import settings as project_settings
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.public_url import origin_of


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("", ""),
        ("https://workflow.example.com", "https://workflow.example.com"),
        (" https://workflow.example.com/ ", "https://workflow.example.com"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_taken(text: str, origin: str) -> None:
    assert origin_of(text) == origin


@pytest.mark.parametrize(
    "text",
    [
        "workflow.example.com", "ftp://example.com", "https://", "https://example.com/app", "https://example.com?x=1",
        "https://example.com#x", "https://me:secret@example.com", "https://example.com:port", "javascript:alert(1)",
        "https://exa mple.com", 'https://example.com"', "https://[::1", "//example.com",
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(CannotStart) as refused:
        origin_of(text)
    assert "WORKFLOW_PUBLIC_URL" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("words", [["manage.py", "check"], ["-c", "import workflowplatform.asgi"]])
def test_neither_a_command_nor_the_web_starts_with_a_wrong_address(words: list[str]) -> None:
    given = {**os.environ, "WORKFLOW_PUBLIC_URL": "example.com/app"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("WORKFLOW_PUBLIC_URL ")


def warned() -> set[str | None]:
    return {message.id for message in run_checks(include_deployment_checks=True)}


def test_mail_without_a_public_address_is_warned_of(db: None, settings: Any) -> None:
    settings.WORKFLOW_PUBLIC_URL = settings.EMAIL_URL_HOST = ""
    assert "workflow.W001" not in warned()
    settings.EMAIL_URL_HOST = "smtp.example.com"
    assert "workflow.W001" in warned()
    settings.WORKFLOW_PUBLIC_URL = "https://workflow.example.com"
    assert "workflow.W001" not in warned()


def test_many_hosts_with_signing_keys_of_their_own_are_warned_of(db: None, settings: Any) -> None:
    assert "workflow.W013" not in warned()
    settings.WORKFLOW_HOSTS = 2
    assert "workflow.W013" in warned()
    settings.WORKFLOW_AUDIT_SIGNING_KEY = "/etc/workflow/audit.pem"
    assert "workflow.W013" not in warned()


def test_many_hosts_without_shared_files_are_warned_of(db: None, settings: Any) -> None:
    assert "workflow.W002" not in warned()
    settings.WORKFLOW_HOSTS = 2
    assert "workflow.W002" in warned()
    settings.WORKFLOW_SHARED_FILES = True
    assert "workflow.W002" not in warned()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("WORKFLOW_HOSTS", "two"),
        ("WORKFLOW_WAKE_SECONDS", "5s"),
        ("WORKFLOW_DIAGRAMS", "maybe"),
        ("EMAIL_PORT", "smtp"),
    ],
)
def test_a_variable_that_cannot_be_read_stops_everything_in_one_sentence(variable: str, text: str) -> None:
    done = check_with({variable: text})
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"{variable} is {text}: set it to ")


def test_a_module_of_functions_that_does_not_exist_stops_everything_in_one_sentence() -> None:
    done = check_with({"WORKFLOW_FUNCTIONS": "engine.extensions.functions,engine.nowhere.to_be_found"})
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("WORKFLOW_FUNCTIONS names engine.nowhere.to_be_found")


def check_with(given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        ("dispatcher", "celery", "workflow.E001"),
        ("startup_validation", "sometimes", "workflow.E003"),
        ("drain_batch", 0, "workflow.E002"),
        ("drain_batch", 2.5, "workflow.E002"),
        ("drain_batch", True, "workflow.E002"),
        ("wake_seconds", 0, "workflow.E002"),
        ("wake_seconds", "5", "workflow.E002"),
        ("stop_seconds", -1, "workflow.E002"),
        ("token_requests", -1, "workflow.E002"),
        ("diagrams", "1", "workflow.E002"),
        ("functions", "engine.extensions.functions", "workflow.E002"),
        ("http_allow", ["10.0.0.5"], "workflow.E002"),
        ("http_allow", ["http://10.0.0.5:8080/path"], "workflow.E002"),
        ("audit_root_mail", ["nobody"], "workflow.E002"),
        ("audit_root_url", "example.com", "workflow.E002"),
        ("audit_root_dir", "", "workflow.E002"),
    ],
)
def test_a_value_that_a_setting_does_not_take_fails_the_check_with_a_hint(
    settings: Any, name: str, value: object, check: str
) -> None:
    one: Setting[Any] = getattr(Conf, name)
    assert check_settings() == []
    setattr(settings, one.name, value)
    (message,) = check_settings()
    assert (message.id, message.hint) == (check, one.hint)
    assert message.msg == f"{one.variable} is {value!r}."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("drain_batch", 1), ("wake_seconds", 1), ("stop_seconds", 0), ("token_requests", 0), ("streams", 0),
        ("http_allow", ["http://10.0.0.5:8080", "https://intern.example.com"]), ("audit_root_url", "https://a.example/x?y=1"),
    ],
)  # fmt: skip
def test_values_at_the_edge_are_taken(settings: Any, name: str, value: object) -> None:
    setattr(settings, getattr(Conf, name).name, value)
    assert check_settings() == []
    assert getattr(conf, name) == value


def test_a_wrong_secret_is_not_shown(settings: Any) -> None:
    settings.WORKFLOW_AUDIT_KEYS = "s3cret"
    (message,) = check_settings()
    assert message.msg == "WORKFLOW_AUDIT_KEY is …."


def test_conf_lists_every_setting_there_is() -> None:
    """What the project's settings define is described, and what is described is defined."""
    assert {name for name in dir(project_settings) if name.startswith("WORKFLOW_")} == {one.name for one in SETTINGS}


def test_the_table_of_settings_is_up_to_date() -> None:
    assert PAGE.read_text() == written(), "run: python -m tests.settings_table"


READS = re.compile(r"settings\.WORKFLOW_|getattr\(settings|os\.environ|os\.getenv|from os import")
READERS = {ROOT / "engine/conf.py", ROOT / "workflowplatform/conf.py", ROOT / "workflowplatform/settings.py"}
BEFORE_SETTINGS = {"environment.py", "asgi.py", "wsgi.py"} | {
    path.name for path in (ROOT / "workflowplatform/servers").glob("*.py")
}
PROMETHEUS = re.compile(r'os\.environ\["PROMETHEUS_MULTIPROC_DIR"\] =|"PROMETHEUS_MULTIPROC_DIR" in os\.environ')
"""The library takes its folder from the environment and from nowhere else."""


def readers(folders: Iterable[Path]) -> set[str]:
    """Find lines that read settings or the environment past the two modules that do."""
    found = (path for folder in folders for path in folder.rglob("*.py"))
    return {
        f"{path.name}: {line.strip()}"
        for path in found
        if path not in READERS
        for line in path.read_text().splitlines()
        if READS.search(line) and not PROMETHEUS.search(line)
    }


def test_the_engine_and_the_inbox_read_settings_through_conf_alone() -> None:
    assert readers([ROOT / "engine", ROOT / "tasks_inbox"]) == set()


def test_the_project_reads_settings_through_conf_alone() -> None:
    """The environment is another matter: the embedded servers, and what starts a process, run before there are settings."""
    found = readers([ROOT / "workflowplatform"])
    assert {line for line in found if "os.environ" not in line} == set()
    assert {line.partition(":")[0] for line in found} <= BEFORE_SETTINGS


def test_a_reader_past_conf_is_found(tmp_path: Path) -> None:
    lines = [
        "x = settings.WORKFLOW_HOSTS",
        'y = getattr(settings, "WORKFLOW_HOSTS")',
        'z = os.environ["WORKFLOW_HOSTS"]',
    ]
    (tmp_path / "reader.py").write_text("\n".join(lines))
    assert readers([tmp_path]) == {f"reader.py: {line}" for line in lines}
