"""The shape of the kernel: small functions, and no template, pattern or case that the engine knows by name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from engine.kernel.machine import machine
from tests.kernel.test_cases import SOURCES
from tests.patterns.book import read_book

KERNEL = Path(machine.__file__).parents[1]
ENGINE = KERNEL.parent
OWN_ROOMS = frozenset({"gallery", "demo", "migrations"})
"""Where workflows are written down, not run."""


def _lengths() -> Iterator[int]:
    for path in KERNEL.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def test_functions_of_the_kernel_are_small() -> None:
    lengths = list(_lengths())
    assert median(lengths) <= 10
    assert quantiles(lengths, n=10)[8] < 35


def test_modules_of_the_kernel_are_short() -> None:
    long = {path.name: len(path.read_text().splitlines()) for path in KERNEL.rglob("*.py")}
    assert {name: lines for name, lines in long.items() if lines > 400} == {}


def _known() -> set[str]:
    """Collect the names of workflows and patterns, and the ids of their steps that are no words of their own."""
    patterns = {re.sub(r"\W+", "-", pattern.name.lower()).strip("-") for pattern in read_book()}
    return {path.stem for path in SOURCES} | {name for name in patterns if "-" in name}


def _texts() -> Iterator[tuple[str, str]]:
    """Yield every text that is written in the engine's code, docstrings left out."""
    for path in ENGINE.rglob("*.py"):
        if OWN_ROOMS & set(path.relative_to(ENGINE).parts):
            continue
        tree = ast.parse(path.read_text())
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield str(path.relative_to(ENGINE)), node.value


def test_engine_knows_no_workflow_or_pattern_by_name() -> None:
    known = _known()
    assert len(known) > 40
    found = [(path, text) for path, text in _texts() if re.sub(r"[ _]", "-", text.lower()) in known]
    assert found == []
