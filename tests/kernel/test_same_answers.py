"""A simulation answers each act as the platform would: the same refusals, by the same codes, in the same order.

That the platform does so is shown by tests/conformance, which plays these very templates through the services too.
"""

import json

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.normalizer import normalize_set
from engine.kernel.program import Definition
from engine.kernel.simulator import run_tests

TEMPLATES = """
workflow: late-signal
steps: [{id: s, signal: hello}]
tests:
  - {name: nobody hears a signal when the case is over, start: {}, do: [{signal: hello}, {signal: hello, refused: status}], expect: {status: completed}}
---
workflow: claimed
steps: [{id: a, task: {title: A, roles: [x]}}]
tests:
  - name: a claim gives the task to who made it until it is released
    people: {ann: {roles: [x]}, bob: {roles: [x]}, low: {roles: [x], level: 2}}
    start: {}
    do:
      - {release: a, by: ann, refused: status}
      - {claim: a, by: ann}
      - {claim: a, by: ann}
      - {expect: {tasks: {a: {status: claimed, assignee: ann}}}}
      - {complete: a, by: bob, refused: claimed}
      - {release: a, by: low, refused: not_found}
      - {release: a, by: bob}
      - {expect: {tasks: {a: {status: open, assignee: null}}}}
      - {complete: a, by: bob}
      - {complete: a, by: bob, refused: answered}
      - {complete: a, by: ann, refused: closed}
      - {release: a, by: ann, refused: status}
    expect: {status: completed}
---
workflow: given
steps: [{id: a, task: {title: A, assignee: ann}}]
tests:
  - name: whoever is given a task has it, and the offer goes along
    people: {low: {level: 2}}
    start: {}
    do:
      - {complete: a, by: bob, refused: not_candidate}
      - {complete: a, by: low, refused: not_found}
      - {assign: a, with: bob, by: low, refused: not_found}
      - {assign: a, with: low, refused: level}
      - {assign: a, with: bob}
      - {expect: {tasks: {a: {status: open, assignee: bob}}}}
      - {claim: a, by: bob}
      - {assign: a, with: {user: null}}
      - {complete: a, by: ann, refused: not_candidate}
      - {complete: a}
      - {assign: a, with: ann, refused: closed}
    expect: {status: completed, results: {a: {by: bob}}}
---
workflow: once
reference: {key: "${start.number}", unique: true}
input: {type: object, properties: {number: {type: string}}}
steps: [{id: a, task: {title: A}}]
tests:
  - name: one live case a reference
    start: {number: A-1}
    do:
      - {start: {number: A-1}, name: two, refused: reference}
      - {start: {number: A-2}, name: other}
      - {complete: a}
      - {start: {number: A-1}, name: again}
    expect: {status: completed, started: {once: 2}, instances: {again: {status: running}}}
---
workflow: parent-of-once
steps:
  - parallel:
      branches:
        a: [{id: first, workflow: {name: once, input: {number: A-1}}}]
        b: [{id: second, workflow: {name: once, input: {number: A-1}}, on_error: [{match: "error.code == 'reference'", steps: [{id: note, set: {refused: true}}]}]}]
tests:
  - {name: a child under a reference in use fails its step, start: {}, expect: {state: {refused: true}, started: {once: 1}}}
---
workflow: four-eyes
steps:
  - {id: a, task: {title: A, roles: [x], min_level: 5}}
  - {id: b, task: {title: B, roles: [x], min_level: 5, not_same_as: [a]}}
  - {id: c, task: {title: C, roles: [x], same_as: [a]}}
  - {id: d, task: {title: D, roles: [x], complete_when: done >= 3}}
tests:
  - name: somebody is one who may
    start: {}
    answers: {a: {}, b: {}, c: {}, d: {}}
    expect: {status: completed}
  - name: one of the cast who may comes first
    people: {low: {roles: [x], level: 2}, ann: {roles: [x], level: 5}, bob: {roles: [x], level: 5}}
    start: {}
    do: [{complete: a}, {complete: b}, {complete: c}]
    expect: {results: {a: {by: ann}, b: {by: bob}, c: {by: ann}}}
---
workflow: files
steps:
  - id: a
    task:
      title: A
      outcomes: {ok: {title: OK}, no: {title: No, reject: true}}
      attachments: {types: [pdf], required: true, max: 1}
  - {id: b, task: {title: B}}
tests:
  - name: the files that are asked for
    start: {}
    do:
      - {complete: a, with: {outcome: ok}, refused: invalid}
      - {complete: a, with: {outcome: ok, attachments: [a.exe]}, refused: invalid}
      - {complete: a, with: {outcome: ok, attachments: [a.pdf, b.pdf]}, refused: limit}
      - {complete: a, with: {outcome: ok}}
      - {complete: b, with: {attachments: [a.pdf]}, refused: refused}
    expect: {status: running, tasks: [b]}
  - {name: a rejection needs none, start: {}, do: [{complete: a, with: {outcome: no}}], expect: {tasks: [b]}}
---
workflow: answers
steps:
  - id: a
    task:
      title: A
      outcomes: {ok: {title: OK}, no: {title: No, reject: true}}
      comment: on_reject
      payload: {fixed: 1, free: 2, empty: null}
      form: {type: object, properties: {fixed: {type: integer, readOnly: true}, free: {type: integer}, empty: {type: integer}, scan: {type: string, format: file}}}
tests:
  - name: what an answer must hold
    start: {}
    do:
      - {complete: a, refused: invalid}
      - {complete: a, with: {outcome: maybe}, refused: invalid}
      - {complete: a, with: {outcome: no, comment: "  "}, refused: comment_required}
      - {complete: a, with: {outcome: no, free: word}, refused: comment_required}
      - {complete: a, with: {outcome: ok, free: word}, refused: invalid}
      - {complete: a, with: {outcome: ok, scan: a.pdf}, refused: invalid}
      - {complete: a, with: {outcome: ok, scan: a.pdf, attachments: a.pdf, fixed: 9, free: 3}}
    expect: {results: {a: {fixed: 1, free: 3, scan: a.pdf}}}
---
workflow: skipped
steps: [{id: a, task: {title: A, allow: [skip]}}, {id: b, task: {title: B}}]
tests:
  - {name: a skip says why, start: {}, do: [{skip: a, with: " ", refused: invalid}, {skip: a, with: {reason: away}}, {skip: b, refused: refused}], expect: {tasks: [b]}}
---
workflow: limited
limits: {concurrent: 1}
steps: [{id: a, task: {title: A}}, {id: s, signal: go}]
tests:
  - name: who waits for a turn hears nothing, and begins when there is room
    start: {}
    do:
      - {start: {}, name: two}
      - {signal: go, in: two, refused: status}
      - {expect: {instances: {two: {status: queued}}}}
      - {complete: a}
      - {signal: go, delivered: 1}
      - {complete: a, in: two}
    expect: {status: completed, instances: {two: {status: running}}}
---
workflow: keyed
input: {type: object, properties: {key: {type: string}}}
steps: [{id: s, signal: {name: go, key: "${start.key}"}}]
tests:
  - name: the oldest wait, or all
    start: {key: k}
    do:
      - {start: {key: k}, name: two}
      - {start: {key: k}, name: three}
      - {signal: go, key: k, delivered: 1}
      - {signal: go, key: k, all: true, delivered: 2}
      - {signal: go, key: k, delivered: 0, ttl: PT1H}
      - {signal: go, key: k, by: low, refused: level}
      - {start: {key: k}, name: four}
    people: {low: {level: 3}}
    expect: {status: completed, instances: {three: {status: completed}, four: {status: completed}}}
---
workflow: stands-still
on: [{signal: hey, steps: [{id: heard, task: {title: Heard}}]}]
steps: [{id: broken, call: {python: nothing}}]
tests:
  - name: an incident holds back what comes
    start: {}
    calls: {broken: {error: transport, code: no_answer}}
    do: [{signal: hey, delivered: 0}]
    expect: {status: incident, tasks: []}
---
workflow: bad-child
steps: [{id: c, workflow: {name: once, input: {number: 5}}, on_error: [{steps: [{id: note, set: {code: "${error.code}"}}]}]}]
tests:
  - {name: a child whose input does not fit fails its step, start: {}, expect: {status: completed, state: {code: invalid_input}}}
"""


def definitions() -> dict[str, Definition]:
    """Compile every template of this page."""
    found = normalize_set(TEMPLATES, allow_not_yet=True)
    for one in found:
        assert one.canonical is not None, one.findings
    made = [compile_definition(json.loads(json.dumps(one.canonical))) for one in found]
    return {one.name: one for one in made}


DEFINITIONS = definitions()


@pytest.mark.parametrize("name", DEFINITIONS)
def test_act_is_answered_as_the_platform_would(name: str) -> None:
    reports = run_tests(DEFINITIONS[name], DEFINITIONS)
    assert reports
    assert [(one.name, one.failures) for one in reports if not one.passed] == []
