"""The Containerfile and the systemd units, read as their programs read them."""

from __future__ import annotations

import configparser
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from workflowplatform.servers.paths import PROJECT

UNITS = sorted((PROJECT / "deploy").glob("*.service"))
KNOWN = {"FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "CMD"}
DJANGOS_OWN = {"migrate", "collectstatic"}


def instructions() -> list[tuple[str, str]]:
    """Read the Containerfile into instructions, comments dropped and continued lines joined."""
    text = re.sub(r"^#.*\n", "", (PROJECT / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def test_containerfile_begins_with_a_new_enough_python_and_names_no_host() -> None:
    word, image = instructions()[0]
    assert word == "FROM"
    found = re.fullmatch(r"python:3\.(\d+)-slim", image)
    assert found
    assert int(found[1]) >= 11
    assert {word for word, _ in instructions()} <= KNOWN


def test_containerfile_copies_only_what_exists_and_all_that_is_needed() -> None:
    sources = [name for word, rest in instructions() if word == "COPY" for name in shlex.split(rest)[:-1]]
    assert [name for name in sources if not (PROJECT / name).exists()] == []
    assert {
        "manage.py",
        "requirements.txt",
        "workflowplatform",
        "engine",
        "tasks_inbox",
        "templates",
        "static",
        "locale",
    } <= {*sources}


def test_container_holds_every_folder_that_the_settings_name() -> None:
    """A folder that is left out is missed by nobody until a person wants German."""
    settings = (PROJECT / "workflowplatform/settings.py").read_text()
    named = {name for name in re.findall(r'BASE_DIR / "(\w+)"', settings) if name != "var"}
    copied = {name for word, rest in instructions() if word == "COPY" for name in shlex.split(rest)[:-1]}
    assert {"locale", "templates"} <= named <= copied


def test_container_installs_by_hash_and_runs_as_somebody_unprivileged() -> None:
    steps = instructions()
    assert any(word == "RUN" and "--require-hashes" in rest for word, rest in steps)
    words = [word for word, _ in steps]
    assert ("USER", "workflow") in steps
    assert words.index("USER") < words.index("CMD")


def test_containers_command_is_a_list_whose_module_exists() -> None:
    (command,) = [json.loads(rest) for word, rest in instructions() if word == "CMD"]
    assert command[:2] == ["python", "-m"]
    assert importlib.util.find_spec(command[2])


def read_unit(file: Path) -> tuple[configparser.ConfigParser, list[str]]:
    """Read a unit: its settings, and every ExecStart (a unit may repeat it)."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(file)
    return parser, re.findall(r"^ExecStart=(.*)$", file.read_text(), re.MULTILINE)


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_unit_runs_unprivileged_and_closed(file: Path) -> None:
    unit, _ = read_unit(file)
    assert unit["Service"]["User"] not in ("", "root")
    assert unit["Service"]["NoNewPrivileges"] == "true"
    assert unit["Service"]["ProtectSystem"] == "strict"
    assert unit["Install"]["WantedBy"] == "workflow.target"


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_unit_starts_commands_that_exist(file: Path) -> None:
    _, commands = read_unit(file)
    assert commands
    for command in commands:
        python, *words = shlex.split(command)
        assert python.endswith("/.venv/bin/python")
        assert _exists(words), words


def _exists(words: list[str]) -> bool:
    if words[0] == "-m":
        return bool(importlib.util.find_spec(words[1]))
    return words[1] in DJANGOS_OWN or any(PROJECT.glob(f"*/management/commands/{words[1]}.py"))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_itself_reads_the_units(tmp_path: Path) -> None:
    for file in (*UNITS, *(PROJECT / "deploy").glob("*.target")):
        # The programs and the account exist on the target only; everything else is verified.
        text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", file.read_text(), flags=re.MULTILINE)
        (tmp_path / file.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(file) for file in sorted(tmp_path.iterdir()) if "@" not in file.name)],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    assert complaints == []


@pytest.mark.security("a broken process stays in its box")
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_systemd_finds_little_to_attack(file: Path, record_property) -> None:
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    (exposure,) = re.findall(r"exposure level for .*: ([\d.]+) ", done.stdout)
    record_property("figure", f"{file.name}: systemd-analyze exposure {exposure} of 10")
    assert float(exposure) <= 2


def test_the_way_with_gunicorn_collects_static_files_first() -> None:
    guide = (PROJECT / "docs/operations.md").read_text()
    (way,) = (part for part in guide.split("\n\n") if part.startswith("**gunicorn**"))
    assert 0 < way.index("manage.py collectstatic --no-input") < way.index("gunicorn workflowplatform.asgi:application")
