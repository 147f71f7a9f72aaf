"""Settings that lead outside are checked before anything runs, and `check --deploy` warns of what would show up late."""

import os
import subprocess
import sys
from typing import Any

import pytest
from django.core.checks import run_checks

from tests.workers import ROOT
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
    assert sentence.startswith("WORKFLOW_PUBLIC_URL is not")


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
