"""Measure which lines and branches the tests run, and compare each package with its floor.

coverage.py starts in every Python process that has COVERAGE_PROCESS_START in its environment: pytest, the workers of
xdist, and the commands and servers that tests start. Each writes a file of its own; they are combined at the end.
`tests/coverage_floors.toml` holds the floors.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage
from coverage.exceptions import NoDataError

from workflowplatform.servers.paths import PROJECT

FLOORS = PROJECT / "tests" / "coverage_floors.toml"
SOURCES = ("engine", "tasks_inbox", "workflowplatform")
SETTINGS = """\
[run]
branch = true
parallel = true
sigterm = true
data_file = {folder}/data
source =
    {sources}
omit =
    */migrations/*
disable_warnings =
    no-data-collected
    module-not-measured
    couldnt-parse
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Add up what the tests ran of one package; lines and branches count alike."""

    possible: int = 0
    covered: int = 0

    def __add__(self, other: Measured) -> Measured:
        """Add a file."""
        return Measured(self.possible + other.possible, self.covered + other.covered)

    @property
    def percent(self) -> float:
        """Return the share in percent; nothing measured is nothing run."""
        return 100 * self.covered / self.possible if self.possible else 0.0


def environment(folder: Path, sources: Sequence[str] = SOURCES) -> dict[str, str]:
    """Return the variables with which processes write what they ran into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "settings.ini"
    places = "\n    ".join(str(PROJECT / source) for source in sources)
    settings.write_text(SETTINGS.format(folder=folder, sources=places))
    return {"COVERAGE_PROCESS_START": str(settings)}


def read_floors(path: Path = FLOORS) -> dict[str, float]:
    """Return the floor of each package in percent."""
    return {package: float(floor) for package, floor in tomllib.loads(path.read_text())["floors"].items()}


def measure(folder: Path, floors: Mapping[str, float]) -> dict[str, Measured]:
    """Combine what all processes wrote into a folder; return it by package."""
    measured = dict.fromkeys(floors, Measured())
    for path, counted in _files(folder):
        package = package_of(path, floors)
        measured[package] = measured.get(package, Measured()) + counted
    return measured


def package_of(path: str, floors: Mapping[str, float]) -> str:
    """Return the innermost package with a floor; a file outside all of them is its own, without a floor."""
    inside = [package for package in floors if path.startswith(f"{package}/")]
    return max(inside, key=len, default=path)


def _files(folder: Path) -> Iterator[tuple[str, Measured]]:
    coverage = Coverage(config_file=str(folder / "settings.ini"))
    report = folder / "report.json"
    try:
        coverage.combine(keep=True)
        coverage.json_report(outfile=str(report))
    except NoDataError:
        return
    for path, file in json.loads(report.read_text())["files"].items():
        found = file["summary"]
        possible = found["num_statements"] + found["num_branches"]
        place = (PROJECT / path).relative_to(PROJECT)
        yield str(place), Measured(possible, found["covered_lines"] + found["covered_branches"])


def too_low(measured: Mapping[str, Measured], floors: Mapping[str, float]) -> list[str]:
    """Name the packages below their floor, and what has none."""
    return [name for name, found in measured.items() if name not in floors or found.percent < floors[name]]


def table(measured: Mapping[str, Measured], floors: Mapping[str, float]) -> str:
    """Return the table as text, packages in alphabetical order."""
    width = max(len(name) for name in ("package", *measured))
    low = too_low(measured, floors)
    rows = [f"{'package':{width}}  lines and branches  covered  floor"]
    for name, found in sorted(measured.items()):
        floor = f"{floors[name]:5.1f}" if name in floors else " none"
        verdict = "  too low" if name in low else ""
        rows.append(f"{name:{width}}  {found.possible:18}  {found.percent:6.1f}%  {floor}{verdict}")
    return "\n".join(rows)
