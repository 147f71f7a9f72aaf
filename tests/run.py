"""Check everything, family by family: what bin/test runs.

A private PostgreSQL and Valkey serve all families and die with this process. Arguments it does not know go to pytest;
with any of them the static family is left out, because somebody is looking for something else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.pooler import find_or_install_pgbouncer
from tests.servers import TEST_ENVIRONMENT
from workflowplatform.services import postgres
from workflowplatform.services.chromium import find_or_install_chromium
from workflowplatform.services.embedded import Embedded
from workflowplatform.services.paths import PROJECT, DataFolder
from workflowplatform.services.processes import Household
from workflowplatform.services.refusals import CannotStart

NOTHING_COLLECTED = 5
KERNEL_CONFIG = "tests/kernel/pytest.ini"
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
CHECKS: dict[str, tuple[str, ...]] = {
    "mypy": ("-m", "mypy"),
    "ruff format": ("-m", "ruff", "format", "--check", "--quiet", "."),
    "ruff check": ("-m", "ruff", "check", "--quiet", "."),
    "import rules": ("-c", LINT_IMPORTS, "--no-cache"),
    "migrations": ("manage.py", "makemigrations", "--check", "--dry-run"),
    "deployment": ("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """Count what a family showed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Add two families."""
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        """Write the closing line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass(frozen=True, slots=True)
class Family:
    """Name some folders of tests and how they run."""

    name: str
    folders: tuple[str, ...]
    config: str = "pyproject.toml"
    processes: int = 1
    wants_chromium: bool = False
    wants_django: bool = True


FAMILIES = (
    Family("house", ("tests/house",), processes=2, wants_django=False),
    Family("kernel", ("tests/kernel", "tests/patterns"), config=KERNEL_CONFIG),
    Family(
        "database and services",
        tuple(
            f"tests/{room}"
            for room in (
                "accounts",
                "access",
                "coordinator",
                "services",
                "transports",
                "dispatch",
                "races",
                "model",
                "inbox",
                "admin",
            )
        ),
        processes=2,
    ),
    Family("faults", ("tests/faults",)),
    Family("browser", ("tests/browser",), wants_chromium=True),
    Family("REST", ("tests/api",), processes=2),
)


@dataclass(frozen=True, slots=True)
class Run:
    """Hold what every family of one run shares."""

    environment: dict[str, str]
    scratch: Path
    everything: bool
    extra: tuple[str, ...]
    folders: tuple[str, ...]
    output: Path | None = None
    """Where a family's own words go; None: straight to the terminal."""


BESIDE = "browser"
"""The family that runs beside those of one process: it keeps half a core busy and waits for pages."""
BESIDE_OUTPUT = "beside.out"
OF_ONE_PROCESS = ("static", "kernel", "faults")


def main() -> int:
    """Run the families asked for and close with one line of counts."""
    everything, chosen, extra, folders = _read_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with _servers() as (environment, scratch):
            run = Run(environment, scratch, everything, extra, folders)
            checks = dict(_plan(run, chosen))
            whole = not (chosen or extra or folders)
            total = _run_beside(checks, scratch / BESIDE_OUTPUT) if whole else _run_in_turn(checks)
    except CannotStart as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    sys.stdout.write(f"{total}\n")
    return 1 if total.failed else 0


def _read_arguments() -> tuple[bool, str | None, tuple[str, ...], tuple[str, ...]]:
    parser = argparse.ArgumentParser(
        prog="bin/test", description="Check everything. Other arguments go to pytest.", allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="also what takes long")
    parser.add_argument("--family", choices=["static", *(family.name for family in FAMILIES)], help="only this one")
    options, rest = parser.parse_known_args()
    folders = tuple(word for word in rest if (PROJECT / word.partition("::")[0]).exists() and not word.startswith("-"))
    return options.all, options.family, tuple(word for word in rest if word not in folders), folders


@contextmanager
def _servers() -> Iterator[tuple[dict[str, str], Path]]:
    """Lend servers that nobody else uses, whatever the environment names."""
    scratch = Path(tempfile.mkdtemp(prefix="wftest-"))
    scratch.chmod(0o755)
    data = DataFolder(scratch)
    household = Household()
    try:
        data.prepare()
        (scratch / "static").mkdir(exist_ok=True)  # whitenoise warns without it, and warnings are errors
        embedded = Embedded(household, data, careless=True)
        embedded.start_missing({})
        lent = {"WORKFLOW_TEST_SERVERS": "1", "WORKFLOW_DATA": str(scratch), **embedded.addresses}
        yield os.environ | TEST_ENVIRONMENT | lent, scratch
    finally:
        household.stop_all()
        shutil.rmtree(scratch, ignore_errors=True)


def _plan(run: Run, chosen: str | None) -> Iterator[tuple[str, Callable[[], Counts]]]:
    narrowed = bool(run.extra or run.folders)
    if chosen == "static" or not (chosen or narrowed):
        yield "static", partial(_check_statics, run)
    for family in FAMILIES:
        folders = _folders_of(family, run)
        if folders and chosen in (None, family.name):
            told = (
                replace(run, output=run.scratch / BESIDE_OUTPUT)
                if family.name == BESIDE and not (chosen or narrowed)
                else run
            )
            yield family.name, partial(_run_family, told, family, folders)
    if run.everything and not narrowed and not chosen:
        yield from _second_major(run)
        yield "functional tests through pgbouncer", partial(_run_through_pooler, run)


def _folders_of(family: Family, run: Run) -> list[str]:
    """Take the family's folders that exist, or those of the paths asked for that lie in them."""
    if not run.folders:
        return [folder for folder in family.folders if (PROJECT / folder).is_dir()]
    return [
        word
        for word in run.folders
        if any(Path(word.partition("::")[0]).is_relative_to(folder) for folder in family.folders)
    ]


def _second_major(run: Run) -> Iterator[tuple[str, Callable[[], Counts]]]:
    """Run what talks to the database on another PostgreSQL major, where the wheel holds one."""
    family = next(family for family in FAMILIES if family.name == "database and services")
    for major in postgres.available_majors():
        if major != postgres.DEFAULT_MAJOR:
            # Without the word for lent servers, the run starts its own, of that major.
            own = {name: value for name, value in run.environment.items() if name != "WORKFLOW_TEST_SERVERS"}
            other = replace(run, environment=own | {"WORKFLOW_POSTGRES_MAJOR": major})
            yield (
                f"{family.name} on PostgreSQL {major}",
                partial(_run_family, other, family, _folders_of(family, other)),
            )


THROUGH_POOLER = Family(
    "through pgbouncer", ("tests/services", "tests/coordinator", "tests/dispatch", "tests/races"), processes=2
)


def _run_through_pooler(run: Run) -> Counts:
    """Run the functional tests behind a pooler in transaction mode, on servers of their own."""
    if not find_or_install_pgbouncer():
        sys.stdout.write("No pgbouncer was found and none could be installed: the tests through it are skipped.\n")
        return Counts(skipped=1)
    own = {name: value for name, value in run.environment.items() if name != "WORKFLOW_TEST_SERVERS"}
    # The pooler keeps sessions open, so that no database could be dropped; all of them go with their cluster.
    pooled = replace(run, environment=own | {"WORKFLOW_TEST_POOLER": "1"}, everything=False, extra=("--reuse-db",))
    return _run_family(pooled, THROUGH_POOLER, THROUGH_POOLER.folders)


def _run_in_turn(checks: dict[str, Callable[[], Counts]]) -> Counts:
    return sum((_timed(name, check) for name, check in checks.items()), Counts())


def _run_beside(checks: dict[str, Callable[[], Counts]], output: Path) -> Counts:
    """Run the checks in turn; only one family runs beside those of one process, and is told about when it is over."""
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(_timed_quietly, checks.pop(BESIDE))
        first = _run_in_turn({name: checks.pop(name) for name in OF_ONE_PROCESS})
        counts, seconds = beside.result()
    sys.stdout.write(output.read_text() if output.exists() else "")
    sys.stdout.write(f"── {BESIDE}: {counts} in {seconds:.1f} s, beside those above\n")
    return first + counts + _run_in_turn(checks)


def _timed_quietly(check: Callable[[], Counts]) -> tuple[Counts, float]:
    started = time.monotonic()
    return check(), time.monotonic() - started


def _timed(name: str, check: Callable[[], Counts]) -> Counts:
    started = time.monotonic()
    sys.stdout.write(f"── {name}\n")
    sys.stdout.flush()
    counts = check()
    sys.stdout.write(f"── {name}: {counts} in {time.monotonic() - started:.1f} s\n")
    sys.stdout.flush()
    return counts


def _check_statics(run: Run) -> Counts:
    """Run all checks side by side; only a red one says more than its name."""
    environment = {name: value for name, value in run.environment.items() if name != "WORKFLOW_LOOPBACK"}
    started = {name: _start_check(words, environment) for name, words in CHECKS.items()}
    return sum((_finish_check(name, process) for name, process in started.items()), Counts())


def _start_check(words: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, *words]
    return subprocess.Popen(
        command, cwd=PROJECT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _finish_check(name: str, process: subprocess.Popen[str]) -> Counts:
    output, _ = process.communicate()
    sys.stdout.write(f"{name}: {'red' if process.returncode else 'ok'}\n")
    if process.returncode:
        sys.stdout.write(output)
    return Counts(failed=1) if process.returncode else Counts(passed=1)


def _run_family(run: Run, family: Family, folders: Sequence[str]) -> Counts:
    if family.wants_chromium and not find_or_install_chromium():
        return _without_chromium(run)
    report = run.scratch / f"report of {family.name}.xml"
    report.unlink(missing_ok=True)
    environment = run.environment | ({"WORKFLOW_TEST_ALL": "1"} if run.everything else {})
    command = _pytest(run, family, folders, report)
    with run.output.open("w") if run.output else nullcontext() as output:
        code = subprocess.run(command, cwd=PROJECT, env=environment, check=False, stdout=output).returncode
    counts = _read_report(report)
    unexplained = code not in (0, NOTHING_COLLECTED) and not counts.failed
    return counts + Counts(failed=1) if unexplained else counts


def _without_chromium(run: Run) -> Counts:
    sys.stdout.write("No Chromium was found and none could be installed: the browser tests are skipped.\n")
    red = run.environment.get("CI", "").lower() == "true"
    return Counts(failed=1) if red else Counts(skipped=1)


def _pytest(run: Run, family: Family, folders: Sequence[str], report: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-c", family.config, f"--junitxml={report}"]
    if not family.wants_django:
        command += ["-p", "no:django"]
    if not run.everything:
        command += ["-m", "not slow"]
    if family.config == KERNEL_CONFIG and run.everything and not run.folders:
        command += ["-n", "2", "--dist", "loadfile"]  # nothing runs beside it then
    elif family.processes > 1 and not run.folders:
        command += ["-n", str(family.processes), "--dist", "loadfile"]
    return [*command, *run.extra, *folders]


def _read_report(report: Path) -> Counts:
    if not report.exists():
        return Counts()
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    total = Counts()
    for suite in suites:
        tests, failed, skipped = (int(suite.get(name, "0")) for name in ("tests", "failures", "skipped"))
        failed += int(suite.get("errors", "0"))
        total += Counts(max(0, tests - failed - skipped), failed, skipped)
    return total


if __name__ == "__main__":
    sys.exit(main())
