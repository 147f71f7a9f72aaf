"""Measure, print one table each, and keep the last ones as docs/performance.md.

Every benchmark runs in a process of its own on servers of its own. `--short` is for trying: its figures mean little.
"""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.peers.crew import THEIRS
from benchmarks.peers.figures import Measured, panels_of, read_measured, report_of
from benchmarks.peers.main import install
from benchmarks.report import Report

PEERS = "peers"
"""Run only where asked for: it installs packages that are not ours."""
NAMES = ("W1", "HTTP", "web", "W2", "W3", "latency", "scale", "growth", "memory", "inbox")
PROJECT = Path(__file__).resolve().parent.parent
KEPT = Path(__file__).with_name("results.json")
PAGE = PROJECT / "docs" / "performance.md"
PICTURES = PROJECT / "docs" / "pictures"


class BenchmarkFailed(Exception):
    """A benchmark ended without a report."""


def main(names: Sequence[str], *, short: bool, write: bool, as_json: bool = False) -> bool:
    """Run the benchmarks named, or all of ours; return whether every goal was reached."""
    console = Console(stderr=as_json)
    reports = []
    for name in names or NAMES:
        console.print(f"[dim]{name} …[/dim]")
        reports.append(side_by_side(short, write, as_json) if name == PEERS else measure(name, short=short))
        show(console, reports[-1])
        if as_json and name != PEERS:
            sys.stdout.write(reports[-1].to_json() + "\n")
    if write:
        keep(reports, short=short)
        console.print(f"written: {PAGE.relative_to(PROJECT)}")
    return all(goal.reached for report in reports for goal in report.goals)


def measure(name: str, *, short: bool) -> Report:
    """Run one benchmark in its own process and read its report."""
    return Report.from_json(_printed(name, ["benchmarks.alone", name], short=short))


def _printed(name: str, module: Sequence[str], *, short: bool) -> str:
    """Run a module in its own process and return the last line that it prints."""
    command = [sys.executable, "-m", *module, *(["--short"] if short else [])]
    done = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise BenchmarkFailed(f"{name} ended with {done.returncode} and no figures")
    return done.stdout.strip().splitlines()[-1]


def side_by_side(short: bool, write: bool, as_json: bool) -> Report:
    """Let others do the same work in turn with ours; draw what was found if the page is written."""
    install()
    printed = _printed(PEERS, ["benchmarks.peers.main"], short=short)
    if as_json:
        sys.stdout.write(printed + "\n")
    found = json.loads(printed)
    measured = read_measured(found)
    if write:
        draw(measured, PICTURES)
    return report_of(measured, seconds=found["seconds"])


def draw(measured: Measured, folder: Path) -> None:
    """Draw the pictures of the page, light and dark, with what was installed for the competitors."""
    command = [str(THEIRS), "-m", "benchmarks.peers.plot", str(folder)]
    subprocess.run(command, cwd=PROJECT, input=json.dumps(panels_of(measured)), text=True, check=True)


def show(console: Console, report: Report) -> None:
    """Print a report: its figures, then its goals."""
    table = Table(title=report.title, title_justify="left")
    for place, header in enumerate(report.headers):
        table.add_column(header, justify="right" if place else "left")
    for row in report.rows:
        table.add_row(*row)
    table.add_section()
    for goal in report.goals:
        verdict = "[green]reached[/green]" if goal.reached else "[red]missed[/red]"
        table.add_row(goal.text, goal.found, f"{goal.needed} {verdict}")
    console.print(table)
    for note in (*report.notes, f"{report.seconds:.0f} s"):
        console.print(f"[dim]{note}[/dim]")


def keep(reports: Sequence[Report], *, short: bool) -> None:
    """Write the page anew from these reports and the earlier ones of other names."""
    kept: dict[str, dict[str, str]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    about = {
        "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": machine(),
        "form": "short" if short else "whole",
    }
    kept |= {report.name: about | {"report": report.to_json()} for report in reports}
    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(kept))


def machine() -> str:
    """Describe the machine without naming the host, and how busy it was."""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, {system}, load {os.getloadavg()[2]:.1f} over the last quarter of an hour"


def page(kept: dict[str, dict[str, str]]) -> str:
    """Compose docs/performance.md."""
    parts = [HEAD]
    for name in (name for name in (PEERS, *NAMES) if name in kept):
        parts.append(_section(kept[name], Report.from_json(kept[name]["report"])))
    return "\n".join(parts)


HEAD = """# Performance

Generated by `manage.py bench --write` and `manage.py bench peers --write`. The figures depend on the machine and its load; the
shares are what counts. Competitors run in turn, round by round unless a table says otherwise, on the same private PostgreSQL with
every constraint and trigger and with fsync on. "Raw psycopg" replays the exact commit statement of engine/runtime/commit.py under
fresh ids, in autocommit, and does nothing else: no reading, no lock, no rule, no kernel. "Client ms" is this process's own
processor time per unit.
"""

PICTURE = (
    "![Cases per second of each competitor](pictures/peers.png)\n\n[The same on a dark page](pictures/peers_dark.png)"
)


def _section(about: dict[str, str], report: Report) -> str:
    lines = [
        f"## {report.title}",
        "",
        f"{about['at']}, {about['form']} form, {report.seconds:.0f} s, {about['machine']}.",
        "",
    ]
    if report.name == PEERS:
        lines += [PICTURE, ""]
    lines += _markdown(report.headers, report.rows)
    goals = [(goal.text, goal.needed, goal.found, "yes" if goal.reached else "**no**") for goal in report.goals]
    lines += ["", *_markdown(("goal", "needed", "found", "reached"), goals), ""]
    return "\n".join([*lines, *(f"{note}\n" for note in report.notes)])


def _markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_cells(headers), _cells(["---"] * len(headers)), *(_cells(row) for row in rows)]


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
