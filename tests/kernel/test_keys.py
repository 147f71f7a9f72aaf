"""One key per occurrence: the outside can tell different effects apart, and recognize the same one."""

import json
from typing import Any

import pytest

from engine.kernel.effects import MakeCallLater, NotifyPeople
from engine.kernel.machine.idempotency_keys import LONGEST, bounded
from engine.kernel.signals import StepRetried, TaskClaimed, TaskReleased
from engine.kernel.snapshot import Snapshot
from tests.kernel.play import Case


def keys(case: Case) -> list[str]:
    """List the keys of all calls that a case asked for, waited for or not, in their order."""
    found = []
    for one in case.slices:
        found += [(wait.token, wait.call.key) for wait in one.opened if wait.call is not None]
        found += [(0, effect.call.key) for effect in one.effects if isinstance(effect, MakeCallLater)]
    return [key.removeprefix("i-1:") for _, key in found]


HOST = """
    steps:
      - id: host
        task: {title: Host}
        on: [{signal: doc, steps: [{id: send, call: {python: s}}, {id: after, task: {title: After}}]}]
        reminders: [{every: P1D, times: 2, steps: [{id: rem, call: {python: r}}]}]
"""


def test_each_signal_and_each_reminder_has_a_key_of_its_own() -> None:
    case = Case(HOST)
    case.signal("doc", {"d": 1})
    case.signal("doc", {"d": 2})
    case.advance("P3D")
    assert keys(case) == [
        "host/on.0/send[0]",
        "host/on.0/send[1]",
        "host/reminders.0/rem[0]",
        "host/reminders.0/rem[1]",
    ]


def test_an_occurrence_has_a_name_of_its_own() -> None:
    case = Case(HOST)
    for _ in range(2):
        case.signal("doc")
        case.answer("send")
    assert case.open() == ["host", "after[0]", "after[1]"]
    case.complete("after[1]")
    assert case.open() == ["host", "after[0]"]


@pytest.mark.parametrize(
    ("on", "come"),
    [
        ("{every: P1D, steps: [{id: send, call: {python: s}}]}", ["P1D", "P1D"]),
        ("{escalation: help, steps: [{id: send, call: {python: s}}]}", []),
    ],
)
def test_handlers_by_time_and_by_escalation(on: str, come: list[str]) -> None:
    case = Case(f"""
    steps:
      - id: host
        group:
          - repeat: {{times: 2, steps: [{{emit: {{escalation: help}}}}]}}
          - task: {{title: T}}
        on: [{on}]
    """)
    for period in come:
        case.advance(period)
    assert keys(case) == ["host/on.0/send[0]", "host/on.0/send[1]"]


def test_rounds_inside_a_handler_of_a_repeated_host() -> None:
    case = Case("""
    steps:
      - repeat:
          times: 2
          steps:
            - id: host
              task: {title: Host}
              on: [{signal: doc, steps: [{repeat: {times: 2, steps: [{id: send, call: {python: s}}]}}]}]
    """)
    for _ in range(2):
        for _ in range(2):
            case.signal("doc")
            case.answer("send")
            case.answer("send")
        case.complete("host")
    found = [key.rpartition("send")[2] for key in keys(case)]
    assert found == [f"[{host}][{number}][{turn}]" for host in range(2) for number in range(2) for turn in range(2)]


def test_a_handler_goes_on_counting_when_what_is_around_it_is_tried_again() -> None:
    case = Case("""
    steps:
      - id: around
        retry: {attempts: 2, delay: PT1M, on: [business]}
        group:
          - {id: ask, call: {python: a}, on: [{signal: doc, steps: [{id: send, call: {python: s}}]}]}
    """)
    case.signal("doc")
    case.refuse("ask", "business", "no")
    case.advance("PT1M")
    case.signal("doc")
    assert keys(case) == ["around/ask", "around/ask/on.0/send[0]", "around/ask", "around/ask/on.0/send[1]"]


def test_a_call_keeps_its_key_over_its_attempts_and_over_those_around_it() -> None:
    case = Case("""
    state: {n: 0}
    steps:
      - id: around
        retry: {attempts: 2, delay: PT1M, on: [transport]}
        group:
          - {id: first_one, call: {python: a}}
          - {id: second, call: {python: b, key: "${string(state.n)}"}, retry: {attempts: 2, delay: PT1M}}
    """)
    case.answer("first_one")
    case.refuse("second")
    case.advance("PT1M")
    case.refuse("second")
    case.advance("PT1M")
    assert keys(case) == ["around/first_one", "0", "0", "around/first_one"]


def test_the_authors_own_key_is_computed_once_a_call() -> None:
    case = Case("""
    state: {n: 0}
    steps:
      - parallel:
          branches:
            a: [{id: pay, call: {python: p, key: "${'pay-' + string(state.n)}"}, retry: {attempts: 2, delay: PT1H}}]
            b: [{wait: {for: PT1M}}, {set: {n: 1}}]
    """)
    case.refuse("pay")
    case.advance("PT2H")
    assert case.state["n"] == 1
    assert keys(case) == ["pay-0", "pay-0"]


def test_a_call_under_way_keeps_its_key_when_the_definition_moves_it() -> None:
    before = "steps: [{id: pay, call: {python: p}, retry: {attempts: 3, delay: PT1M}}]"
    after = "steps: [{id: pay, title: Paying, call: {python: p}, retry: {attempts: 3, delay: PT1M}}]"
    case = Case(before)
    moved = Case(after).definition
    assert moved.steps["pay"].path == "pay"
    steps = {**moved.steps, "pay": _at_path(moved.steps["pay"], "inner/pay")}
    case.definition = _replace(moved, steps=steps)
    case.refuse("pay")
    case.advance("PT1M")
    assert keys(case) == ["pay", "pay"]


def _replace(value: Any, **more: Any) -> Any:
    from dataclasses import replace

    return replace(value, **more)


def _at_path(step: Any, path: str) -> Any:
    return _replace(step, path=path)


def test_an_instance_begun_before_keeps_the_keys_that_it_had() -> None:
    case = Case("""
    steps:
      - id: host
        task: {title: Host}
        on: [{signal: doc, steps: [{id: send, call: {python: s}, retry: {attempts: 3, delay: PT1M}}]}]
    """)
    case.signal("doc")
    assert case.snapshot is not None
    case.snapshot = Snapshot.from_json(_as_before(case.snapshot.to_json()))
    case.refuse("send")
    case.advance("PT1M")
    case.signal("doc")
    assert keys(case) == ["host/on.0/send[0]", "host/on.0/send", "host/on.0/send[0]"]


def _as_before(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot as the release before occurrences stored it."""
    old = json.loads(json.dumps(stored))
    old.pop("occurrences", None)
    for frame in old["frames"]:
        for slot in ("sign", "again", "edit", "sent_as"):
            frame.pop(slot, None)
        if frame.get("role") == "beside":
            frame.pop("pos")
    return old


def test_an_edited_call_of_an_instance_begun_before_keeps_its_key() -> None:
    case = Case("steps: [{id: pay, call: {python: p}, retry: {attempts: 2, delay: PT1M}}]")
    assert case.snapshot is not None
    old = _as_before(case.snapshot.to_json())
    for frame in old["frames"]:
        if frame.get("step") == "pay":
            frame["more"] = {"edited": {"input": {"args": {"x": 1}}, "attempt": 3}}
    case.snapshot = Snapshot.from_json(old)
    case.refuse("pay")
    case.advance("PT1M")
    assert keys(case) == ["pay", "pay~3"]


def test_what_an_operator_edited_is_another_call() -> None:
    case = Case("steps: [{id: pay, call: {python: {function: p, args: {x: 1}}}, retry: {attempts: 2, delay: PT1M}}]")
    case.refuse("pay")
    case.advance("PT1M")
    case.refuse("pay")
    assert case.status == "incident"
    case.send(StepRetried(input={"args": {"x": 2}}))
    case.refuse("pay")
    case.send(StepRetried())
    assert keys(case) == ["pay", "pay", "pay~3", "pay~3"]


def test_what_an_operator_edited_around_calls_makes_them_others() -> None:
    case = Case("""
    steps:
      - id: around
        input: {x: 1}
        repeat: {times: 2, steps: [{id: pay, call: {python: {function: p, args: {x: "${state.x}"}}}}]}
        output: "${result.pay.missing}"
    """)
    case.answer("pay")
    case.answer("pay")
    assert case.status == "incident"
    case.send(StepRetried(input={"x": 2}))
    assert keys(case) == ["around/pay[0]", "around/pay[1]", "around/pay~2[0]"]


def test_an_edit_is_not_taken_for_a_call_in_finally() -> None:
    case = Case("""
    steps:
      - id: pay
        call: {python: {function: p, args: {x: 1}}}
        finally: [{id: tell, call: {python: {function: t, args: {y: 1}}}}]
    """)
    case.refuse("pay")
    case.send(StepRetried(input={"function": "q", "args": {"x": 2}}))
    case.answer("pay")
    (later,) = [effect for effect in case.last.effects if isinstance(effect, MakeCallLater)]
    assert dict(later.call.request) == {"function": "t", "args": {"y": 1}}


def test_calls_in_finally_have_a_key_an_end() -> None:
    case = Case("""
    steps:
      - for_each:
          each: [1, 2]
          steps: [{id: ask, task: {title: T}, finally: [{if: "true", then: [{id: tell, call: {python: t}}]}]}]
    """)
    case.complete("ask[0]")
    case.complete("ask[1]")
    found = keys(case)
    assert [key[-3:] for key in found] == ["[0]", "[1]"]
    assert len(set(found)) == 2


def test_a_net_in_a_net() -> None:
    case = Case("""
    state: {n: 0}
    steps:
      - net:
          steps:
            - id: outer
              net:
                steps:
                  - {id: a, set: {n: "${state.n + 1}"}, next: [{to: e, make: 2}]}
                  - {id: e, call: {python: f}}
              next: [{to: outer, when: state.n < 2}]
              join: each
    """)
    for _ in range(4):
        case.answer("e")
    assert case.status == "completed"
    assert len(set(keys(case))) == len(keys(case)) == 4


def test_a_step_that_returns_after_enabled_while_withdrew_it() -> None:
    case = Case("""
    state: {on: true}
    on:
      - {signal: "off", steps: [{set: {on: false}}]}
      - {signal: "on", steps: [{set: {on: true}}]}
    steps:
      - id: offer
        enabled_while: state.on
        group: [{id: tell, call: {python: t}}, {task: {title: T}}]
        finally: [{id: untell, call: {python: u}}]
    """)
    for _ in range(2):
        case.answer("tell")
        case.signal("off")
        case.signal("on")
    assert keys(case) == [
        "offer/tell",
        "offer/finally/untell",
        "offer/tell+1",
        "offer/finally/untell+1",
        "offer/tell+2",
    ]


def test_what_is_offered_again_after_a_release() -> None:
    case = Case("""
    steps:
      - id: jobs
        any_order:
          - {id: one, parallel: {branches: {a: [{id: ask, task: {title: T}}], b: [{id: tell, call: {python: t}}]}}}
    """)
    token = case.wait_of("ask").token
    case.send(TaskClaimed(token, "bob"))
    case.send(TaskReleased(token))
    assert [key.rpartition("tell")[2] for key in keys(case)] == ["", "+1"]


def test_undoing_two_runs_of_one_place() -> None:
    case = Case("""
    steps:
      - id: around
        retry: {attempts: 2, delay: PT1M, on: [business]}
        group:
          - {id: book, call: {python: b}, undo: [{id: unbook, call: {python: u}}]}
          - {id: pay, call: {python: p}}
      - {compensate: {step: book}}
    """)
    case.answer("book", 1)
    case.refuse("pay", "business", "no")
    case.advance("PT1M")
    case.answer("book", 2)
    case.answer("pay")
    case.answer("unbook")
    case.answer("unbook")
    found = [key for key in keys(case) if "unbook" in key]
    assert case.status == "completed"
    assert len(set(found)) == len(found) == 2


def test_what_runs_on_takes_along_which_run_it_is() -> None:
    case = Case("""
    state: {on: true}
    on:
      - {signal: "off", steps: [{set: {on: false}}]}
      - {signal: "on", steps: [{set: {on: true}}]}
    steps:
      - id: choice
        enabled_while: state.on
        if: "true"
        then:
          - parallel:
              join: none
              branches: {a: [{id: nap, wait: {for: P1D}}, {id: tell, call: {python: t}}]}
          - task: {title: T}
    """)
    case.signal("off")
    case.signal("on")
    case.advance("P1D")
    found = keys(case)
    assert len(set(found)) == len(found) == 2


def test_letters_of_a_task_have_a_key_each() -> None:
    case = Case("""
    steps:
      - repeat:
          times: 2
          steps: [{id: ask, task: {title: T, notify: {}, remind: [{every: P1D}], escalate: [{after: P2D, notify: boss}]}}]
    """)
    for _ in range(2):
        case.advance("P3D")
        case.complete("ask")
    letters = [effect.key for one in case.slices for effect in one.effects if isinstance(effect, NotifyPeople)]
    assert len(letters) >= 10
    assert len(set(letters)) == len(letters)


def test_long_keys_are_told_apart() -> None:
    short, one, other = "x" * LONGEST, "x" * LONGEST + "1", "x" * LONGEST + "2"
    assert bounded(short) == short
    assert len({bounded(one), bounded(other)}) == 2
    assert {len(bounded(one)), len(bounded(other))} == {LONGEST}


def test_an_operators_retry_withdraws_what_still_lives_of_the_attempt() -> None:
    case = Case("""
    steps:
      - parallel:
          join: fail_fast
          branches: {a: [{id: pay, call: {python: p}}], b: [{id: ship, call: {python: s}}, {id: ask, task: {title: T}}]}
    """)
    case.refuse("pay")
    assert (case.status, case.open()) == ("incident", ["ship"])
    case.send(StepRetried())
    assert case.open() == ["pay", "ship"]
    case.answer("pay")
    case.answer("ship")
    case.complete("ask")
    assert case.status == "completed"


def test_an_offer_that_enabled_while_and_a_claim_take_back_in_turn_counts_on() -> None:
    case = Case("""
    state: {on: true}
    steps:
      - parallel:
          branches:
            offers:
              - any_order:
                  - {id: one, task: {title: One}}
                  - {id: two, task: {title: Two}, enabled_while: state.on, finally: [{id: bye, call: {python: bye}}]}
            switch:
              - {id: off, task: {title: Off}}
              - set: {on: false}
              - {id: back, task: {title: Back}}
              - set: {on: true}
    """)
    case.complete("off")
    case.complete("back")
    for _ in range(2):
        case.send(TaskClaimed(case.wait_of("one").token, "bob"))
        case.send(TaskReleased(case.wait_of("one").token))
    ends = [key.rpartition("bye")[2] for key in keys(case)]
    assert ends == ["", "+1", "+2"]
