"""What a stored test can name: one occurrence of several, one child of several, the keys of calls."""

import os
from pathlib import Path
from typing import Any

import pytest

from engine.kernel.definition import Definition, compile_definition
from engine.kernel.language.normalizer import normalize
from engine.kernel.simulator import run_test
from tests.kernel.play import compiled

SHARED = Path(os.environ.get("WORKFLOW_SHARED", Path(__file__).parents[3] / "shared")) / "repro-language.yaml"

KID = compiled("workflow: kid\nsteps: [{id: ask, task: {title: Ask}}, {id: tell, call: {python: t}}]")
OUTER = compiled("""
workflow: outer
steps: [{id: f, for_each: {each: [a, b], steps: [{id: sub, workflow: {name: kid}}]}}]
""")
NESTED = compiled("""
workflow: nested
steps: [{id: r, for_each: {each: [1, 2], steps: [{id: far, workflow: {name: outer}}]}}]
""")
FOLLOWED = compiled("""
workflow: followed
steps: [{repeat: {times: 2, steps: [{id: go, continue_with: {name: kid}}]}}, {id: wait_here, task: {title: T}}]
""")
HOST = compiled("""
workflow: host
steps:
  - id: host
    task: {title: Host}
    on:
      - signal: doc
        steps: [{id: send, call: {python: s}, retry: {attempts: 2, delay: PT1M}}, {id: after, task: {title: After}}]
""")
OTHERS = {one.name: one for one in (KID, OUTER, NESTED, FOLLOWED, HOST)}
TWO_DOCS = [{"signal": "doc"}, {"signal": "doc"}]


def failures(definition: Definition, test: dict[str, Any]) -> tuple[str, ...]:
    """Play a test and say what went wrong."""
    return run_test(definition, {"start": {}, **test}, OTHERS).failures


GREEN: list[tuple[Definition, dict[str, Any]]] = [
    (
        HOST,
        {
            "do": [*TWO_DOCS, {"complete": "after[1]"}],
            "expect": {"tasks": {"host": 1, "after": 1, "after[0]": 1, "after[1]": 0}},
        },
    ),
    (HOST, {"do": [*TWO_DOCS, {"complete": "after[1]"}], "expect": {"tasks": ["after[0]", "host"]}}),
    (
        HOST,
        {
            "do": TWO_DOCS,
            "expect": {
                "tasks": ["host", "after", "after[1]"],
                "keys": {"send": ["instance:host/on.0/send[0]", "instance:host/on.0/send[1]"]},
            },
        },
    ),
    (
        HOST,
        {
            "do": [*TWO_DOCS, {"advance": "PT1M"}],
            "calls": {"send[1]": [{"error": "transport"}, {"result": 1}]},
            "expect": {"calls": {"send": 3}, "keys": {"send": "instance:host/on.0/send[1]"}},
        },
    ),
    (
        HOST,
        {
            "answers": {"after[1]": {}, "host": {}},
            "signals": [{"name": "doc"}, {"name": "doc"}],
            "expect": {"tasks": ["after[0]"]},
        },
    ),
    (OUTER, {"do": [{"complete": "sub/ask"}, {"complete": "sub/ask"}], "expect": {"status": "completed"}}),
    (
        OUTER,
        {"do": [{"complete": "sub[1]/ask"}], "expect": {"tasks": {"sub/ask": 1, "sub[0]/ask": 1, "sub[1]/ask": 0}}},
    ),
    (OUTER, {"do": [{"complete": "sub[1]/ask"}], "expect": {"tasks": ["sub[0]/ask"], "waits": {"child": 1}}}),
    (
        OUTER,
        {
            "do": [{"complete": "ask", "in": "sub[0]"}, {"complete": "ask", "in": "sub[1]"}],
            "expect": {"status": "completed"},
        },
    ),
    (
        OUTER,
        {
            "do": [{"complete": "ask", "in": "sub[1]", "by": "ann"}],
            "expect": {
                "instances": {
                    "sub[1]": {"status": "completed", "keys": {"tell": ["instance:tell"]}},
                    "sub[0]": {"tasks": ["ask"]},
                }
            },
        },
    ),
    (OUTER, {"answers": {"sub/ask": {}}, "expect": {"status": "completed"}}),
    (
        OUTER,
        {
            "answers": {"sub[1]/ask": {}},
            "calls": {"sub[1]/tell": {"error": "business", "code": "no"}},
            "expect": {"instances": {"sub[0]": {"status": "running"}, "sub[1]": {"status": "failed"}}},
        },
    ),
    (
        OUTER,
        {
            "do": [{"claim": "sub[1]/ask", "by": "ann"}, {"complete": "ask", "in": "sub[0]", "by": "bob"}],
            "expect": {"tasks": {"sub[1]/ask": {"status": "claimed"}}},
        },
    ),
    (
        NESTED,
        {
            "do": [{"complete": "far[1]/sub[0]/ask"}],
            "expect": {
                "instances": {
                    "far[1]/sub[0]": {"status": "completed"},
                    "far[1]/sub[1]": {"status": "running"},
                    "far[0]/sub[0]": {"status": "running"},
                }
            },
        },
    ),
    (
        NESTED,
        {
            "do": [{"complete": "sub[0]/ask", "in": "far[1]"}],
            "expect": {"instances": {"far[1]/sub[0]": {"status": "completed"}}},
        },
    ),
    (
        FOLLOWED,
        {
            "do": [{"complete": "ask", "in": "kid[1]"}],
            "expect": {"instances": {"kid[0]": {"status": "running"}, "kid[1]": {"status": "completed"}}},
        },
    ),
]


@pytest.mark.parametrize(("definition", "test"), GREEN)
def test_it_can_be_named(definition: Definition, test: dict[str, Any]) -> None:
    assert failures(definition, test) == ()


RED: list[tuple[Definition, dict[str, Any]]] = [
    (HOST, {"do": TWO_DOCS, "expect": {"tasks": ["host", "after[1]", "after[1]"]}}),
    (HOST, {"do": TWO_DOCS, "expect": {"tasks": {"after[2]": 1}}}),
    (HOST, {"do": TWO_DOCS, "expect": {"keys": {"send": ["instance:host/on.0/send[0]"]}}}),
    (HOST, {"do": TWO_DOCS, "expect": {"keys": {"send": "instance:host/on.0/send"}}}),
    (HOST, {"do": [{"complete": "after[1]"}]}),
    (OUTER, {"do": [{"complete": "sub[2]/ask"}]}),
    (OUTER, {"do": [{"complete": "nobody/ask"}]}),
    (OUTER, {"do": [{"complete": "ask", "in": "sub[2]"}]}),
    (OUTER, {"do": [{"complete": "sub/ask", "again": 2}]}),
    (OUTER, {"expect": {"instances": {"sub[2]": {}}}}),
    (OUTER, {"expect": {"tasks": {"sub/ask": 1}}}),
    (FOLLOWED, {"expect": {"instances": {"kid[2]": {}}}}),
]


@pytest.mark.parametrize(("definition", "test"), RED)
def test_what_is_not_there_is_not_found(definition: Definition, test: dict[str, Any]) -> None:
    assert failures(definition, test) != ()


@pytest.mark.skipif(not SHARED.exists(), reason="the shared folder is not here")
@pytest.mark.parametrize("number", ["R2", "R3", "R6"])
def test_what_the_issue_names_is_green(number: str) -> None:
    sources = [one for one in SHARED.read_text().split("\n---\n") if "\nsteps:" in one]
    made = [normalize(source, allow_not_yet=True).canonical for source in sources]
    definitions = {one["workflow"]: compile_definition(one) for one in made if one is not None}
    played = [
        run_test(definition, test, definitions)
        for definition in definitions.values()
        for test in definition.canonical.get("tests", ())
        if str(test["name"]).startswith(number)
    ]
    assert played
    assert [report.failures for report in played if not report.passed] == []
