"""Check everything, family by family: what bin/test runs.

Families run side by side, each on a PostgreSQL and a Valkey of its own that die with it (tests/servers.py). Arguments
it does not know go to pytest; with any of them the static family is left out, because they ask for something else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests import coverage_floors, durations, left_out
from tests.pooler import find_or_install_pgbouncer
from tests.prepared import Prepared
from tests.seating import Check, Counts, run_in_turn, run_together
from tests.security_table import not_judged, table
from tests.servers import TEST_ENVIRONMENT
from workflowplatform.servers import postgres
from workflowplatform.servers.chromium import find_or_install_chromium
from workflowplatform.servers.embedded import Embedded
from workflowplatform.servers.errors import CannotStart
from workflowplatform.servers.paths import PROJECT, DataFolder
from workflowplatform.servers.processes import ProcessGroup

NOTHING_COLLECTED = 5
TEST_SECONDS, LONG_TEST_SECONDS = 600, 1500
"""A test that takes longer hangs: it is ended, and its stack is printed."""
FAMILY_SECONDS = 2400
"""A family that takes longer hangs. One process that does alone what several would share has as many times as long."""
KERNEL_CONFIG = "tests/kernel/pytest.ini"
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
CHECKS: dict[str, tuple[str, ...]] = {
    "mypy": ("-m", "mypy"),
    "ruff format": ("-m", "ruff", "format", "--check", "--quiet", "."),
    "ruff check": ("-m", "ruff", "check", "--quiet", "."),
    "bandit": (
        "-m",
        "bandit",
        "-q",
        "-ll",
        "-c",
        "pyproject.toml",
        "-r",
        "engine",
        "tasks_inbox",
        "workflowplatform",
        "manage.py",
    ),
    "import rules": ("-c", LINT_IMPORTS, "--no-cache"),
    "migrations": ("manage.py", "makemigrations", "--check", "--dry-run"),
    "deployment": ("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
}


@dataclass(frozen=True, slots=True)
class Family:
    """Name some folders of tests and how they run."""

    name: str
    folders: tuple[str, ...]
    config: str = "pyproject.toml"
    processes: int = 1
    wants_chromium: bool = False
    wants_django: bool = True
    is_measured: bool = True


FAMILIES = (
    Family(
        "database and services",
        tuple(
            f"tests/{room}"
            for room in (
                "accounts",
                "access",
                "coordinator",
                "conformance",
                "services",
                "transports",
                "dispatch",
                "races",
                "model",
                "inbox",
                "admin",
                "fuzz",
            )
        ),
        processes=2,
    ),
    Family("browser", ("tests/browser",), wants_chromium=True, is_measured=False),
    Family("platform", ("tests/platform",), wants_django=False),
    Family("REST", ("tests/api", "tests/isolation")),
    Family("faults", ("tests/faults",), is_measured=False),
    Family("kernel", ("tests/kernel", "tests/patterns"), config=KERNEL_CONFIG),
)
"""Those that take longest come first, so that none of them is left alone at the end."""
LONG_WALKS = {"kernel", "REST"}
"""What takes longest in its long form: walks over nets and crons, and any request to every operation."""


@dataclass(frozen=True, slots=True)
class Run:
    """Hold what every check of one run shares; the servers are for those that start none of their own."""

    environment: dict[str, str]
    scratch: Path
    everything: bool
    extra: tuple[str, ...]
    folders: tuple[str, ...]
    security: bool = False
    prepared: Callable[[], Mapping[str, str]] = dict
    """Names the prepared cluster, once it is there."""

    @property
    def coverage(self) -> Path:
        """Name the folder where measured families write which lines they ran."""
        return self.scratch / "coverage"


def main() -> int:
    """Run the families asked for and close with one line of counts."""
    options, extra, folders = _read_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with _servers() as (environment, scratch):
            is_narrowed = bool(options.family or extra or folders)
            prepared = dict if is_narrowed else Prepared(scratch / "prepared", environment)
            everything = options.all or options.security
            run = Run(environment, scratch, everything, extra, folders, options.security, prepared)
            checks = list(_measured(run, options.family) if options.coverage else _plan(run, options.family))
            # Figures of security tests are ratios of times: nothing else runs at the same time.
            in_turn = is_narrowed or options.security
            total = run_in_turn(checks) if in_turn else run_together(checks, scratch, _stop_families)
            reports = sorted(scratch.glob("report of *.xml"))
            if (options.all and not is_narrowed) or options.security:
                sys.stdout.write(f"\n{table(reports)}\n\n")
            unjudged = not_judged(reports) if options.security else []
            if options.weigh:
                durations.keep(reports)
            if (options.all and not in_turn) or options.coverage:
                low = _show_coverage(run)
                total += Counts() if is_narrowed else Counts(failed=low)
            if not (run.everything or options.coverage or is_narrowed):
                sys.stdout.write(f"\n{left_out.list_of(sorted(scratch.glob('left out of *')))}\n\n")
    except CannotStart as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    sys.stdout.writelines(f"Not judged: {promise}\n" for promise in unjudged)
    sys.stdout.write(f"{total}\n")
    return 1 if total.failed or unjudged else 0


def _read_arguments() -> tuple[argparse.Namespace, tuple[str, ...], tuple[str, ...]]:
    parser = argparse.ArgumentParser(
        prog="bin/test", description="Check everything. Other arguments go to pytest.", allow_abbrev=False
    )
    parser.add_argument("--all", action="store_true", help="also what takes long")
    parser.add_argument(
        "--security", action="store_true", help="only the promises of docs/security.md, with all their figures"
    )
    parser.add_argument(
        "--coverage", action="store_true", help="only how much of each package the tests run; part of --all"
    )
    parser.add_argument("--weigh", action="store_true", help="keep how long each file took: tests/durations.json")
    families = ["static", *(family.name for family in FAMILIES), *OTHER_MAJORS, THROUGH_POOLER.name, OVER_CURSORS.name]
    parser.add_argument("--family", choices=families, help="only this one")
    options, rest = parser.parse_known_args()
    folders = tuple(word for word in rest if (PROJECT / word.partition("::")[0]).exists() and not word.startswith("-"))
    return options, tuple(word for word in rest if word not in folders), folders


@contextmanager
def _servers() -> Iterator[tuple[dict[str, str], Path]]:
    """Provide servers that nobody else uses, whatever the environment names."""
    scratch = Path(tempfile.mkdtemp(prefix="wftest-"))
    scratch.chmod(0o755)
    data = DataFolder(scratch)
    group = ProcessGroup()
    try:
        data.prepare()
        (scratch / "static").mkdir(exist_ok=True)  # whitenoise warns without it, and warnings are errors
        embedded = Embedded(group, data, careless=True)
        embedded.start_missing({})
        lent = {"WORKFLOW_TEST_SERVERS": "1", "WORKFLOW_DATA": str(scratch), **embedded.addresses}
        yield os.environ | TEST_ENVIRONMENT | lent, scratch
    finally:
        group.stop_all()
        shutil.rmtree(scratch, ignore_errors=True)


def _plan(run: Run, chosen: str | None) -> Iterator[Check]:
    narrowed = bool(run.extra or run.folders or run.security)
    if chosen == "static" or not (chosen or narrowed):
        yield Check("static", 1, partial(_check_statics, run))
    families = sorted(FAMILIES, key=lambda family: family.name not in LONG_WALKS) if run.everything else FAMILIES
    for family in families:
        folders = _folders_of(family, run)
        if folders and chosen in (None, family.name):
            yield _check(run, family, folders)
    if not narrowed:
        yield from (check for check in _other_grounds(run) if chosen == check.name or (run.everything and not chosen))


def _check(run: Run, family: Family, folders: Sequence[str]) -> Check:
    return Check(family.name, family.processes, partial(_run_family, run, family, folders))


def _measured(run: Run, chosen: str | None) -> Iterator[Check]:
    """Measure the families in their short form: tracing takes time, and the long forms only repeat what the short ones reach."""
    short = replace(run, everything=False, security=False)
    traced = replace(short, environment=run.environment | coverage_floors.environment(run.coverage))
    for family in FAMILIES:
        folders = _folders_of(family, run)
        if family.is_measured and folders and chosen in (None, family.name):
            yield _check(traced, replace(family, name=f"{family.name}, measured"), folders)


def _show_coverage(run: Run) -> int:
    """Print how much of each package was run; return how many packages are below their floor."""
    floors = coverage_floors.read_floors()
    measured = coverage_floors.measure(run.coverage, floors)
    sys.stdout.write(f"\n{coverage_floors.table(measured, floors)}\n\n")
    return len(coverage_floors.too_low(measured, floors))


def _folders_of(family: Family, run: Run) -> list[str]:
    """Take the family's folders that exist, or those of the given paths that are in them."""
    if not run.folders:
        return [folder for folder in family.folders if (PROJECT / folder).is_dir()]
    return [
        word
        for word in run.folders
        if any(Path(word.partition("::")[0]).is_relative_to(folder) for folder in family.folders)
    ]


OTHER_MAJORS = {
    f"PostgreSQL {major}": major for major in postgres.available_majors() if major != postgres.DEFAULT_MAJOR
}


def _other_grounds(run: Run) -> Iterator[Check]:
    """Run what talks to the database on other PostgreSQLs too, in its short form: the long ones look for other faults."""
    short = replace(run, everything=False)
    family = next(family for family in FAMILIES if family.name == "database and services")
    for name, major in OTHER_MAJORS.items():
        other = replace(short, environment=run.environment | {"WORKFLOW_POSTGRES_MAJOR": major})
        yield _check(other, replace(family, name=name), _folders_of(family, other))
    yield Check(THROUGH_POOLER.name, THROUGH_POOLER.processes, partial(_run_through_pooler, short))
    plain = replace(short, environment=run.environment | {"WORKFLOW_HOT_PATH": "0"})
    yield _check(plain, OVER_CURSORS, OVER_CURSORS.folders)
    yield from _measured(run, None)


THROUGH_POOLER = Family(
    "pgbouncer", ("tests/services", "tests/coordinator", "tests/dispatch", "tests/races"), processes=2
)
OVER_CURSORS = replace(
    THROUGH_POOLER,
    name="plain cursors",
    folders=(*THROUGH_POOLER.folders, "tests/access", "tests/conformance", "tests/model", "tests/inbox"),
)
"""All that uses hot statements, without the short way to the database: whatever fails only on one of the two is its fault."""


def _run_through_pooler(run: Run, output: Path | None) -> Counts:
    """Run the functional tests behind a pooler in transaction mode, on servers of their own."""
    if not find_or_install_pgbouncer():
        _say("No pgbouncer was found and none could be installed: the tests through it are skipped.", output)
        return Counts(skipped=1)
    # The pooler keeps sessions open, so that no database could be dropped; all of them go with their cluster.
    pooled = replace(run, environment=run.environment | {"WORKFLOW_TEST_POOLER": "1"}, extra=("--reuse-db",))
    return _run_family(pooled, THROUGH_POOLER, THROUGH_POOLER.folders, output)


def _say(words: str, output: Path | None) -> None:
    """Print it in the terminal, or where the check's words are kept until it is over."""
    if output is None:
        sys.stdout.write(f"{words}\n")
    else:
        with output.open("a") as kept:
            kept.write(f"{words}\n")


def _check_statics(run: Run, output: Path | None) -> Counts:
    """Run all checks side by side; only a red one says more than its name."""
    environment = {name: value for name, value in run.environment.items() if name != "WORKFLOW_LOOPBACK"}
    started = {name: _start_check(words, environment) for name, words in CHECKS.items()}
    return sum((_finish_check(name, process, output) for name, process in started.items()), Counts())


def _start_check(words: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, *words]
    return subprocess.Popen(
        command, cwd=PROJECT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _finish_check(name: str, process: subprocess.Popen[str], output: Path | None) -> Counts:
    words, _ = process.communicate()
    _say(f"{name}: red\n{words}" if process.returncode else f"{name}: ok", output)
    return Counts(failed=1) if process.returncode else Counts(passed=1)


_running: list[subprocess.Popen[bytes]] = []


def _stop_families() -> None:
    """End what still runs; its own servers end with it."""
    for process in _running:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()


def _run_family(run: Run, family: Family, folders: Sequence[str], output: Path | None) -> Counts:
    if family.wants_chromium and not find_or_install_chromium():
        return _without_chromium(run, output)
    report = run.scratch / f"report of {family.name}.xml"
    report.unlink(missing_ok=True)
    # Without the word for lent servers a family starts its own: nobody else's rows, keys and load are there.
    own = {name: value for name, value in run.environment.items() if name != "WORKFLOW_TEST_SERVERS"}
    environment = own | ({"WORKFLOW_TEST_ALL": "1"} if run.everything else {})
    environment |= {left_out.VARIABLE: str(run.scratch / f"left out of {family.name}")}
    environment |= run.prepared() if family.wants_django else {}
    command = _pytest(run, family, folders, report)
    with output.open("w") if output else nullcontext() as words:
        seconds = FAMILY_SECONDS * (family.processes if run.security else 1)
        code = _wait_for(subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=words), seconds)
    if code is None:
        _say(f"{family.name}: not over after {seconds} s, so it was ended.", output)
    counts = _read_report(report)
    unexplained = code not in (0, NOTHING_COLLECTED) and not counts.failed
    return counts + Counts(failed=1) if unexplained else counts


def _wait_for(process: subprocess.Popen[bytes], seconds: int) -> int | None:
    """Answer its code; None if it had to be ended."""
    _running.append(process)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        return None
    finally:
        _stop(process)


def _without_chromium(run: Run, output: Path | None) -> Counts:
    _say("No Chromium was found and none could be installed: the browser tests are skipped.", output)
    red = run.security or run.environment.get("CI", "").lower() == "true"
    return Counts(failed=1) if red else Counts(skipped=1)


def _pytest(run: Run, family: Family, folders: Sequence[str], report: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-c", family.config, f"--junitxml={report}"]
    seconds = LONG_TEST_SECONDS if run.everything else TEST_SECONDS
    command += ["-o", f"faulthandler_timeout={seconds}", "-o", "faulthandler_exit_on_timeout=true"]
    if not family.wants_django:
        command += ["-p", "no:django"]
    if run.security:
        command += ["-m", "security"]
    elif not run.everything:
        command += ["-m", "not slow"]
    if family.processes > 1 and not run.folders and not run.security:
        command += ["-n", str(family.processes), "--dist", "loadfile", "--no-loadscope-reorder"]
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
