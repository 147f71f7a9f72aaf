"""What no committed file may hold, and what the committed pins must hold."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from workflowplatform.servers.paths import PROJECT

# Assembled, so that this file does not name what it forbids.
HOSTS = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry." + "npmjs",
    "docker" + ".io",
    "ghcr" + ".io",
    "quay" + ".io",
    "unpkg" + ".com",
    "jsdelivr" + ".net",
    "astral" + ".sh",
    "deb.debian" + ".org",
]
"""Where packages, images and scripts come from: a setting of the machine that installs them."""
PLACES = [
    rf"(?<![\w.~-]){re.escape(str(PROJECT))}(?![\w.-])",
    r"(?<![\w.~-])/" + r"(?:root|home/\w+|Users/\w+)/",
    r"(?<![\w.~-])/" + r"tmp/[a-z]",
    r"(?<![\w.~-])/" + r"work/(?:main|shared|wt-)",
    "/opt/" + r"(?:py" + "pi|wheels)",
]
"""Folders of one machine: this clone, home folders, scratch files, and those where the maintainers build the project."""


def committed_texts() -> list[tuple[str, str]]:
    """Read every file that git tracks, from the working tree."""
    if not (PROJECT / ".git").exists():
        pytest.skip("this is no clone")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    files = [PROJECT / name for name in listed.split("\0") if name]
    return [(str(file.relative_to(PROJECT)), file.read_text(errors="ignore")) for file in files if file.is_file()]


@pytest.mark.parametrize("pattern", [*map(re.escape, HOSTS), *PLACES])
def test_no_committed_file_names(pattern: str) -> None:
    found = [name for name, text in committed_texts() if re.search(pattern, text, re.IGNORECASE)]
    assert found == []


def test_lock_file_and_environment_stay_out() -> None:
    names = [name for name, _ in committed_texts()]
    assert [name for name in names if name == "uv.lock" or name.startswith((".venv", "var/"))] == []


@pytest.mark.parametrize(("room", "most"), [("engine", 25), ("engine/kernel", 20), ("engine/services", 20)])
def test_architecture_is_seen_at_a_glance(room: str, most: int) -> None:
    """Put what is new into one of the packages, or make one for it and its kind."""
    entries = {
        name.removeprefix(f"{room}/").partition("/")[0] for name, _ in committed_texts() if name.startswith(room)
    }
    assert 10 < len(entries) <= most, sorted(entries)


def test_advisory_locks_are_spelled_in_one_place() -> None:
    """A second spelling could share a number with the first; migrations stay as they ran."""
    code = [(name, text) for name, text in committed_texts() if name.endswith(".py")]
    found = [name for name, text in code if "pg_" + "advisory" in text or "pg_" + "try_advisory" in text]
    assert [name for name in found if "/migrations/" not in name] == ["engine/db/advisory_locks.py"]


def pinned(file: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==([^ ]+)", (PROJECT / file).read_text(), re.MULTILINE))


def plain_name(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ;]", requirement, maxsplit=1)[0].lower().replace(".", "-").replace("_", "-")


@pytest.fixture(scope="module")
def project() -> dict[str, dict[str, dict[str, list[str]]]]:
    """Give pyproject.toml as read."""
    return tomllib.loads((PROJECT / "pyproject.toml").read_text())


def test_every_dependency_is_pinned(project: dict) -> None:
    runtime = {plain_name(word) for word in project["project"]["dependencies"]}
    everything = runtime | {plain_name(word) for word in project["dependency-groups"]["dev"]}
    assert runtime - pinned("requirements.txt").keys() == set(), "run bin/pin"
    assert everything - pinned("requirements-dev.txt").keys() == set(), "run bin/pin"
    for group in ("docs", "peers"):
        wanted = {plain_name(word) for word in project["dependency-groups"][group]}
        assert wanted - pinned(f"requirements-{group}.txt").keys() == set(), "run bin/pin"


def test_constraints_and_requirements_agree(project: dict) -> None:
    constraints = dict(word.split(" ;")[0].split("==") for word in project["tool"]["uv"]["constraint-dependencies"])
    assert constraints == pinned("requirements-dev.txt"), "run bin/pin"
    assert pinned("requirements.txt").items() <= constraints.items(), "run bin/pin"
    for file in ("requirements-docs.txt", "requirements-peers.txt"):
        shared = pinned(file).items() & constraints.items()
        assert {name for name, _version in shared} == pinned(file).keys() & constraints.keys(), "run bin/pin"


@pytest.mark.parametrize("file", sorted(file.name for file in PROJECT.glob("requirements*.txt")))
def test_every_pin_has_hashes_and_no_place(file: str) -> None:
    text = (PROJECT / file).read_text()
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert blocks
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert not re.search(r"^-|://", text, re.MULTILINE)


@pytest.mark.parametrize("script", ["bin/up", "bin/test", "bin/docs", "bin/peers", "bin/pin", ".ci/run"])
def test_commands_are_plain_executable_sh(script: str) -> None:
    file = PROJECT / script
    assert file.stat().st_mode & 0o111
    assert file.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", str(file)], check=True)


def test_ci_calls_bin_test_and_nothing_else_decides() -> None:
    lines = [line for line in Path(PROJECT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -eu", 'exec "$(dirname -- "$0")/../bin/test" "$@"']


def is_ended_by_a_condition(node: ast.AST) -> bool:
    """Return whether a node is a loop that ends when something has come."""
    ends = ast.Break | ast.Return
    return isinstance(node, ast.While) or (
        isinstance(node, ast.For) and any(isinstance(one, ends) for one in ast.walk(node))
    )


SLEEPS = re.compile(r"(^|^time\.)sleep$|\.wait_for_timeout$")


def hopeful_sleeps(source: str) -> list[int]:
    """List the lines of a test module that sleep outside a loop without a comment `# sleep:` that says why.

    A browser that is told to wait for a time sleeps as well.
    """
    lines, found = source.splitlines(), set[int]()

    def look(node: ast.AST, in_loop: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            in_loop = False
        if isinstance(node, ast.Call) and SLEEPS.search(ast.unparse(node.func)) and not in_loop:
            found.update({node.lineno} if "# sleep: " not in lines[node.lineno - 1] else ())
        for child in ast.iter_child_nodes(node):
            look(child, in_loop or is_ended_by_a_condition(node))

    look(ast.parse(source), False)
    return sorted(found)


def test_no_test_sleeps_and_hopes() -> None:
    found = {
        str(path.relative_to(PROJECT)): lines
        for path in (PROJECT / "tests").rglob("*.py")
        if (lines := hopeful_sleeps(path.read_text()))
    }
    assert found == {}, "wait for a condition with a deadline, or say why time itself is the subject: `# sleep: why`"


def test_a_hopeful_sleep_would_be_found() -> None:
    source = """
time.sleep(1)
time.sleep(2)  # sleep: a slow server
while not done():
    time.sleep(3)
    call(lambda: time.sleep(4))
for _ in rows:
    def act():
        time.sleep(5)
inbox.page.wait_for_timeout(6)
while not there():
    page.wait_for_timeout(7)
for words in ("first", "second"):
    page.wait_for_timeout(8)
for _ in range(9):
    if there():
        break
    page.wait_for_timeout(9)
"""
    assert hopeful_sleeps(source) == [2, 6, 9, 10, 14]
