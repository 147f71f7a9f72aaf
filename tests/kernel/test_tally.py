"""Containers that run many lists at once: joins, rests, quorums, added items."""

import pytest

from tests.kernel.play import Case

THREE = """
steps:
  - id: fan
    parallel:
      branches: {a: [{id: ta, task: {title: A}}], b: [{id: tb, task: {title: B}}], c: [{id: tc, task: {title: C}}]}
      %s
  - {id: after, task: {title: After}}
"""


def test_all_waits_for_every_branch() -> None:
    case = Case(THREE % "join: all")
    assert case.open() == ["ta", "tb", "tc"]
    for task in ("tb", "ta"):
        case.complete(task)
    assert case.open() == ["tc"]
    case.complete("tc")
    assert case.open() == ["after"]
    assert set(case.results["fan"]) == {"a", "b", "c"}


def test_any_goes_on_with_the_first_and_cancels_the_rest() -> None:
    case = Case(THREE % "join: any")
    case.complete("tb")
    assert case.open() == ["after"]
    assert (case.statuses()["ta"], case.statuses()["tb"]) == ("cancelled", "success")


def test_quorum_needs_that_many_successes() -> None:
    case = Case(THREE % "join: 2")
    case.complete("tb")
    assert case.open() == ["ta", "tc"]
    case.complete("tc")
    assert case.open() == ["after"]


def test_quorum_above_the_number_chosen_means_all() -> None:
    case = Case(THREE % "join: 7")
    for task in ("ta", "tb", "tc"):
        case.complete(task)
    assert case.open() == ["after"]


def test_none_goes_on_at_once_and_the_case_waits_for_the_rest() -> None:
    case = Case(THREE % "join: none")
    assert case.open() == ["ta", "tb", "tc", "after"]
    case.complete("after")
    assert case.status == "running"
    for task in ("ta", "tb", "tc"):
        case.complete(task)
    assert case.status == "completed"


def test_let_run_swallows_late_branches() -> None:
    case = Case(THREE % "join: any\n      rest: let_run")
    case.complete("ta")
    assert case.open() == ["tb", "tc", "after"]
    assert case.results["fan"] == {"a": case.results["ta"]}
    case.complete("tb")
    case.complete("after")
    assert (case.status, case.open()) == ("running", ["tc"])
    assert "tb" not in case.results
    case.complete("tc")
    assert case.status == "completed"


FAILING = """
steps:
  - id: fan
    parallel:
      branches: {a: [{id: ca, call: {python: f}}], b: [{id: tb, task: {title: B}}]}
      %s
  - {id: after, task: {title: After}}
"""


def test_all_raises_the_first_error_after_everybody_ended() -> None:
    case = Case(FAILING % "join: all")
    case.refuse("ca", "business", "no")
    assert (case.status, case.open()) == ("running", ["tb"])
    case.complete("tb")
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("failed", "no")


def test_fail_fast_raises_at_once() -> None:
    case = Case(FAILING % "join: fail_fast")
    case.refuse("ca", "business", "no")
    assert (case.status, case.statuses()["tb"]) == ("failed", "cancelled")


def test_all_complete_never_fails() -> None:
    case = Case(FAILING % "join: all_complete")
    case.refuse("ca", "business", "no")
    case.complete("tb")
    assert case.open() == ["after"]


def test_quorum_fails_as_soon_as_it_cannot_be_reached() -> None:
    case = Case(FAILING % "join: 2")
    case.refuse("ca", "business", "no")
    assert case.status == "failed"


def test_join_that_raises_an_incident_can_be_retried() -> None:
    case = Case(FAILING % "join: all")
    case.refuse("ca", "transport", "http_500")
    case.complete("tb")
    assert case.status == "incident"


def test_branch_whose_condition_is_false_is_not_counted() -> None:
    case = Case("""
    steps:
      - id: fan
        parallel:
          branches:
            a: {when: start.a, steps: [{id: ta, task: {title: A}}]}
            b: {when: start.b, steps: [{id: tb, task: {title: B}}]}
      - {id: after, set: {done: true}}
    """, {"a": False, "b": True})  # fmt: skip
    assert case.open() == ["tb"]
    case.complete("tb")
    assert case.status == "completed"


def test_no_branch_chosen_is_a_no_op() -> None:
    case = Case("steps: [{id: p, parallel: {branches: {a: {when: 'false', steps: [{task: {title: A}}]}}}}]")
    assert (case.status, case.results["p"]) == ("completed", {})


EACH = """
steps:
  - id: lines
    for_each:
      each: "${start.items}"
      as: line
      steps: [{id: check, task: {title: "Check ${line}"}}, {id: keep, set: {last: "${line}"}}]
      %s
  - {id: after, task: {title: After}}
"""


def test_for_each_keeps_the_lists_order_and_its_own_state() -> None:
    case = Case(EACH % "join: all", {"items": ["x", "y", "z"]})
    assert case.open() == ["check[0]", "check[1]", "check[2]"]
    task = case.wait_of("check[1]").task
    assert task is not None
    assert task.title == "Check y"
    for number in (2, 0, 1):
        case.complete(f"check[{number}]", by=f"p{number}")
    assert [answer["by"] for answer in case.results["lines"]] == ["p0", "p1", "p2"]
    assert case.state == {}
    assert "check" not in case.results


def test_for_each_over_an_empty_list_goes_on() -> None:
    case = Case(EACH % "join: all", {"items": []})
    assert (case.open(), case.results["lines"]) == (["after"], [])


def test_limit_keeps_items_back() -> None:
    case = Case(EACH % "limit: 2", {"items": [1, 2, 3]})
    assert case.open() == ["check[0]", "check[1]"]
    case.complete("check[0]")
    assert case.open() == ["check[1]", "check[2]"]


def test_complete_when_decides_and_leaves_null_where_withdrawn() -> None:
    case = Case(EACH % "complete_when: done * 2 >= total", {"items": [1, 2, 3, 4]})
    case.complete("check[3]")
    assert len(case.open()) == 3
    case.complete("check[1]")
    assert case.open() == ["after"]
    assert [answer is None for answer in case.results["lines"]] == [True, False, True, False]


def test_signal_adds_items_until_decided() -> None:
    case = Case(EACH % "add: {signal: more}", {"items": [1]})
    case.signal("more", "new")
    assert case.open() == ["check[0]", "check[1]"]
    case.complete("check[1]")
    case.complete("check[0]")
    assert case.open() == ["after"]
    assert case.signal("more", "late").applied == (False,)


def test_close_keeps_the_step_open_until_that_signal() -> None:
    case = Case(EACH % "add: {signal: more, close: enough}", {"items": []})
    assert (case.status, case.open()) == ("running", ["lines"])
    case.signal("more", "a")
    case.complete("check[0]")
    assert case.open() == ["lines"]
    case.signal("enough")
    assert case.open() == ["after"]


def test_nested_items_have_their_own_position() -> None:
    case = Case("""
    steps:
      - id: outer
        for_each:
          each: [[1, 2], [3]]
          steps: [{id: inner, for_each: {each: "${item}", steps: [{id: t, task: {title: "${item}"}}]}}]
    """)
    assert case.open() == ["t[0][0]", "t[0][1]", "t[1][0]"]


BLOCKED = """
steps:
  - id: loop
    repeat:
      times: 2
      steps:
        - id: fan
          parallel: {branches: {a: [{id: ta, task: {title: A}}], b: [{id: tb, task: {title: B}}]}, join: any, rest: %s}
  - {id: after, task: {title: After}}
"""


def test_block_holds_a_later_round_until_the_earlier_is_empty() -> None:
    case = Case(BLOCKED % "block")
    case.complete("ta")
    assert case.open() == ["tb[0]", "ta[1]", "tb[1]"]
    case.complete("ta[1]")
    assert case.open() == ["tb[0]", "tb[1]"]
    case.complete("tb[0]")
    assert case.open() == ["tb[1]", "after"]


def test_let_run_does_not_hold_a_later_round() -> None:
    case = Case(BLOCKED % "let_run")
    case.complete("ta")
    case.complete("ta[1]")
    assert case.open() == ["tb[0]", "tb[1]", "after"]


@pytest.mark.parametrize("order", [("ta", "tb", "tc"), ("tc", "tb", "ta"), ("tb", "tc", "ta")])
def test_memory_and_storage_agree_in_every_order(order: tuple[str, ...]) -> None:
    cases = [Case(THREE % "join: 2\n      rest: let_run", stored=stored) for stored in (True, False)]
    for case in cases:
        for task in (*order, "after"):
            case.complete(task)
    assert cases[0].last.snapshot.to_json() == cases[1].last.snapshot.to_json()
    assert cases[0].status == "completed"
