"""Expressions: the public conformance facts, our own functions, bounds, and errors that explain themselves."""

import json
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cel_expr_python import cel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.errors import StepError
from engine.kernel.expressions.cel import (
    Expression,
    ExpressionRefused,
    Reads,
    bind,
    check_text,
    covers,
    environment,
    own_names,
    program_of,
    read_names,
)
from engine.kernel.expressions.function_declarations import extensions
from engine.kernel.expressions.functions import MISSING
from engine.kernel.expressions.interpolation import compile_value, pieces
from tests.kernel.play import MONDAY, Case

VECTORS = Path(os.environ.get("WORKFLOW_SHARED", Path(__file__).parents[3] / "shared")) / "vectors" / "cel.json"
DOTTED = "names with dots are not bound: every name of ours is an object"
TWO_NAMES = (
    "macros with two variables, and those that transform, are not part of the language: map, filter, all, exists"
)
OPTIONAL = "optional values are not part of the language: has() and get(value, 'a.b', default) say it"
INTENDED = {
    "fields/qualified_identifier_resolution/": (
        DOTTED, "qualified_ident qualified_identifier_resolution_unchecked ident_with_longest_prefix_check",
    ),
    "namespace/qualified/": (DOTTED, "self_eval_qualified_lookup"),
    "macros2/exists/": (TWO_NAMES, "list_elem_some_true list_elem_type_shortcircuit not_map_key"),
    "macros2/all/": (TWO_NAMES, "list_elem_type_exhaustive list_elem_error_shortcircuit list_empty"),
    "macros2/existsOne/": (TWO_NAMES, "list_one_true list_many list_all map_one"),
    "macros2/transformList/": (TWO_NAMES, "empty one_filter many_filter"),
    "macros2/transformMap/": (TWO_NAMES, "one"),
    "optionals/optionals/": (
        OPTIONAL,
        ("null none_optMap_hasValue map_null_entry_hasValue map_submap_optFlatMap_value "
         "map_optindex_optFlatMap_optional_ofNonZeroValue_hasValue optional_ofNonZeroValue_or_optional_value "
         "has_map_optindex type optional_chaining_1 optional_chaining_6 optional_chaining_8 optional_chaining_9 "
         "optional_chaining_12 optional_chaining_16 optional_empty_map_optindex_hasValue "
         "optional_none_optselect_hasValue empty_list_optindex_hasValue optional_empty_list_optindex_hasValue "
         "optional_none_optindex_hasValue list_optindex_value map_key_mixed_numbers_double_key_optindex_value "
         "optional_eq_none_int optional_ne_none_int map_optional_select_has map_optional_entry_has"),
    ),
}  # fmt: skip
"""Every public vector that differs, by family, and why. One that differs and is not here is red; so is one that does not."""


class Names:
    """Plain names for one expression."""

    def __init__(self, **names: Any) -> None:
        self.names = names

    def lookup(self, root: str) -> Any:
        return self.names.get(root, MISSING)

    def activation(self, environment: Any, reads: Reads) -> Any:
        return bind(environment, reads, self)

    def spend(self, made: int) -> None:
        """Count nothing."""


def value(text: str, **names: Any) -> Any:
    """Compute one expression."""
    return Expression(text).value(Names(**names))


def _plain(found: Any) -> Any:
    if isinstance(found, dict):
        if set(found) == {"$double"}:
            return float(found["$double"])
        return {key: _plain(one) for key, one in found.items()}
    return [_plain(one) for one in found] if isinstance(found, list) else found


def _holds(vector: dict[str, Any]) -> bool:
    environment = cel.NewEnv(variables=dict.fromkeys(vector["bindings"], cel.Type.DYN), extensions=extensions())
    try:
        found = environment.compile(own_names(vector["expr"]), disable_check=True).eval(data=_plain(vector["bindings"]))
    except RuntimeError:
        return bool(vector.get("error"))
    if found.type() == cel.Type.ERROR or vector.get("error"):
        return bool(vector.get("error")) and found.type() == cel.Type.ERROR
    wanted, got = _plain(vector["value"]), found.plain_value()
    return bool(got == wanted) or (isinstance(wanted, float) and math.isnan(wanted) and math.isnan(got))


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not here")
def test_public_vectors_hold_or_are_intended_differences() -> None:
    vectors = json.loads(VECTORS.read_text())["vectors"]
    different = {vector["id"] for vector in vectors if not _holds(vector)}
    intended = {family + name for family, (_, names) in INTENDED.items() for name in names.split()}
    assert different - intended == set(), "these differ and nobody wrote down why"
    assert intended - different == set(), "these no longer differ"
    assert len(vectors) > 600


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 + 1.5", 2.5),
        ("start.n * 1.5", 6.0),
        ("start.n / 3", 1),
        ("get(start, 'deep.x', 0)", 7),
        ("get(start, 'deep.y.z', 'none')", "none"),
        ("get(start, 'list.1', 0)", 2),
        ("coalesce(null, start.nothing, 3)", 3),
        ("concat([1], [2, 3])", [1, 2, 3]),
        ("concat('a', 1, null)", "a1"),
        ("merge({'a': {'x': 1}}, {'a': {'y': 2}})", {"a": {"x": 1, "y": 2}}),
        ("first(start.list) + last(start.list)", 3),
        ("first([])", None),
        ("length(start.nothing) + length('abc')", 3),
        ("upper('a') + lower('B') + trim(' c ')", "Abc"),
        ("contains(start.list, 2) && contains('abc', 'b')", True),
        ("join(['a', 'b'], '-')", "a-b"),
        ("split('a,b', ',')", ["a", "b"]),
        ("pick(start.deep, ['x', 'q'])", {"x": 7}),
        ("omit({'a': 1, 'b': 2}, ['a'])", {"b": 2}),
        ("keys({'b': 1, 'a': 2})", ["a", "b"]),
        ("values({'b': 1, 'a': 2})", [2, 1]),
        ("unique([1, 2, 1])", [1, 2]),
        ("sort([3, 1, 2])", [1, 2, 3]),
        ("sort([{'n': 2}, {'n': 1}], 'n')", [{"n": 1}, {"n": 2}]),
        ("round(2.5) + round(1.005, 2)", 4.01),
        ("is_blank('  ') && is_blank(null) && is_blank([])", True),
        ("sum([1, 2, 3])", 6),
        ("min(1, 2.5)", 1.0),
        ("max(period('P1D'), period('PT30H'))", "PT108000S"),
        ("min(now, now + period('P1D'))", "2030-01-07T09:00:00Z"),
        ("money(18240, 'EUR') + ' ' + money(-2.5, 'CHF')", "€18,240.00 -2.50 CHF"),
        ("string(add_business_days('2030-01-11', 1))", "2030-01-14T00:00:00Z"),
        ("now + period('P7D')", "2030-01-14T09:00:00Z"),
        ("timestamp('2030-01-07T10:00:00Z') > now", True),
        ("has(start.deep.x) && !has(start.deep.q)", True),
        ("start.list.filter(x, x > 1).map(x, x * 10)", [20]),
        ("'abc'.contains('b') && 'a,b'.split(',') == ['a', 'b']", True),
        ("true ? 1 : 'mixed'", 1),
    ],
)
def test_expression_gives_its_value(text: str, wanted: Any) -> None:
    start = {"n": 4, "deep": {"x": 7}, "list": [1, 2], "nothing": None}
    assert value(text, start=start, now=MONDAY) == wanted


def test_bare_path_keeps_the_order_of_keys_and_shares_nothing() -> None:
    state = {"b": {"z": 1, "a": [1]}}
    found = value("state.b", state=state)
    assert list(found) == ["z", "a"]
    found["a"].append(2)
    assert state == {"b": {"z": 1, "a": [1]}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start.a.b", "there is no start.a"),
        ("start.a + 1", "Key not found"),
        ("1 / 0", "divide by zero"),
        ("[1][5]", "index"),
        ("9007199254740993", "2^53"),
        ("1e308 * 10.0", "not a number"),
        ("type(1)", "cannot be kept"),
        ("sort([1, 'a'])", "compared"),
        ("period('3 days')", "ISO 8601"),
    ],
)
def test_failure_is_an_expression_error_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(StepError) as caught:
        value(text, start={})
    assert caught.value.error_class == "expression"
    assert message.lower() in caught.value.message.lower()


def test_condition_must_be_true_or_false() -> None:
    with pytest.raises(StepError, match="must be true or false, not a number"):
        Expression("1 + 1").holds(Names())


BOMBS = {
    "[1,2,3].map(a, [1,2,3].map(b, [1,2,3].map(c, a)))": "nest at most",
    "(" * 200 + "1" + ")" * 200: "recursion",
    "+".join(["1"] * 3000): "characters",
}


@pytest.mark.parametrize("text", BOMBS)
def test_expression_that_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(ExpressionRefused, match=BOMBS[text]):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "start.big.map(a, start.big.map(b, a))",
        "start.text + start.text",
        "[start.text].map(x, x + x).map(x, x + x).map(x, x + x)",
        "start.big.map(x, start.text)",
    ],
)
def test_bomb_fails_its_own_step_only(text: str) -> None:
    case = Case(f'steps: [{{id: bomb, set: {{x: "${{{text}}}"}}, on_error: []}}, {{id: after, set: {{y: 1}}}}]', BIG)
    assert (case.status, case.state) == ("completed", {"y": 1})


BIG = {"big": list(range(3000)), "text": "x" * 60_000}


def test_optional_syntax_never_reaches_the_library() -> None:
    for text in ("start.?a", "get(start.?a, 'x', 1)", "[?start.a]"):
        with pytest.raises(ExpressionRefused):
            check_text(text)


def test_names_are_found_with_their_paths_and_guards() -> None:
    found = check_text("has(result.a.b) ? result.c.d[0].e : start.list.map(x, x + item).size()")
    assert [(one.root, one.path, one.guarded) for one in found] == [
        ("result", ("a", "b"), True),
        ("result", ("c", "d"), False),
        ("start", ("list",), False),
        ("item", (), False),
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("state.n >= 0 && start.amount > 3", (("start", ("amount",)), ("state", ("n",)))),
        ("state.a.b + state.c", (("state", ("a", "c")),)),
        ("has(result.review.note) || get(state, 'a', 1) == 1", (("result", ("review",)), ("state", ()))),
        ("state['a'] + state.a", (("state", ()),)),
        ("state.exists(k, k == item)", (("item", ()), ("k", ()), ("state", ()))),
        ("state.rows.map(state, state.n)", (("state", ()),)),
        (".state.n + 1 in .start.list", (("start", ("list",)), ("state", ("n",)))),
        ("result.state.n + '.start'.size()", (("result", ("state",)),)),
        ("1 + 1", ()),
    ],
)
def test_expression_is_bound_only_to_what_it_names(text: str, wanted: Any) -> None:
    assert read_names(text) == wanted


@pytest.mark.parametrize(
    ("known", "text", "wanted"),
    [
        ("state.n >= 0 && start.amount > 3", "state.n + 1", True),
        ("state.n", "state.m", False),
        ("state.n", "state", False),
        ("size(state)", "state.n", True),
        ("state.n", "start.n", False),
        ("size(state)", "size(state) + 1", True),
        ("1 + 1", "2", True),
    ],
)
def test_what_is_bound_serves_an_expression_that_reads_no_more(known: str, text: str, wanted: bool) -> None:
    assert covers(read_names(known), read_names(text)) is wanted


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "é"]) | st.floats(-9, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
NARROW = (
    "state.a", "state.a.b", "state.b.c.a", "start.a + state.a", "has(state.a) ? state.a : start", "state == start",
    "get(state, 'a.b', start.c)", "state.a.map(x, x)", "has(state.a.b) && state.a.b == start.a", "[state.a, .start.b]",
    "state.exists(k, k == 'a')", "'b' in state && state.b != null", "state['a']", "size(state) + size(start.a)",
)  # fmt: skip


def _outcome(text: str, act: Any) -> Any:
    """Return what an expression yields, or only that it fails."""
    try:
        return json.dumps(act(), sort_keys=True)
    except StepError:
        return f"{text} fails"


def _given_everything(text: str, names: dict[str, Any]) -> Any:
    """Compute an expression with the library alone, every name bound whole."""
    found = program_of(text).eval(environment(frozenset()).Activation(names))
    if found.type() == cel.Type.ERROR:
        raise StepError("expression", "expression", str(found.value()))
    return found.plain_value()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.dictionaries(st.sampled_from("abc"), PLAIN, max_size=3), st.dictionaries(st.sampled_from("abc"), PLAIN))
def test_narrow_binding_and_bare_paths_mean_what_the_library_means(state: Any, start: Any) -> None:
    for text in NARROW:
        names = {"state": state, "start": start}
        narrow = _outcome(text, lambda text=text, names=names: value(text, **names))
        assert narrow == _outcome(text, lambda text=text, names=names: _given_everything(text, names))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        ("${start.n}", 4),
        ("n is ${start.n}!", "n is 4!"),
        ("null is ${start.nothing}.", "null is ."),
        ("list ${start.list}", "list [1, 2]"),
        ("$${start.n}", "${start.n}"),
        ("${{'a': {'b': 1}}}", {"a": {"b": 1}}),
        ("${'}'}", "}"),
    ],
)
def test_text_is_interpolated(text: str, wanted: Any) -> None:
    names = Names(start={"n": 4, "nothing": None, "list": [1, 2]})
    assert compile_value(text).of(names) == wanted


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.text(max_size=60))
def test_any_text_is_a_value_or_refused(text: str) -> None:
    with suppress(ExpressionRefused):
        compile_value(text)
        assert pieces(text)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.text(alphabet="start.x[0]+-*/()'\"<>=!&|?:, 1map{}", max_size=30))
def test_any_expression_computes_or_fails_politely(text: str) -> None:
    with suppress(ExpressionRefused, StepError):
        value(text, start={"x": [1, {"s": 2}]}, now=MONDAY)
