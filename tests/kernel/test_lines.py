"""Containers that run one list at a time."""

from tests.kernel.play import Case


def test_switch_takes_the_first_case_that_holds() -> None:
    source = """
    steps:
      - id: route
        switch:
          cases:
            - {when: start.n > 10, steps: [{set: {size: big}}]}
            - {when: start.n > 5, steps: [{set: {size: middle}}]}
          default: [{set: {size: small}}]
    """
    assert [Case(source, {"n": n}).state["size"] for n in (11, 6, 1)] == ["big", "middle", "small"]


def test_switch_without_a_case_that_holds_does_nothing() -> None:
    case = Case("steps: [{switch: {cases: [{when: 'false', steps: [{set: {a: 1}}]}]}}]")
    assert (case.status, case.state) == ("completed", {})


def test_repeat_each_sees_item_and_index_and_keeps_a_list() -> None:
    case = Case("""
    steps:
      - id: loop
        repeat:
          each: "${start.names}"
          as: name
          steps: [{id: greet, call: {python: {function: greet, args: {who: "${name}", place: "${index}"}}}}]
    """, {"names": ["ana", "bo"]})  # fmt: skip
    call = case.wait_of("greet").call
    assert call is not None
    assert call.request["args"] == {"who": "ana", "place": 0}
    assert call.key == "i-1:loop/greet[0]"
    case.answer("greet", "hello ana")
    assert case.wait_of("greet").iteration == "[1]"
    case.answer("greet", "hello bo")
    assert case.results["loop"] == ["hello ana", "hello bo"]
    assert case.results["greet"] == "hello bo"


def test_repeat_over_an_empty_list_is_a_no_op() -> None:
    case = Case("steps: [{id: loop, repeat: {each: [], steps: [{task: {title: A}}]}}]")
    assert (case.status, case.results["loop"]) == ("completed", [])


def test_repeat_while_is_tested_before_and_until_after_a_round() -> None:
    case = Case("state: {n: 3}\nsteps: [{repeat: {while: state.n < 3, steps: [{set: {n: 9}}]}}]")
    assert case.state["n"] == 3
    case = Case("state: {n: 3}\nsteps: [{repeat: {until: state.n >= 3, steps: [{set: {n: '${state.n + 1}'}}]}}]")
    assert case.state["n"] == 4


def test_repeat_times_counts_rounds() -> None:
    case = Case("state: {n: 0}\nsteps: [{repeat: {times: 4, steps: [{set: {n: '${state.n + index}'}}]}}]")
    assert case.state["n"] == 6


def test_loop_that_is_never_done_is_a_business_error() -> None:
    case = Case("steps: [{id: loop, repeat: {while: 'true', max: 5, steps: [{set: {x: 1}}]}}]")
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("failed", "loop_limit")


def test_thousand_automatic_rounds_do_not_grow_the_stack() -> None:
    case = Case("state: {n: 0}\nsteps: [{repeat: {times: 1000, steps: [{set: {n: '${state.n + 1}'}}]}}]")
    assert (case.status, case.state["n"]) == ("completed", 1000)


def test_rework_is_a_repeat_that_reads_the_newest_answer() -> None:
    case = Case("""
    steps:
      - id: rework
        repeat:
          until: result.check.outcome == 'good'
          steps: [{id: write, task: {title: Write}}, {id: check, task: {title: Check, outcomes: [good, bad]}}]
    """)
    for outcome in ("bad", "bad", "good"):
        case.complete("write")
        case.complete("check", outcome)
    assert case.status == "completed"
    assert case.path() == ["rework", "write", "check", "write", "check", "write", "check"]


def test_selector_tries_until_one_succeeds() -> None:
    case = Case("""
    steps:
      - id: pay
        selector: [{id: card, call: {python: card}}, {id: bank, call: {python: bank}}, {id: cash, task: {title: Cash}}]
    """)
    case.refuse("card", "business", "declined")
    case.answer("bank", {"ok": True})
    assert (case.status, case.results["pay"]) == ("completed", {"ok": True})
    assert case.path() == ["pay", "card", "bank"]


def test_selector_fails_with_the_last_error() -> None:
    case = Case("steps: [{selector: [{id: a, fail: {code: one}}, {id: b, fail: {code: two}}]}]")
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("failed", "two")


def test_exit_leaves_the_nearest_loop_with_the_results_so_far() -> None:
    case = Case("""
    steps:
      - id: loop
        repeat:
          each: [1, 2, 3]
          steps:
            - {id: ask, call: {python: f}}
            - {if: result.ask == 'stop', then: [exit]}
            - {id: after, set: {seen: "${item}"}}
      - {id: end, set: {end: true}}
    """)
    case.answer("ask", "go")
    case.answer("ask", "stop")
    assert (case.status, case.results["loop"], case.state) == ("completed", ["go"], {"seen": 1, "end": True})


def test_exit_by_name_leaves_the_outer_container() -> None:
    case = Case("""
    steps:
      - id: outer
        group:
          - {repeat: {times: 3, steps: [{id: x, set: {x: "${index}"}}, {exit: outer}]}}
          - {set: {never: true}}
      - {set: {end: true}}
    """)
    assert (case.status, case.state) == ("completed", {"x": 0, "end": True})


def test_decision_table_hits() -> None:
    rows = """
        inputs: {kind: "${start.kind}", amount: "${start.amount}"}
        rows:
          - {when: {kind: misc, amount: {lt: 250}}, then: day}
          - {when: {kind: [misc, other], amount: {ge: 250, le: 1000}}, then: budget}
          - {when: {kind: {not: travel}, amount: {gt: 900}}, then: high}
    """
    first = f"steps:\n  - id: d\n    decide:\n        hit: first\n{rows}"
    assert Case(first, {"kind": "misc", "amount": 1}).results["d"] == "day"
    assert Case(first, {"kind": "other", "amount": 250}).results["d"] == "budget"
    assert Case(first.replace("first", "collect"), {"kind": "misc", "amount": 950}).results["d"] == ["budget", "high"]
    unjudged = first.replace("first", "unique").replace("gt: 900", "gt: '${start.limit}'")
    many = Case(unjudged, {"kind": "misc", "amount": 950, "limit": 900})
    none = Case(first, {"kind": "travel", "amount": 1})
    assert many.last.error is not None
    assert none.last.error is not None
    assert (many.last.error.code, none.last.error.code) == ("many_match", "no_match")


def test_input_lays_its_own_state_over_the_outer_one() -> None:
    case = Case("""
    state: {a: 1, b: 2}
    steps:
      - id: inner
        group: [{set: {a: "${state.a + state.b}"}}, {id: look, call: {python: {function: f, args: {a: "${state.a}"}}}}]
        input: {a: 10}
        output: "${state.a}"
    """)
    call = case.wait_of("look").call
    assert call is not None
    assert call.request["args"] == {"a": 12}
    case.answer("look")
    assert (case.state, case.results["inner"]) == ({"a": 1, "b": 2}, 12)


def test_input_that_does_not_fit_its_schema_fails_the_step() -> None:
    case = Case("""
    steps:
      - id: inner
        group: [{set: {x: 1}}]
        input: {n: text}
        input_schema: {type: object, properties: {n: {type: number}}}
    """)
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "bad_input")
