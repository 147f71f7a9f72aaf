"""Any bytes as a template, any JSON as a payload: findings or field errors, soon, and within bounded memory."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.forms import check_values, refuse_unsafe_json
from engine.kernel.language.normalizer import normalize
from engine.kernel.signals import NamedSignal
from tests.kernel.play import Case
from tests.kernel.test_cases import SOURCES, gallery

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.bytes"))
SECONDS = 3.0
"""Of computing, on a machine where others compute too; alone it is less than one."""
EVERYTHING = bool(os.environ.get("WORKFLOW_TEST_ALL"))
EXAMPLES = 800 if EVERYTHING else 60
LINES = 75_000 if EVERYTHING else 16_000
FUZZED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
MASSES = {
    "brackets": "[" * 60_000,
    "braces": "{" * 60_000,
    "closed brackets": "[" * 900 + "]" * 900,
    "dashes": "- " * 60_000,
    "quotes": '"' * 60_001,
    "letters": "x" * 1_999_000,
    "ends of lines": "\n" * 1_999_000,
    "keys": "".join(f"k{number}: 1\n" for number in range(180_000)),
    "items": "- a\n" * 490_000,
    "a list of one line": "[" + "1," * 900_000 + "]",
    "pairs of one line": "[" + "a: b," * 39_000 + "]",
    "unknown steps": "workflow: x\nsteps:\n" + "  - {nonsense: 1}\n" * LINES,
    "empty steps": "workflow: x\nsteps:\n" + "  - {set: {a: 1}}\n" * LINES,
    "expressions": "workflow: x\nsteps:\n" + "  - {set: {a: '${start.a + 1}'}}\n" * min(LINES, 45_000),
    "texts over lines": "- 'a\n  b'\n" * 18_000,
    "documents": "---\n" * 49_000,
    "anchors": "&a " * 66_000,
    "questions": "? " * 70_000,
    "json": '{"a":[' + '{"b":1},' * 20_000 + '{"b":1}]}',
    "tables": "workflow: x\nsteps:\n" + "  - decide: {inputs: {a: 1, b: 2, c: 3}, rows: ["
    + ", ".join(f"{{when: {{a: {n}, b: {n}, c: {n}}}, then: 1}}" for n in range(12)) + "]}\n" * 1,
}  # fmt: skip


def judged(data: bytes) -> float:
    """Read bytes as a template and return the seconds it took; what is no UTF-8 is refused earlier and read as Latin-1 here."""
    began = time.process_time()
    found = normalize(data.decode("utf-8", "surrogatepass") if _is_text(data) else data.decode("latin-1"))
    assert found.findings or found.canonical is not None
    return time.process_time() - began


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_bytes_that_once_were_trouble_give_findings_soon(path: Path) -> None:
    assert judged(path.read_bytes()) < SECONDS


@FUZZED
@given(st.binary(max_size=400))
def test_any_bytes_give_findings_soon(data: bytes) -> None:
    assert judged(data) < SECONDS


GOOD = st.sampled_from([path.read_bytes() for path in SOURCES])
DAMAGE = st.lists(st.tuples(st.integers(0, 9_999), st.binary(max_size=4)), max_size=4)


@FUZZED
@given(GOOD, DAMAGE)
def test_any_damage_to_a_good_template_gives_findings_soon(data: bytes, damage: list[tuple[int, bytes]]) -> None:
    for place, piece in damage:
        at = place % len(data)
        data = data[:at] + piece + data[at + len(piece) :]
    assert judged(data) < SECONDS


MASS = """
import json, resource, sys
from tests.kernel.test_bad_input import MASSES, judged
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
taken = {name: judged(text.encode()) for name, text in MASSES.items()}
json.dump([taken, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024], sys.stdout)
"""


def test_masses_are_refused_soon_and_in_little_memory() -> None:
    found = subprocess.run(
        [sys.executable, "-c", MASS], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    taken, megabytes = json.loads(found.stdout)
    assert {name: seconds for name, seconds in taken.items() if seconds > SECONDS} == {}
    assert megabytes < 400


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.just("\ud800")
    | st.just("a\x00"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@FUZZED
@given(st.sampled_from(sorted(gallery())), JSON)
def test_any_json_starts_a_case_or_gives_field_errors(name: str, payload: Any) -> None:
    definition = gallery()[name]
    filled, problems = check_values(definition.input_schema, payload)
    if problems:
        assert all(problem.code and problem.message for problem in problems)
    else:
        assert Case(definition, filled).status in ("running", "completed", "failed", "incident", "cancelled")


@FUZZED
@given(st.sampled_from(sorted(gallery())), JSON)
def test_any_json_answers_a_task_or_gives_field_errors(name: str, payload: Any) -> None:
    forms = [step.body.get("form") for step in gallery()[name].steps.values() if step.kind == "task"]
    for form in forms:
        _, problems = check_values(form, payload)
        assert all(problem.code and problem.message for problem in problems)


@FUZZED
@given(JSON)
def test_any_json_is_a_signals_payload_or_gives_field_errors(payload: Any) -> None:
    problems = refuse_unsafe_json(payload)
    assert all(problem.code and problem.message for problem in problems)
    if not problems:
        case = Case("steps: [{id: heard, signal: go}, {set: {x: '${result.heard}', y: '${signal}'}}]")
        case.send(NamedSignal("go", None, payload))
        assert (case.status, case.results) == ("completed", {"heard": {} if payload is None else payload})
