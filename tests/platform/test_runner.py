"""The runner behind bin/test: what it counts, passes on and closes with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pytest

from tests import durations, left_out, run, seating, security_table
from workflowplatform.servers.chromium import find_chromium
from workflowplatform.servers.paths import PROJECT


def bin_test(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.run", *words]
    return subprocess.run(
        command, cwd=PROJECT, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_words_are_passed_on_and_counts_close_the_output() -> None:
    done = bin_test("tests/platform/test_addresses_and_keys.py", "-k", "socket_url")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert re.search(r"^── platform: 1 passed.* in [\d.]+ s$", done.stdout, re.MULTILINE)
    assert "── static" not in done.stdout


class Named(NamedTuple):
    """What is known of a collected test."""

    nodeid: str


MARKED = """
import pytest
@pytest.mark.security("walls hold")
def test_kept(record_property):
    record_property("figure", "12 routes")
@pytest.mark.security("walls hold")
def test_broken():
    assert False
@pytest.mark.security("secrets stay secret")
@pytest.mark.slow
def test_long():
    pass
def test_of_something_else():
    pass
@pytest.mark.security("tokens have an end")
def test_of_a_busy_machine():
    pytest.skip("cannot judge")
"""


def test_security_tests_are_added_up_by_promise_with_their_figures(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED)
    lent = run.Run({}, tmp_path, everything=True, extra=(), folders=(), security=True)
    command = run._pytest(
        lent, run.Family("platform", (), wants_django=False), [str(tmp_path)], tmp_path / "report.xml"
    )
    subprocess.run(command, cwd=PROJECT, capture_output=True, timeout=60, check=False)
    assert security_table.table([tmp_path / "report.xml"]).splitlines() == [
        "promise              passed  failed  skipped  figures",
        "secrets stay secret       1       0        0",
        "tokens have an end        0       0        1  not judged: test_of_a_busy_machine: cannot judge",
        "walls hold                1       1        0  12 routes",
    ]
    assert security_table.not_judged([tmp_path / "report.xml"]) == ["tokens have an end"]


@pytest.mark.parametrize(("verdict", "code"), [("", 0), ('<skipped message="cannot judge"/>', 1)])
def test_security_run_that_could_not_judge_a_promise_is_red_and_names_it(
    verdict: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = '<properties><property name="promise" value="tokens have an end"/></properties>'
    report = tmp_path / "report of platform.xml"
    report.write_text(f'<testsuite tests="1"><testcase name="test_one">{kept}{verdict}</testcase></testsuite>')
    monkeypatch.setattr(run, "_servers", lambda: nullcontext(({}, tmp_path)))
    monkeypatch.setattr(run, "_plan", lambda *_: [])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["bin/test", "--security", "--family", "platform"])
    assert run.main() == code
    said = capsys.readouterr().out.splitlines()
    assert ("Not judged: tokens have an end" in said) == bool(code)


def test_security_measures_alone_and_has_as_long_as_it_takes_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = replace(next(family for family in run.FAMILIES if family.processes > 1), wants_django=False)
    lent = run.Run({}, tmp_path, everything=True, extra=(), folders=())
    alone = replace(lent, security=True)
    assert "-n" in run._pytest(lent, shared, [], tmp_path / "report.xml")
    assert [f for f in run.FAMILIES if "-n" in run._pytest(alone, f, [], tmp_path / "report.xml")] == []
    limits: list[int] = []

    def wait_for(process: subprocess.Popen[bytes], seconds: int) -> int:
        limits.append(seconds)
        return process.wait()

    monkeypatch.setattr(run, "_pytest", lambda *_: ["true"])
    monkeypatch.setattr(run, "_wait_for", wait_for)
    for asked in (lent, alone):
        run._run_family(asked, shared, [], None)
    assert limits == [run.FAMILY_SECONDS, run.FAMILY_SECONDS * shared.processes]


def test_what_a_short_run_leaves_out_is_listed(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED)
    lent = run.Run({}, tmp_path, everything=False, extra=(), folders=())
    command = run._pytest(
        lent, run.Family("platform", (), wants_django=False), [str(tmp_path)], tmp_path / "report.xml"
    )
    kept = tmp_path / "left out"
    environment = os.environ | {left_out.VARIABLE: str(kept)}
    subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, timeout=60, check=False)
    heading, row = left_out.list_of([kept]).splitlines()
    assert heading == "Only with bin/test --all: 1 tests"
    assert row.endswith("test_marked.py::test_long")
    assert left_out.list_of([]) == ""


def test_long_files_begin_first_and_all_of_them_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [name for name in durations.measured() if not (PROJECT / name).exists()] == []
    for name in ("test_a", "test_b"):
        (tmp_path / f"{name}.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    monkeypatch.setattr(durations, "KEPT", tmp_path / "durations.json")
    monkeypatch.setattr(durations, "PROJECT", tmp_path)
    (tmp_path / "report.xml").write_text(
        '<testsuite><testcase classname="test_b" time="1.5"/><testcase classname="test_b" time="1"/>'
        '<testcase classname="test_a" time="1"/><testcase classname="gone" time="9"/></testsuite>'
    )
    durations.keep([tmp_path / "report.xml"])
    assert durations.measured() == {"test_b.py": 2}
    items = [Named(f"{file}.py::{name}") for file in ("test_a", "test_b") for name in ("test_one", "test_two")]
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    durations.pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == [
        "test_b.py::test_one", "test_b.py::test_two", "test_a.py::test_one", "test_a.py::test_two",
    ]  # fmt: skip


def test_security_runs_marked_tests_of_every_family_and_nothing_else(tmp_path: Path) -> None:
    checks = list(run._plan(run.Run({}, tmp_path, everything=True, extra=(), folders=(), security=True), None))
    assert {check.name for check in checks} == {family.name for family in run.FAMILIES}


def test_red_run_counts_and_ends_with_a_code(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="6" failures="1" errors="2" skipped="1"/></testsuites>')
    assert str(run._read_report(report)) == "2 passed, 3 failed, 1 skipped"


@pytest.mark.parametrize(
    ("ci", "counts"), [("true", "0 passed, 1 failed, 0 skipped"), ("", "0 passed, 0 failed, 1 skipped")]
)
def test_missing_chromium_is_skipped_by_hand_and_red_in_ci(ci: str, counts: str, tmp_path: Path) -> None:
    lent = run.Run({"CI": ci}, tmp_path, everything=False, extra=(), folders=())
    assert str(run._without_chromium(lent, None)) == counts
    assert run._without_chromium(replace(lent, security=True), None).failed == 1


def test_named_chromium_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKFLOW_CHROMIUM", "/nonexistent/chromium")
    assert find_chromium() is None
    monkeypatch.setenv("WORKFLOW_CHROMIUM", sys.executable)
    assert find_chromium() == sys.executable


def test_every_folder_of_tests_belongs_to_one_family() -> None:
    known = [folder for family in run.FAMILIES for folder in family.folders]
    folders = [f"tests/{place.name}" for place in (PROJECT / "tests").iterdir() if any(place.glob("**/test_*.py"))]
    assert [folder for folder in folders if known.count(folder) != 1] == []


def test_all_goes_over_other_grounds_in_short_form_and_every_check_has_a_name_of_its_own(tmp_path: Path) -> None:
    checks = list(run._plan(run.Run({}, tmp_path, everything=True, extra=(), folders=()), None))
    names = [check.name for check in checks]
    assert len(set(names)) == len(names)  # reports are kept by name
    grounds = {check.name: check.show for check in checks if check.name in {*run.OTHER_MAJORS, "pgbouncer"}}
    assert len(grounds) == len(run.OTHER_MAJORS) + 1
    assert not [name for name, show in grounds.items() if show.args[0].everything]  # type: ignore[attr-defined]
    assert len(list(run._plan(run.Run({}, tmp_path, everything=False, extra=(), folders=()), None))) < len(checks)


def test_kernel_family_runs_without_django() -> None:
    code = "import sys, pytest; pytest.main(['-q', '--co', '-c', 'tests/kernel/pytest.ini', 'tests/kernel']); "
    code += "sys.exit('django' in sys.modules)"
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO", "DATABASE", "REDIS"))}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=bare, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


SLEEPER = "import time\ndef test_sleeps():\n    time.sleep(120)\n"


def test_test_that_hangs_is_ended_and_says_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "test_sleeper.py").write_text(SLEEPER)
    lent = run.Run({}, tmp_path, everything=False, extra=("-o", "faulthandler_timeout=1"), folders=())
    command = run._pytest(
        lent, run.Family("platform", (), wants_django=False), [str(tmp_path)], tmp_path / "report.xml"
    )
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stdout
    assert "in test_sleeps" in done.stderr


def test_family_that_hangs_is_ended_and_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_sleeper.py").write_text(SLEEPER)
    monkeypatch.setattr(run, "FAMILY_SECONDS", 1)
    lent = run.Run(dict(os.environ), tmp_path, everything=False, extra=(), folders=())
    family = run.Family("platform", (), wants_django=False)
    counts = run._run_family(lent, family, [str(tmp_path)], tmp_path / "words")
    assert str(counts) == "0 passed, 1 failed, 0 skipped"
    assert "not over after 1 s" in (tmp_path / "words").read_text()


def showing(name: str, seats: int, seen: list[str]) -> seating.Check:
    """Make a check that says when it begins and ends."""

    def show(output: Path | None) -> seating.Counts:
        seen.append(f"{name} begins")
        time.sleep(0.05)  # sleep: long enough for another check to begin meanwhile, if it may
        seen.append(f"{name} ends")
        assert output is not None
        output.write_text(f"words of {name}\n")
        return seating.Counts(passed=1)

    return seating.Check(name, seats, show)


def test_checks_share_the_seats_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(seating, "SEATS", 3)
    seen: list[str] = []
    checks = [showing("two", 2, seen), showing("one", 1, seen), showing("four", 4, seen), showing("last", 1, seen)]
    assert str(seating.run_together(checks, tmp_path, lambda: None)) == "4 passed, 0 failed, 0 skipped"
    assert set(seen[:2]) == {"two begins", "one begins"}
    assert seen[4:] == ["four begins", "four ends", "last begins", "last ends"]
    assert re.findall(r"^words of (\w+)\n── \1: 1 passed.* s$", capsys.readouterr().out, re.MULTILINE)[2:] == [
        "four",
        "last",
    ]


def test_who_is_told_to_end_stops_those_who_sit_and_begins_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seating, "SEATS", 1)
    seen: list[str] = []
    stopped, asked = Event(), Event()

    class WatchedSeats(seating.Seats):
        def taken(self, turn: int, wanted: int) -> AbstractContextManager[None]:
            if turn == 1:
                asked.set()
            return super().taken(turn, wanted)

    monkeypatch.setattr(seating, "Seats", WatchedSeats)

    def told_to_end(output: Path | None) -> seating.Counts:
        assert asked.wait(30)  # the other one wants its seat
        for _ in range(10):
            os.kill(os.getpid(), signal.SIGALRM)  # one that comes as the main thread begins to wait is not noticed
            if stopped.wait(3):
                break
        seen.append("stopped" if stopped.is_set() else "left alone")
        return seating.Counts()

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            seating.run_together([seating.Check("one", 1, told_to_end), showing("two", 1, seen)], tmp_path, stopped.set)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == ["stopped"]
