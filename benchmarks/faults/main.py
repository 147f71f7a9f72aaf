"""Run fault trials one after the other and print a table: `manage.py bench faults [NAME…] [--short] [--write]`.

Every trial runs in a process and on servers of its own. The exit code is 0 only when all are green.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import django
from django.apps import apps

from benchmarks.faults.results import PROJECT, Result, keep, result_of
from benchmarks.faults.trial import Outcome, Trial, find_trials
from benchmarks.private import ENVIRONMENT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials asked for, all of them without a name."""
    options = _read(arguments)
    _set_up()
    trials = find_trials()
    unknown = [name for name in options.names if name not in trials]
    if unknown:
        _say(f"There is no trial named {', '.join(unknown)}. There are: {', '.join(trials)}.")
        return 2
    chosen = [trials[name] for name in options.names] or list(trials.values())
    results = [_carry_out(trial, options) for trial in chosen]
    green = sum(not result.faults for result in results)
    _say(f"{green} green, {len(results) - green} red")
    return 0 if green == len(results) else 1


def _carry_out(trial: Trial, options: argparse.Namespace) -> Result:
    """Run a trial, show it, and keep it before the next one begins: a run that is cut loses only what it was at."""
    result = _show(_run(trial, trial.short if options.short else trial.long))
    if options.write:
        keep([result])
    return result


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="manage.py bench faults", description="Break things on purpose and count.")
    parser.add_argument("names", nargs="*", help="trials, all of them when none is named")
    parser.add_argument("--short", action="store_true", help="the small form that bin/test runs")
    parser.add_argument("--write", action="store_true", help="keep the results and write docs/reliability.md")
    return parser.parse_args(arguments)


def _set_up() -> None:
    """Make the trials importable; nothing here talks to a database."""
    if not apps.ready:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        django.setup()


def _run(trial: Trial, size: int) -> Result:
    _say(f"── {trial.name}: {trial.proves} ({size:,} {trial.sizes_are})")
    command = [sys.executable, "-m", "benchmarks.faults.alone", trial.name, str(size)]
    ended = subprocess.run(command, cwd=PROJECT, env=_environment(), stdout=subprocess.PIPE, text=True, check=False)
    return result_of(trial, size, _outcome(ended))


def _environment() -> dict[str, str]:
    """Leave out what would lead a trial to servers in use."""
    return {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}


def _outcome(ended: subprocess.CompletedProcess[str]) -> Outcome:
    lines = ended.stdout.splitlines()
    if ended.returncode or not lines:
        return Outcome({}, (f"the trial itself broke with exit code {ended.returncode}",))
    found = json.loads(lines[-1])
    return Outcome(found["figures"], tuple(found["faults"]))


def _show(result: Result) -> Result:
    width = max((len(name) for name in result.figures), default=0)
    for name, value in result.figures.items():
        _say(f"   {name:<{width}}  {value if isinstance(value, str) else format(value, ',')}")
    for fault in result.faults[:20]:
        _say(f"   ! {fault}")
    _say(f"   {result.verdict}")
    return result


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
