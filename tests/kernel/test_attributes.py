"""Attributes of a step: locks, milestones, handlers, reminders, clean-up, undoing."""

import pytest

from engine.kernel.effects import Emit, MakeCallLater
from engine.kernel.signals import CancelCase, TimerDue
from tests.kernel.play import Case

LOCKED = """
steps:
  - id: fan
    parallel:
      branches:
        a: [{id: ga, group: [{id: ta, task: {title: A}}], mutex: room}]
        b: [{id: gb, group: [{id: tb, task: {title: B}}], mutex: [room]}]
        c: [{id: tc, task: {title: C}}]
"""


def test_mutex_lets_one_in_at_a_time_first_come_first_served() -> None:
    case = Case(LOCKED)
    assert case.open() == ["ta", "tc"]
    assert case.last.snapshot.mutexes["room"]
    case.complete("ta")
    assert case.open() == ["tc", "tb"]
    case.complete("tb")
    case.complete("tc")
    assert (case.status, case.last.snapshot.mutexes) == ("completed", {})


def test_mutex_is_freed_however_the_step_ends() -> None:
    case = Case(
        LOCKED.replace("c: [{id: tc, task: {title: C}}]", "c: [{id: tc, task: {title: C}}, {cancel: {steps: [ga]}}]")
    )
    case.complete("tc")
    assert case.open() == ["tb"]


def test_mutex_may_be_entered_again_from_inside() -> None:
    case = Case("steps: [{id: g, mutex: m, group: [{id: t, mutex: m, task: {title: T}}]}]")
    assert case.open() == ["t"]


MILESTONE = """
state: {on: false}
steps:
  - id: fan
    parallel:
      branches:
        a: [{id: ta, task: {title: A}, enabled_while: state.on%s}]
        b:
          - {id: t1, task: {title: On}}
          - {set: {on: true}}
          - {id: t2, task: {title: Off}}
          - {set: {on: false}}
          - {id: t3, task: {title: Again}}
          - {set: {on: true}}
"""


def test_milestone_offers_only_while_it_holds_and_returns_under_a_new_token() -> None:
    case = Case(MILESTONE % "")
    assert case.open() == ["t1"]
    case.complete("t1")
    assert case.open() == ["t2", "ta"]
    token = case.wait_of("ta").token
    case.complete("t2")
    assert case.open() == ["t3"]
    case.complete("t3")
    assert case.open() == ["ta"]
    assert case.wait_of("ta").token != token
    case.complete("ta")
    assert case.status == "completed"


def test_missed_milestone_may_be_skipped() -> None:
    case = Case(MILESTONE % ", missed: skip")
    case.complete("t1")
    case.complete("t2")
    case.complete("t3")
    assert (case.status, case.statuses()["ta"]) == ("completed", "skipped")


def test_case_in_which_only_held_steps_are_left_is_an_incident() -> None:
    case = Case("steps: [{id: t, task: {title: T}, enabled_while: 'false'}]")
    assert case.last.error is not None
    assert (case.status, case.last.error.code) == ("incident", "stuck")


def test_interrupting_signal_withdraws_the_host_and_the_flow_goes_on() -> None:
    case = Case("""
    steps:
      - id: host
        group: [{id: t, task: {title: T}}]
        on: [{signal: stop, interrupting: true, steps: [{id: h, set: {why: "${signal.why}"}}]}]
      - {id: after, task: {title: After}}
    """)
    case.signal("stop", {"why": "late"})
    assert (case.open(), case.state) == (["after"], {"why": "late"})
    assert case.statuses()["t"] == "cancelled"


def test_handler_that_does_not_interrupt_runs_beside_its_host_each_time() -> None:
    case = Case("""
    steps:
      - id: host
        group: [{id: t, task: {title: T}}]
        on: [{signal: note, steps: [{id: h, task: {title: "${signal.n}"}}]}]
      - {id: after, task: {title: After}}
    """)
    case.signal("note", {"n": "1"})
    case.signal("note", {"n": "2"})
    assert case.open() == ["t", "h[0]", "h[1]"]
    case.complete("t")
    assert case.open() == ["h[0]", "h[1]", "after"]
    case.complete("after")
    assert case.status == "running"
    case.complete("h")
    case.complete("h")
    assert case.status == "completed"


def test_head_handler_completes_the_case() -> None:
    case = Case("""
    on: [{signal: withdraw, interrupting: true, steps: [{set: {withdrawn: true}}]}]
    output: {withdrawn: "${get(state, 'withdrawn', false)}"}
    steps: [{id: t, task: {title: T}}]
    """)
    case.signal("withdraw")
    assert (case.status, case.last.output, case.waits) == ("completed", {"withdrawn": True}, {})


def test_head_error_handler_catches_what_nobody_else_did() -> None:
    case = Case("""
    on: [{error: error.code == 'no', steps: [{id: tell, set: {code: "${error.code}"}}]}]
    steps: [{id: t, call: {python: f}}]
    """)
    case.refuse("t", "business", "no")
    assert (case.status, case.state) == ("completed", {"code": "no"})


def test_timers_of_handlers_ring_after_at_and_every() -> None:
    case = Case("""
    state: {rings: []}
    steps:
      - id: host
        task: {title: T}
        on:
          - {after: PT1H, steps: [{set: {rings: "${concat(state.rings, ['after'])}"}}]}
          - {at: "2030-01-07T11:00:00Z", steps: [{set: {rings: "${concat(state.rings, ['at'])}"}}]}
          - {every: PT40M, times: 2, steps: [{set: {rings: "${concat(state.rings, ['every'])}"}}]}
    """)
    case.advance("P1D")
    assert case.state["rings"] == ["every", "after", "every", "at"]
    assert case.status == "running"


def test_reminders_stop_with_their_step_and_missed_ones_are_made_up_by_one() -> None:
    source = """
    state: {n: 0}
    steps:
      - id: ask
        task: {title: T}
        reminders: [{every: P1D, times: 6, steps: [{set: {n: "${state.n + 1}"}}]}]
        timeout: P7D
        on_timeout: [{set: {late: true}}]
    """
    case = Case(source)
    case.advance("P3D")
    case.complete("ask")
    case.advance("P9D")
    assert case.state == {"n": 3}
    case = Case(source)
    case.advance("P10D")
    assert case.state == {"n": 6, "late": True}
    case = Case(source)
    case.now = case.now.replace(day=10, hour=10)
    timer = next(wait for wait in case.waits.values() if wait.due_at is not None and wait.due_at.day == 8)
    case.send(TimerDue(timer.token))
    assert case.state == {"n": 1}
    case.advance("P10D")
    assert case.state == {"n": 4, "late": True}


def type_due(token: int):
    from engine.kernel.signals import TimerDue

    return TimerDue(token)


def test_deadline_expires_the_case_unless_the_head_catches_it() -> None:
    case = Case("limits: {deadline: P1D}\nsteps: [{id: t, task: {title: T}}]")
    case.advance("P1D")
    assert case.last.error is not None
    assert (case.status, case.last.error.code, case.waits) == ("expired", "deadline", {})
    case = Case("""
    limits: {deadline: P1D}
    on: [{error: error.code == 'deadline', steps: [{set: {late: true}}]}]
    steps: [{id: t, task: {title: T}}]
    """)
    case.advance("P1D")
    assert (case.status, case.state) == ("completed", {"late": True})


def test_timeout_of_a_group_withdraws_what_is_open_and_keeps_what_is_done() -> None:
    case = Case("""
    steps:
      - id: both
        group: [{parallel: {branches: {a: [{id: ta, task: {title: A}}], b: [{id: tb, task: {title: B}}]}}}]
        timeout: PT4H
        on_timeout: [{id: hand_over, task: {title: H}}]
    """)
    case.complete("ta")
    case.advance("PT4H")
    assert (case.open(), case.statuses()["ta"], case.statuses()["tb"]) == (["hand_over"], "success", "cancelled")


def test_finally_runs_on_success_failure_and_withdrawal() -> None:
    source = """
    state: {log: []}
    steps:
      - id: work
        call: {python: f}
        finally:
          - {set: {log: "${concat(state.log, ['done'])}"}}
          - {call: {python: {function: clean, args: {}}}}
        on_error: []
    """
    for act in (
        lambda case: case.answer("work"),
        lambda case: case.refuse("work", "business", "no"),
        lambda case: case.send(CancelCase("x")),
    ):
        case = Case(source)
        act(case)
        assert case.state["log"] == ["done"]
        assert [type(effect) for effect in case.last.effects] == [MakeCallLater]


def test_withdrawal_runs_finally_inner_first() -> None:
    case = Case("""
    state: {log: []}
    steps:
      - id: outer
        finally: [{set: {log: "${concat(state.log, ['outer'])}"}}]
        group: [{id: inner, task: {title: T}, finally: [{set: {log: "${concat(state.log, ['inner'])}"}}]}]
    """)
    case.send(CancelCase("x"))
    assert (case.status, case.state["log"]) == ("cancelled", ["inner", "outer"])


SAGA = """
state: {undone: []}
steps:
  - id: trip
    group:
      - {id: flight, call: {python: f}, undo: [{set: {undone: "${concat(state.undone, [result.flight.ref])}"}}]}
      - id: rooms
        repeat:
          each: [x, y]
          steps:
            - id: room
              call: {python: g}
              undo: [{set: {undone: "${concat(state.undone, [result.room.ref, item])}"}}]
      - {id: pay, call: {python: h}}
    on_error: [{steps: [{id: undo_all, compensate: trip}]}]
"""


def test_compensation_undoes_successful_runs_latest_first_each_with_its_own_results() -> None:
    case = Case(SAGA)
    case.answer("flight", {"ref": "F"})
    case.answer("room", {"ref": "R1"})
    case.answer("room", {"ref": "R2"})
    case.refuse("pay", "business", "declined")
    assert case.status == "completed"
    assert case.state["undone"] == ["R2", "y", "R1", "x", "F"]
    compensated = [run.run for run in case.trace if run.status == "compensated"]
    assert len(compensated) == 3


def test_each_run_is_undone_once() -> None:
    case = Case(
        SAGA.replace("[{id: undo_all, compensate: trip}]", "[{compensate: trip}, {compensate: {step: flight}}]")
    )
    case.answer("flight", {"ref": "F"})
    case.answer("room", {"ref": "R1"})
    case.answer("room", {"ref": "R2"})
    case.refuse("pay", "business", "declined")
    assert case.state["undone"] == ["R2", "y", "R1", "x", "F"]


def test_cancel_withdraws_steps_by_id_and_tag_and_their_line_ends_there() -> None:
    case = Case("""
    steps:
      - id: fan
        parallel:
          branches:
            a: [{id: ta, task: {title: A}, tags: [slow]}, {id: never, set: {never: true}}]
            b: [{id: tb, task: {title: B}}, {id: stop, cancel: {tags: [slow]}}]
      - {id: after, set: {done: true}}
    """)
    case.complete("tb")
    assert (case.status, case.state) == ("completed", {"done": True})
    assert case.statuses()["ta"] == "cancelled"


def test_cancel_case_ends_it_as_cancelled() -> None:
    case = Case("steps: [{id: t, task: {title: T}}, {cancel: {case: true, outcome: GONE}}, {set: {x: 1}}]")
    case.complete("t")
    assert (case.status, case.last.outcome, case.state) == ("cancelled", "GONE", {})


def test_complete_step_ends_it_with_the_results_so_far() -> None:
    case = Case("""
    steps:
      - id: fan
        parallel:
          branches:
            votes: [{id: lines, for_each: {each: [1, 2, 3], steps: [{id: vote, task: {title: V}}]}}]
            stop: [{id: enough, signal: enough}, {complete: {step: lines}}]
      - {id: after, task: {title: After}}
    """)
    case.complete("vote[1]")
    case.signal("enough")
    assert case.open() == ["after"]
    assert [answer is None for answer in case.results["lines"]] == [True, False, True]


def test_early_signal_is_kept_unless_its_ttl_is_over() -> None:
    source = "steps: [{id: nap, wait: {for: PT1H}}, {id: go, signal: {name: go%s}}, {set: {got: '${result.go.x}'}}]"
    case = Case(source % "")
    case.signal("go", {"x": 1})
    case.advance("PT1H")
    assert (case.status, case.state) == ("completed", {"got": 1})
    for ttl in (", ttl: PT30M", ", ttl: PT0S"):
        case = Case(source % ttl)
        case.signal("go", {"x": 1})
        case.advance("PT1H")
        assert (case.status, case.open()) == ("running", ["go"])
    assert Case(source % ", ttl: PT0S").signal("go").applied == (False,)


def test_one_signal_wakes_the_oldest_wait_only() -> None:
    case = Case("steps: [{parallel: {branches: {a: [{id: wa, signal: go}], b: [{id: wb, signal: go}]}}}]")
    case.signal("go")
    assert case.open() == ["wb"]


def test_own_signal_reaches_a_sibling_that_waits_later_in_the_same_slice() -> None:
    case = Case("""
    steps:
      - parallel:
          branches:
            a: [{emit: {signal: go, payload: {x: 1}}}]
            b: [{set: {y: 1}}, {id: w, signal: {name: go, ttl: PT0S}}]
    """)
    assert (case.status, case.results["w"]) == ("completed", {"x": 1})


def test_signal_by_key_and_event_leave_the_case() -> None:
    case = Case("steps: [{emit: {signal: paid, key: K1, payload: 5}}, {emit: {event: done, payload: {a: 1}}}]")
    assert case.last.effects == (Emit("signal", "paid", "K1", 5), Emit("event", "done", None, {"a": 1}))


def test_escalation_goes_to_the_nearest_handler_of_its_name() -> None:
    case = Case("""
    steps:
      - id: host
        group: [{id: raise_it, emit: {escalation: help, payload: {n: 7}}}, {id: t, task: {title: T}}]
        on: [{escalation: help, steps: [{id: boss, task: {title: "${signal.n}"}}]}]
    """)
    assert case.open() == ["boss[0]", "t"]


def test_task_that_several_people_answer_until_the_condition_holds() -> None:
    case = Case("steps: [{id: vote, task: {title: V, outcomes: [yes, no], complete_when: done >= 2}}]")
    case.complete("vote", "yes", by="ann")
    assert case.complete("vote", "no", by="ann").applied == (False,)
    assert case.status == "running"
    case.complete("vote", "no", by="bob")
    assert [answer["by"] for answer in case.results["vote"]["answers"]] == ["ann", "bob"]
    assert case.status == "completed"


def test_signal_moves_a_timer_any_number_of_times() -> None:
    case = Case("""
    steps: [{id: nap, wait: {for: PT1H, reschedule: {signal: later, until: "${signal.at}"}}}]
    """)
    case.signal("later", {"at": "2030-01-07T12:00:00Z"})
    case.advance("PT2H")
    assert case.status == "running"
    case.advance("PT1H")
    assert case.status == "completed"


BY_HAND = "steps: [{id: by_hand, task: {title: T, form: {type: object, properties: {n: {type: integer}}}}}]"


@pytest.mark.parametrize(
    "host",
    [
        f"call: {{python: x}}, on_error: [{{{BY_HAND}}}]",
        f"call: {{python: x}}, on: [{{error: 'true', {BY_HAND}}}]",
        f"call: {{python: x}}, on: [{{signal: stop, interrupting: true, {BY_HAND}}}]",
        f"call: {{python: x}}, timeout: PT1S, on_timeout: {BY_HAND.removeprefix('steps: ')}",
    ],
)
def test_what_a_handler_found_out_is_known_to_the_flow_that_goes_on(host: str) -> None:
    case = Case(f"""
    steps:
      - {{id: a, {host}}}
      - {{id: after, set: {{n: "${{result.by_hand.n}}", there: "${{has(result.a)}}"}}}}
    """)
    if "signal" in host:
        case.signal("stop")
    elif "timeout" in host:
        case.advance("PT1S")
    else:
        case.refuse("a", "business", "no")
    case.complete("by_hand", n=3)
    assert (case.status, case.state) == ("completed", {"n": 3, "there": False})


def test_what_a_handler_of_an_item_found_out_stays_in_the_item() -> None:
    case = Case(f"""
    steps:
      - id: all
        for_each:
          each: [1, 2]
          steps:
            - {{id: a, call: {{python: x}}, on_error: [{{{BY_HAND}}}]}}
            - {{id: got, group: [{{set: {{n: 1}}}}], output: "${{result.by_hand.n}}"}}
    """)
    for number in range(2):
        case.refuse("a", "business", "no")
        case.complete(f"by_hand[{number}]", n=number)
    assert (case.status, case.results) == ("completed", {"all": [0, 1]})


def test_a_handler_may_give_the_result_that_the_failed_step_owes() -> None:
    case = Case("""
    steps:
      - repeat:
          times: 2
          steps:
            - id: a
              call: {python: x, into: found}
              on_error: [{match: error.code == 'no', steps: [{id: b, call: {python: y, into: found}}]}, {steps: []}]
            - set: {found: "${get(result, 'found', null)}"}
    """)
    case.refuse("a", "business", "no")
    case.answer("b", 7)
    assert case.state == {"found": 7}
    case.refuse("a", "business", "other")
    assert (case.status, case.state) == ("completed", {"found": None})
