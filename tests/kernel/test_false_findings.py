"""Sixty small templates: typical mistakes are found, each at a path; what is right is not accused."""

import pytest

from engine.kernel.language.normalizer import normalize

MISTAKES = {
    "handler behind one that takes all": (
        "steps: [{call: {python: f}, on_error: [{steps: []}, {match: error.code == 'x', steps: [{set: {x: 1}}]}]}]",
        "unreachable",
    ),
    "expired answer with a field that the form lacks": (
        (
            "steps: [{id: r, task: {title: R, form: {type: object, properties: {note: {type: string}}}, on_expire: "
            "{outcome: done, nota: late}}, timeout: P1D}]"
        ),
        "unknown_field",
    ),
    "required field that the form lacks": (
        "steps: [{task: {title: R, form: {type: object, required: [nota], properties: {note: {type: string}}}}}]",
        "unknown_field",
    ),
    "no branches": ("steps: [{parallel: {branches: {}}}]", "nothing_inside"),
    "no cases": ("steps: [{switch: {cases: []}}]", "nothing_inside"),
    "later result": (
        (
            "steps: [{set: {x: '${result.b.n}'}}, {id: b, task: {title: B, form: {type: object, propert"
            "ies: {n: {type: integer}}}}}]"
        ),
        "maybe_absent",
    ),
    "branch result": (
        "steps: [{if: start.x, then: [{id: b, call: {python: f}}]}, {set: {x: '${result.b}'}}]",
        "maybe_absent",
    ),
    "after first": (
        (
            "steps: [{first: {branches: {a: [{id: a, task: {title: A}}], b: [{id: b, wait: {for: P1D}}]"
            "}}}, {set: {x: '${result.a.by}'}}]"
        ),
        "maybe_absent",
    ),
    "item result after for_each": (
        ("steps: [{for_each: {each: [1], steps: [{id: a, task: {title: A}}]}}, {set: {x: '${result.a.by}'}}]"),
        "maybe_absent",
    ),
    "outcome typo in": (
        (
            'steps: [{id: r, task: {title: R, outcomes: [approve, reject]}}, {if: "result.r.outcome in '
            "['aprove', 'reject']\", then: [{set: {x: 1}}]}]"
        ),
        "unknown_outcome",
    ),
    "outcome typo switch": (
        (
            "steps: [{id: r, task: {title: R, outcomes: [approve, reject]}}, {switch: {cases: [{when: r"
            "esult.r.outcome == 'rejected', steps: [{set: {x: 1}}]}]}}]"
        ),
        "unknown_outcome",
    ),
    "outcome typo default": (
        ("steps: [{id: r, task: {title: R}}, {if: result.r.outcome == 'approve', then: [{set: {x: 1}}]}]"),
        "unknown_outcome",
    ),
    "field typo": (
        (
            "steps: [{id: r, task: {title: R, form: {type: object, properties: {note: {type: string}}}}"
            "}, {set: {x: '${result.r.notes}'}}]"
        ),
        "unknown_field",
    ),
    "start field typo": (
        ("input: {type: object, properties: {amount: {type: number}}}\nsteps: [{set: {x: '${start.amout}'}}]"),
        "unknown_field",
    ),
    "on_timeout beside on_expire": (
        ("steps: [{id: r, task: {title: R, on_expire: {outcome: done}}, timeout: P1D, on_timeout: [{set: {x: 1}}]}]"),
        "unreachable",
    ),
    "unreach after exit": ("steps: [{repeat: {times: 3, steps: [{exit: }, {set: {x: 1}}]}}]", "unreachable"),
    "unreach after if both end": (
        "steps: [{if: start.x, then: [{complete: A}], else: [{complete: B}]}, {set: {x: 1}}]",
        "unreachable",
    ),
    "unreach after switch all end": (
        (
            "steps: [{switch: {cases: [{when: start.x, steps: [{fail: {code: a}}]}], default: [{complet"
            "e: B}]}}, {set: {x: 1}}]"
        ),
        "unreachable",
    ),
    "dup ids across branches": (
        (
            "steps:\n  - parallel:\n      branches:\n        a: [{id: x, task: {title: A}}]\n        b: [{i"
            "d: x, task: {title: B}}]"
        ),
        "duplicate_id",
    ),
    "dup ids handler": (
        "on: [{signal: s, steps: [{id: x, set: {a: 1}}]}]\nsteps: [{id: x, set: {a: 1}}]",
        "duplicate_id",
    ),
    "bad cron": ("schedule: {cron: '61 * * * *'}\nsteps: [{set: {x: 1}}]", "cron_value"),
    "bad tz": ("schedule: {cron: '@daily', timezone: Europe/Nowhere}\nsteps: [{set: {x: 1}}]", "zone_unknown"),
    "bad window": ("schedule: {cron: '@daily', window: 1h}\nsteps: [{set: {x: 1}}]", "bad_duration"),
    "neg duration": ("steps: [{wait: {for: -P1D}}]", "bad_duration"),
    "cancel unknown": ("steps: [{cancel: {steps: [nobody]}}]", "unknown_step"),
    "exit unknown": ("steps: [{exit: nobody}]", "unknown_step"),
    "complete unknown step": ("steps: [{complete: {step: nobody}}]", "unknown_step"),
    "decide overlap first": (
        (
            "steps: [{decide: {inputs: {a: '${start.a}'}, rows: [{when: {a: {lt: 9}}, then: 1}, {when: "
            "{a: {lt: 5}}, then: 2}], default: 3}}]"
        ),
        "table_row_unused",
    ),
    "min_level starter": (
        "starters: {min_level: 2}\nsteps: [{task: {title: A, users: ['${instance.started_by}']}}]",
        "starter_level",
    ),
    "min_level below": ("starters: {min_level: 1}\nsteps: [{task: {title: A}}]", "wrong_type"),
    "error cond": (
        ("steps: [{call: {python: f}, on_error: [{match: error.code == 'x', steps: [{set: {a: '${error.codee}'}}]}]}]"),
        "unknown_part",
    ),
    "payload unknown": ("output: {x: '${result.nobody}'}\nsteps: [{set: {a: 1}}]", "unknown_step"),
}
RIGHT = {
    "guarded has": (
        "steps: [{if: start.x, then: [{id: b, call: {python: f}}]}, {if: has(result.b), then: [{set"
        ": {x: '${result.b}'}}]}]"
    ),
    "ternary guard": (
        'steps: [{if: start.x, then: [{id: b, call: {python: f}}]}, {set: {x: "${has(result.b) ? result.b : 1}"}}]'
    ),
    "same branch cond": (
        "steps: [{id: b, when: start.x, call: {python: f}}, {when: has(result.b), set: {x: '${result.b}'}}]"
    ),
    "status guard": (
        "steps: [{id: b, call: {python: f}, allow_failure: true}, {if: status.b == 'success', then:"
        " [{set: {x: '${result.b}'}}]}]"
    ),
    "if both branches": (
        "steps: [{if: start.x, then: [{id: b, call: {python: f, into: k}}], else: [{id: c, call: {p"
        "ython: f, into: k}}]}, {set: {x: '${result.k}'}}]"
    ),
    "on_error sure result": (
        "steps: [{id: a, call: {python: f}, on_error: [{steps: [{fail: {code: z}}]}]}, {set: {x: '${result.a}'}}]"
    ),
    "on_error by_hand": (
        "steps: [{id: a, call: {python: f}, on_error: [{steps: [{id: h, task: {title: H}}]}]}, {set"
        ': {x: "${has(result.h) ? 1 : 0}"}}]'
    ),
    "on_timeout task": (
        "steps: [{id: a, task: {title: A}, timeout: P1D, on_timeout: [{set: {late: true}}]}, {if: r"
        "esult.a.expired, then: [{set: {x: 1}}]}]"
    ),
    "repeat until own": (
        "steps: [{repeat: {until: result.a.outcome == 'ok', steps: [{id: a, task: {title: A, outcom"
        "es: [ok, again]}}]}}, {set: {x: '${result.a.by}'}}]"
    ),
    "repeat while": ("steps: [{set: {n: 0}}, {repeat: {while: state.n < 3, steps: [{set: {n: '${state.n + 1}'}}]}}]"),
    "previous round": (
        "steps: [{repeat: {times: 2, steps: [{id: a, task: {title: \"A ${has(result.a) ? result.a.by : ''}\"}}]}}]"
    ),
    "parallel all": (
        "steps: [{parallel: {branches: {a: [{id: a, task: {title: A}}], b: [{id: b, task: {title: B"
        "}}]}}}, {set: {x: '${result.a.by + result.b.by}'}}]"
    ),
    "graph ref": "steps: [{graph: {steps: [{id: a, call: {python: f}}, {id: b, set: {x: '${result.a}'}}]}}]",
    "for_each output": (
        "steps: [{id: f, for_each: {each: [1, 2], steps: [{id: a, task: {title: A}}]}, output: '${r"
        "esult.a.by}'}, {set: {x: '${result.f[0]}'}}]"
    ),
    "outcome quoted other side": (
        "steps: [{id: r, task: {title: R, outcomes: [approve, reject]}}, {if: \"'approve' == result."
        'r.outcome", then: [{set: {x: 1}}]}]'
    ),
    "outcome null": (
        "steps: [{id: r, task: {title: R, outcomes: [approve]}, timeout: P1D, on_timeout: []}, {if:"
        " result.r.outcome == null, then: [{set: {x: 1}}]}]"
    ),
    "on_expire other outcome": (
        "steps: [{id: r, task: {title: R, outcomes: [ok, no], on_expire: {outcome: no}}, timeout: P1D}]"
    ),
    "on_expire expr": (
        "steps: [{id: r, task: {title: R, outcomes: [ok, no], on_expire: {outcome: \"${start.x ? 'ok"
        "' : 'no'}\"}}, timeout: P1D}]"
    ),
    "complete_when results": (
        'steps: [{id: r, task: {title: R, users: [a, b], outcomes: [ok, no], complete_when: "result'
        "s.exists(x, x.outcome == 'no') || done == 2\"}}, {if: \"result.r.answers.all(x, x.outcome =="
        " 'ok')\", then: [{set: {x: 1}}]}]"
    ),
    "exit inside if": "steps: [{repeat: {times: 3, steps: [{if: start.x, then: [{exit: }]}, {set: {x: 1}}]}}]",
    "exit named": "steps: [{id: g, group: {steps: [{if: start.x, then: [{exit: g}]}, {set: {x: 1}}]}}]",
    "cancel sibling": (
        "steps: [{parallel: {branches: {a: [{id: a, task: {title: A}}], b: [{id: b, task: {title: B"
        "}}, {cancel: {steps: [a]}}]}}}]"
    ),
    "undo": (
        "steps: [{id: a, call: {python: f}, undo: [{call: {python: g}}]}, {id: b, call: {python: f}"
        ", on_error: [{steps: [{compensate: a}, {fail: {code: z}}]}]}]"
    ),
    "head handler": (
        "on: [{signal: stop, interrupting: true, steps: [{cancel: case}]}]\nsteps: [{id: a, task: {title: A}}]"
    ),
    "head handler reads": (
        "on: [{signal: stop, interrupting: true, steps: [{if: has(result.a), then: [{set: {x: '${re"
        "sult.a.by}'}}]}]}]\nsteps: [{id: a, task: {title: A}}, {id: b, task: {title: B}}]"
    ),
    "first branch result": (
        "steps: [{id: f, first: {branches: {a: [{id: a, task: {title: A}}], b: [{id: b, wait: {for:"
        " P1D}}]}}}, {if: result.f.branch == 'a', then: [{set: {x: '${result.a.by}'}}]}]"
    ),
    "switch default": (
        "steps: [{id: r, task: {title: R, outcomes: [a, b, c]}}, {switch: {cases: [{when: result.r."
        "outcome == 'a', steps: [{set: {x: 1}}]}, {when: result.r.outcome == 'b', steps: [{set: {x:"
        " 2}}]}], default: [{set: {x: 3}}]}}]"
    ),
    "escalation caught": (
        "steps: [{group: {steps: [{emit: {escalation: late}}]}, on: [{escalation: late, steps: [{set: {x: 1}}]}]}]"
    ),
    "same field name": (
        "steps: [{id: r, task: {title: R, form: {type: object, properties: {outcome_note: {type: st"
        "ring}}}}}, {set: {x: '${get(result.r, \"outcome_note\", 1)}'}}]"
    ),
    "allOf form": (
        "steps: [{id: r, task: {title: R, form: {type: object, properties: {a: {type: string}}, req"
        "uired: [a], if: {properties: {a: {const: x}}}, then: {required: [b], properties: {b: {type"
        ": string}}}}}}, {when: has(result.r.b), set: {x: '${result.r.b}'}}]"
    ),
    "decide numeric": (
        "steps: [{id: d, decide: {inputs: {a: '${start.a}'}, rows: [{when: {a: {lt: 5}}, then: low}"
        ", {when: {a: {ge: 5}}, then: high}]}}, {set: {x: '${result.d}'}}]"
    ),
    "decide bool": (
        "steps: [{id: d, decide: {inputs: {a: '${start.a}'}, rows: [{when: {a: true}, then: low}, {"
        "when: {a: false}, then: high}]}}]"
    ),
    "decide enum": (
        "input: {type: object, properties: {a: {enum: [x, y]}}}\nsteps: [{id: d, decide: {inputs: {a"
        ": '${start.a}'}, rows: [{when: {a: x}, then: low}, {when: {a: y}, then: high}]}}]"
    ),
    "workflow result": (
        "steps: [{id: s, workflow: {name: k}}, {if: result.s.outcome == 'OK', then: [{set: {x: '${r"
        "esult.s.anything}'}}]}]"
    ),
    "selector result": (
        "steps: [{id: s, selector: {steps: [{id: a, call: {python: f}}, {id: b, call: {python: g}}]"
        "}}, {set: {x: '${result.s}'}}]"
    ),
    "group result": "steps: [{id: g, group: {steps: [{id: a, call: {python: f}}]}}, {set: {x: '${result.a}'}}]",
    "early complete guard": (
        "steps: [{if: start.x, then: [{complete: NO}], else: [{id: a, call: {python: f}}]}, {set: {x: '${result.a}'}}]"
    ),
    "output has": "output: {p: '${has(result.a)}'}\nsteps: [{if: start.x, then: [{id: a, call: {python: f}}]}]",
    "reminder bounded": (
        "steps: [{task: {title: A}, timeout: P9D, reminders: [{every: P1D, times: 3, steps: [{call:"
        " {python: f}}]}], on_timeout: []}]"
    ),
    "any_order needs": (
        "steps: [{any_order: {steps: [{id: a, task: {title: A}}, {id: b, task: {title: B}, needs: [a]}]}}]"
    ),
    "not_same_as start": "steps: [{task: {title: A, roles: [x], not_same_as: [start]}}]",
    "wait until": "steps: [{wait: {until: '${start.day + \"T08:00:00Z\"}'}}]",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_typical_mistake_is_found_where_it_is(name: str) -> None:
    source, code = MISTAKES[name]
    findings = normalize(f"workflow: x\n{source}").findings
    assert code in [finding.code for finding in findings]
    assert all(finding.path and finding.line > 1 for finding in findings)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not_accused(name: str) -> None:
    assert normalize(f"workflow: x\n{RIGHT[name]}").findings == ()


def test_way_out_of_a_loop_leaves_results_in_doubt() -> None:
    body = "[{if: start.x, then: [{exit: }], else: [{id: a, call: {python: f}}]}]"
    source = f"workflow: x\nsteps: [{{repeat: {{times: 2, steps: {body}}}}}, {{set: {{x: '${{result.a}}'}}}}]"
    assert [finding.code for finding in normalize(source).findings] == ["maybe_absent"]
