"""Bombs in expressions: refused before the memory is taken, and nothing that is small is computed otherwise than before."""

import json
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cel_expr_python import cel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.errors import StepError
from engine.kernel.expressions import cost
from engine.kernel.expressions.cel import (
    LARGEST_RESULT,
    Expression,
    ExpressionRefused,
    bind,
    compile_program,
    counted_program,
    environment,
    fitting_size,
    program_of,
    read_names,
)
from engine.kernel.expressions.cost import most
from engine.kernel.expressions.functions import add_business_days, omit, round_to, unique
from engine.kernel.expressions.interpolation import compile_value
from engine.kernel.expressions.meter import BUDGET, LARGEST_INPUT, meter, pattern_length, size_of
from engine.kernel.expressions.syntax_tree import order_loops, read_tree, write_tree
from engine.kernel.language.normalizer import normalize
from engine.kernel.machine.machine import LARGEST_ACT
from engine.kernel.signals import Continue
from engine.kernel.simulator import simulate
from tests.fuzz.drawing import Draw
from tests.fuzz.expressions import expression
from tests.kernel.bombs import EXPRESSIONS, SOURCES
from tests.kernel.play import MONDAY, Case, compiled
from tests.kernel.test_expressions import Names, value

ANY = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
SECONDS = 1.0
"""Of computing; alone on a machine it is less than a fifth."""

EXPLODED = """
import json, resource, sys, time
from engine.kernel.errors import StepError
from engine.kernel.expressions.cel import Expression
from tests.kernel.bombs import EXPRESSIONS
from tests.kernel.test_expressions import Names
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
found, before = {}, peak()
for name, (text, start) in EXPRESSIONS.items():
    began = time.process_time()
    try:
        code = "computed " + str(Expression(text).value(Names(start=start)))[:40]
    except StepError as error:
        code = error.code
    except MemoryError:
        code = "no memory"
    found[name] = (code, time.process_time() - began)
json.dump([found, peak() - before], sys.stdout)
"""


@pytest.mark.security("an expression has one budget, asked before memory is taken")
def test_every_bomb_is_refused_within_a_second_and_in_little_memory(record_property: Any) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", EXPLODED], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    found, megabytes = json.loads(ran.stdout)
    assert {name: code for name, (code, _) in found.items() if code not in ("too_much", "too_large")} == {}
    assert {name: seconds for name, (_, seconds) in found.items() if seconds > SECONDS} == {}
    assert megabytes < 150
    slowest = max(seconds for _, seconds in found.values())
    record_property(
        "figure", f"{len(found)} bombs refused, slowest {slowest * 1000:.0f} ms of computing, +{megabytes} MB at most"
    )


@pytest.mark.security("an expression has one budget, asked before memory is taken")
@pytest.mark.parametrize("name", SOURCES)
def test_template_that_is_a_bomb_gives_findings_soon(name: str) -> None:
    began = time.process_time()
    found = normalize(SOURCES[name])
    assert found.findings or found.canonical is not None
    assert time.process_time() - began < 3 * SECONDS


def test_bomb_fails_its_own_step_with_a_code_that_handlers_see() -> None:
    case = Case("steps: [{id: bomb, set: {x: \"${replace(start.a, 'x', start.a)}\"}}]", {"a": "x" * 20_000})
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "too_much")


# Both ways give the same


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "a,b", "é"]) | st.floats(-9, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def _said(program: Any, names: Any) -> tuple[str, Any]:
    """Return the kind of what a program answers and its value; of an error only that it is one."""
    try:
        found = program.eval(names)
    except RuntimeError:
        return "error", None
    return ("error", None) if found.type() == cel.Type.ERROR else (found.type().name(), found.plain_value())


@ANY
@given(st.binary(min_size=4, max_size=120), VALUES, st.lists(VALUES, max_size=4))
def test_counted_form_gives_what_the_library_gives_and_takes_no_more_than_was_foreseen(
    data: bytes, one: Any, several: list[Any]
) -> None:
    text = expression(Draw(data), 4).replace("\ud800", "")
    start = {"a": one, "list": several, "text": "some text, a,b", "n": 3}
    try:
        program = program_of(text)
        counted = counted_program(text)
        tree = read_tree(program.serialize())[0]
    except ExpressionRefused:
        return
    names = Names(start=start, state={"n": 2}, item=one, now=MONDAY)
    bound = bind(environment(frozenset()), read_names(text), names)
    meter.left = BUDGET
    try:
        slow = _said(counted, bound.names)
        taken = BUDGET - meter.left
    finally:
        meter.left = None
    foreseen = most(tree, bound.size, {}).cost
    assert taken <= foreseen or taken > BUDGET, text
    if taken <= BUDGET:
        quick = _said(program, bound.names)
        assert repr(slow) == repr(quick), text


@ANY
@given(VALUES)
def test_size_is_never_taken_for_less_than_it_is(one: Any) -> None:
    bound = bind(environment(frozenset()), (("start", ()),), Names(start=one))
    assert size_of(one) <= bound.size


def test_small_inputs_are_computed_without_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual expressions of a template over a page of text never see the counted form."""
    monkeypatch.setattr(Expression, "_count", lambda *_: pytest.fail("counted"))
    start = {
        "name": "Ada",
        "note": "look " * 100,
        "lines": [{"n": n, "text": f"line {n}", "ok": True} for n in range(20)],
    }
    for text in (
        "start.name == 'Ada' && size(start.note) > 3",
        "'Dear ' + start.name + '!'",
        "sum(start.lines.map(l, l.n * 2)) > 10",
        "start.lines.filter(l, l.ok).size()",
        "join(start.lines.map(l, l.text), ', ')",
        "replace(start.note, 'look', 'see')",
        "start.lines.exists(l, l.text.contains('7'))",
        "start.name.matches('^[A-Z][a-z]+$')",
        "unique(start.lines.map(l, l.ok))",
    ):
        value(text, start=start)


def test_what_is_large_but_reasonable_is_still_computed() -> None:
    lines = [{"sku": f"A-{number}", "price": 9.5, "text": "y" * 60} for number in range(2_000)]
    assert value("start.l.filter(i, i.price > 9.0).size()", start={"l": lines}) == 2_000
    assert value("sum(start.l.map(i, i.price))", start={"l": lines}) == 19_000
    assert value("size(join(start.l.map(i, i.sku), ', ')) > 10000", start={"l": lines}) is True
    assert value("start.l.filter(i, i.sku.matches('^A-[0-9]+$')).size()", start={"l": lines}) == 2_000
    assert value("size(start.a.replace('x', 'yy'))", start={"a": "x" * 200_000}) == 400_000
    assert value("size(unique(start.l))", start={"l": [number % 50 for number in range(9_000)]}) == 50


def test_budget_is_over_for_good_even_where_an_error_is_passed_over() -> None:
    text = "true || replace(start.a, 'x', start.a) == ''"
    assert value(text, start={"a": "x" * 10}) is True
    text = "start.l.exists(i, replace(start.a, 'x', start.a) == '' || i == 5)"
    with pytest.raises(StepError, match="more than an expression may compute"):
        value(text, start={"a": "x" * 20_000, "l": list(range(100))})
    assert meter.left is None


def test_input_is_refused_by_its_size_before_it_is_handed_over() -> None:
    with pytest.raises(StepError, match="may read at most") as caught:
        value("size(start.a)", start={"a": "x" * (LARGEST_INPUT + 1)})
    assert caught.value.code == "too_large"
    assert value("size(start.b)", start={"a": "x" * (LARGEST_INPUT + 1), "b": "y"}) == 1


def test_tree_is_written_as_it_was_read() -> None:
    for text in (
        *(text for text, _ in EXPRESSIONS.values()),
        "{'a': 1u, 2: [b'x', -1.5]}.a",
        "has(start.a) ? .start.b : null",
    ):
        raw = compile_program(text).serialize()
        assert write_tree(*read_tree(raw)) == raw


def test_loop_over_an_object_goes_in_the_order_of_its_keys() -> None:
    names = {f"k{number:03}": number for number in reversed(range(200))}
    assert value("start.map(k, k)", start=names) == sorted(names)
    assert value("start.filter(k, start[k] > 197)", start=names) == ["k198", "k199"]
    assert value("{'b': 1, 'a': 2, 3: 4}.map(k, string(k))") == ["3", "a", "b"]
    assert order_loops(read_tree(compile_program("start.map(k, k)").serialize())[0])


# Functions


def _slowly(day: datetime, days: int) -> datetime:
    step, left = timedelta(days=1 if days >= 0 else -1), abs(days)
    while left:
        day += step
        left -= day.weekday() < 5
    return day


@ANY
@given(st.integers(0, 6), st.integers(-300, 300))
def test_business_days_are_counted_by_weeks(later: int, days: int) -> None:
    day = MONDAY + timedelta(days=later)
    assert add_business_days(day, days) == _slowly(day, days)


def test_functions_refuse_what_would_take_for_ever() -> None:
    with pytest.raises(StepError, match="at most 15 digits"):
        value("round(1.5, 1000000000)")
    assert round_to(1.005, 2) == 1.01
    many = [number % 1_000 for number in range(60_000)]
    began = time.process_time()
    assert unique(many) == list(range(1_000))
    assert len(omit({str(n): n for n in range(20_000)}, [str(n) for n in range(10_000)])) == 10_000
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    ("pattern", "least", "greatest"),
    [("abc", 3, 5), ("[0-9]{4}-[0-9]{2}", 15, 30), ("((a{1,10}){1,10}){1,10}", 1_000, 1_200), ("(a", 1, 9), (")){9}", 1, 20),
     ("\\p{Greek}{100}", 100, 1_000), ("a{99999999999}", 1, 10**7)],
)  # fmt: skip
def test_pattern_is_as_long_as_its_repetitions(pattern: str, least: int, greatest: int) -> None:
    assert least <= pattern_length(pattern) <= greatest


# What is made of many small values


def test_text_of_many_parts_has_an_end() -> None:
    text = compile_value("${start.a}" * 20)
    assert len(text.of(Names(start={"a": "x" * 10_000}))) == 200_000
    with pytest.raises(StepError, match=f"at most {LARGEST_RESULT:,} characters"):
        text.of(Names(start={"a": "x" * 20_000}))


def test_step_of_a_thousand_copies_fails_and_its_neighbour_goes_on() -> None:
    many = ", ".join(f'k{number}: "${{start.a}}"' for number in range(400))
    source = f"steps: [{{id: bomb, set: {{{many}}}, on_error: []}}, {{id: after, set: {{y: 1}}}}]"
    case = Case(source, {"a": ["x" * 1_000] * 100})
    assert case.send(Continue()).applied == (True,)
    assert (case.status, case.state) == ("completed", {"y": 1})
    assert LARGEST_ACT < 400 * 100_000


def test_slice_that_makes_much_stops_early_and_goes_on() -> None:
    steps = ", ".join(f'{{id: s{number}, set: {{k{number}: "${{start.a}}"}}}}' for number in range(30))
    case = Case(f"steps: [{steps}]", {"a": ["x" * 1_000] * 500})
    assert case.last.more
    assert 8 * 1024 * 1024 < case.last.made < 10 * 1024 * 1024


@pytest.mark.security("an expression has one budget, asked before memory is taken")
def test_simulation_that_makes_too_much_ends_with_a_sentence() -> None:
    steps = ", ".join(f'{{id: s{number}, set: {{k{number}: "${{start.a}}"}}}}' for number in range(100))
    report = simulate(compiled(f"steps: [{steps}]"), {"start": {"a": ["x" * 1_000] * 500}}, {})
    assert not report.passed
    assert "measure more than" in " ".join(report.failures)


def test_costs_know_every_function_that_makes_more_than_it_is_given() -> None:
    assert {"replace", "split", "join", "format", "strings.quote", "base64.encode", "bytes"} <= set(cost.RULES)
    assert fitting_size("replace(start.a, start.b, start.c)") < 5_000
    assert fitting_size("start.a == start.b") > 100_000
