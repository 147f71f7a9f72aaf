"""The workflows that fault trials run: small, without people, and between them every kind of step.

Each begins with a timer, so that everything after it is done by a worker. Whatever else is broken, a run of one of these leaves
the same steps, signals and calls behind: nothing in them depends on which of two things comes first.
"""

TIMER = """
workflow: fault-timer
title: Two timers
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - {id: first_note, set: {n: 1}}
  - {id: pause, wait: {for: PT0.05S}}
  - {id: second_note, set: {n: "${state.n + 1}"}}
"""

CALL = """
workflow: fault-call
title: Two calls
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - id: ask
    call: {python: {function: fault_ledger, args: {key: "${instance.id + '/ask'}"}}, key: "${instance.id + '/ask'}"}
  - id: tell
    call: {python: {function: fault_ledger, args: {key: "${instance.id + '/tell'}"}}, key: "${instance.id + '/tell'}"}
  - {id: keep, set: {told: "${result.tell.key}"}}
"""

RETRY = """
workflow: fault-retry
title: A call that fails each time
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - id: ask
    call:
      python: {function: fault_ledger, args: {key: "${instance.id + '/no'}", fails: true}}
      key: "${instance.id + '/no'}"
    retry: {attempts: 2, delay: PT0.05S}
    on_error: [{steps: [{id: excuse, set: {refused: true}}]}]
"""

PARALLEL = """
workflow: fault-parallel
title: A signal from one branch to another, and a race that both may win
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - id: both
    parallel:
      branches:
        listener: [{id: hear, signal: {name: fault_word, key: "${instance.id}"}}]
        speaker:
          - {id: breath, wait: {for: PT0.02S}}
          - {id: say, emit: {signal: fault_word, key: "${instance.id}", payload: {n: 7}, ttl: PT1H}}
  - {id: each, for_each: {each: [1, 2, 3], steps: [{id: rest, wait: {for: PT0.01S}}, {id: mark, set: {x: "${item}"}}]}}
  - id: race
    first:
      branches:
        soon: [{id: quick, wait: {for: PT0.01S}}]
        never: [{id: nobody, signal: {name: fault_silence, key: "${instance.id}"}}]
  - {id: sum, set: {n: "${result.hear.n}"}}
"""

CHILD = """
workflow: fault-child
title: A child
input: {type: object, properties: {n: {type: integer}}}
output: {n: "${start.n + 1}"}
steps:
  - {id: nap, wait: {for: PT0.02S}}
"""

FAMILY = """
workflow: fault-family
title: A parent of one child and one successor
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - {id: child, workflow: {name: fault-child, input: {n: 1}}}
  - {id: heir, continue_with: {name: fault-child, input: {n: 9}}}
  - {id: keep, set: {n: "${result.child.n}"}}
"""

TASK = """
workflow: fault-task
title: Tasks that nobody answers in time
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - id: review
    task: {title: Review, outcomes: [approve, reject], on_expire: {outcome: reject}}
    timeout: PT0.05S
  - id: chores
    any_order:
      steps: [{id: sweep, task: {title: Sweep}}, {id: wash, task: {title: Wash}}]
    timeout: PT0.05S
    on_timeout: []
  - {id: keep, set: {outcome: "${result.review.outcome}"}}
"""

AUTOMATIC = """
workflow: fault-automatic
title: Every kind of step that waits for nobody
steps:
  - {id: begin, wait: {for: PT0.01S}}
  - {id: name, reference: {key: "${'F-' + instance.id}"}}
  - {id: note, set: {n: 1}}
  - {id: table, decide: {inputs: {n: "${state.n}"}, rows: [{when: {n: 1}, then: one}], default: other}}
  - {id: fork, if: state.n == 1, then: [{id: so, set: {forked: true}}]}
  - {id: lane, switch: {cases: [{when: state.n == 1, steps: [{id: left, set: {lane: 1}}]}], default: []}}
  - {id: rounds, repeat: {times: 3, steps: [{id: again, set: {n: "${state.n + 1}"}}, {id: leave, exit: rounds}]}}
  - {id: tries, selector: {steps: [{id: refuse, fail: {code: no, message: No}}, {id: accept, set: {ok: true}}]}}
  - {id: plan, graph: {steps: [{id: one, set: {a: 1}}, {id: two, set: {b: 1}, needs: [one]}]}}
  - {id: flow, net: {steps: [{id: source, set: {s: 1}, next: [sink]}, {id: sink, set: {t: 1}}]}}
  - id: booking
    group: {steps: [{id: book, set: {booked: true}, undo: [{id: unbook, set: {booked: false}}]}]}
  - {id: regret, compensate: {step: booking}}
  - {id: own, fault_note: {key: own}}
  - id: sides
    parallel:
      branches:
        idle: [{id: idler, wait: {for: PT1H}}]
        busy: [{id: stop, cancel: {steps: [idler]}}]
  - {id: done, complete: DONE}
"""

_SOWN = ("timer", "call", "retry", "parallel", "family", "task", "automatic")

SEED = f"""
workflow: fault-seed
title: Start all the others, five times
steps:
  - {{id: begin, wait: {{for: PT0.01S}}}}
  - id: rounds
    repeat:
      times: 5
      steps: [{", ".join(f"{{id: sow_{name}, continue_with: {{name: fault-{name}}}}}" for name in _SOWN)}]
"""

SOURCES = {
    "fault-timer": TIMER,
    "fault-call": CALL,
    "fault-retry": RETRY,
    "fault-parallel": PARALLEL,
    "fault-child": CHILD,
    "fault-family": FAMILY,
    "fault-task": TASK,
    "fault-automatic": AUTOMATIC,
    "fault-seed": SEED,
}
"""By name, in the order in which they must be activated."""

STARTED = tuple(f"fault-{name}" for name in _SOWN)
"""What a trial starts by itself, one by one."""

SOWER = "fault-seed"
"""What starts all of them by the dozen, through workers."""
