"""A misspelt test is red, and says which word means nothing and which may be meant: else it would be green whatever happens."""

import json
from typing import Any

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import normalize_set
from engine.kernel.simulator import run_test
from engine.kernel.simulator.acts import ACTS
from engine.kernel.simulator.expectations import _task_as_json, describe
from engine.kernel.simulator.player import Play
from engine.kernel.simulator.unknown_words import ACT_KEYS, SHOWN, TASK_WORDS

SOURCE = """
workflow: main
steps:
  - {id: send, call: {python: send}}
  - {id: review, task: {title: Review, roles: [finance], outcomes: [approve, reject]}}
  - {id: sub, workflow: {name: kid}}
  - {id: heard, signal: paid}
  - {id: each, for_each: {each: [1], add: {signal: more, close: enough}, steps: [{id: item, task: {title: Item}}]}}
---
workflow: kid
steps: [{id: ask, task: {title: Ask}}]
"""
MAIN, KID = [compile_definition(json.loads(json.dumps(one.canonical))) for one in normalize_set(SOURCE)]
ANN = {"people": {"ann": {"roles": ["finance"]}}}
DONE = [{"complete": "review", "with": {"outcome": "approve"}}]


def failures(test: dict[str, Any]) -> list[str]:
    return list(run_test(MAIN, {"name": "tried", **test}, {"kid": KID}).failures)


WORDS: list[tuple[dict[str, Any], str]] = [
    ({"anwers": {}}, "a test has no key anwers; did you mean `answers`?"),
    ({"people": {"ann": {"rols": []}}}, "ann has roles, a level and a manager, no key rols; did you mean `roles`?"),
    (
        {"people": {"ann": {"roles": ["finanse"]}}},
        "no workflow at hand knows the role finanse; did you mean `finance`?",
    ),
    ({**ANN, "as": "anne"}, "as: there is no anne among the people; did you mean `ann`?"),
    ({"answers": {"revew": {}}}, "answers: the workflow has no task named revew; did you mean `review`?"),
    ({"answers": {"sub/aks": {}}}, "answers: the workflow has no task named aks; did you mean `ask`?"),
    ({"answers": {"sup/ask": {}}}, "answers: there is no instance named sup; did you mean `sub`?"),
    ({"answers": {"send": {}}}, "answers: the workflow has no task named send"),
    ({**ANN, "answers": {"review": {"by": "anne"}}}, "answers: there is no anne among the people"),
    ({"calls": {"sent": {}}}, "calls: the workflow has no step named sent; did you mean `send`?"),
    ({"calls": {"send": {"resutl": 1}}}, "the answer to send has no key resutl; did you mean `result`?"),
    (
        {"calls": {"send": [{}, {"error": "busines"}]}},
        "there is no error class busines; did you mean `business`?",
    ),
    ({"signals": [{"name": "paid", "when": "P1D"}]}, "a signal has no key when"),
    ({"signals": [{"name": "payd"}]}, "signals: no step waits for a signal named payd; did you mean `paid`?"),
    ({"do": [{"compleet": "review"}]}, "act 1: unknown verb; did you mean `complete`?"),
    ({"do": ["review"]}, "act 1: unknown verb"),
    (
        {"do": [{"complete": "review", "wiht": {}}]},
        "act 1: complete has no key wiht; did you mean `with`?",
    ),
    ({"do": [{"complete": "review", "claim": "review"}]}, "act 1: complete has no key claim"),
    (
        {"do": [{"claim": "review"}, {"complete": "revew"}]},
        "act 2: the workflow has no task named revew; did you mean `review`?",
    ),
    ({"do": [{"complete": "ask"}]}, "act 1: the workflow has no task named ask"),
    ({"do": [{"complete": "aks", "in": "sub"}]}, "act 1: the workflow has no task named aks; did you mean `ask`?"),
    ({"do": [{"complete": "ask", "in": "sup"}]}, "act 1: there is no instance named sup; did you mean `sub`?"),
    (
        {"do": [{"start": {}, "name": "two"}, {"claim": "review", "in": "too"}]},
        "act 2: there is no instance named too; did you mean `two`?",
    ),
    (
        {**ANN, "do": [{"claim": "review", "by": "anne"}]},
        "act 1: there is no anne among the people; did you mean `ann`?",
    ),
    (
        {**ANN, "do": [{"assign": "review", "with": "anne"}]},
        "act 1: there is no anne among the people; did you mean `ann`?",
    ),
    (
        {"do": [{"claim": "review", "refused": "four_eye"}]},
        "act 1: there is no refusal code four_eye; did you mean `four_eyes`?",
    ),
    ({"do": [{"signal": "payd"}]}, "act 1: no step waits for a signal named payd; did you mean `paid`?"),
    ({"do": [{"signal": "paid", "all": True}]}, "act 1: all only works with key"),
    ({"do": [{"start": {}, "workflow": "mian"}]}, "there is no workflow named mian at hand; did you mean `main`?"),
    ({"do": [{"expect": {"statsu": "running"}}]}, "nothing named statsu can be expected; did you mean `status`?"),
    ({"expect": {"tasks": {"revew": 0}}}, "expect: the workflow has no task named revew; did you mean `review`?"),
    (
        {"expect": {"tasks": {"review": {"titel": "Review"}}}},
        "a task has no key titel; did you mean `title`?",
    ),
    ({"expect": {"runs": {"sned": []}}}, "expect: the workflow has no step named sned; did you mean `send`?"),
    ({"expect": {"task_runs": {"revew": []}}}, "expect: the workflow has no task named revew"),
    ({"expect": {"completed": ["revew"]}}, "expect: the workflow has no task named revew"),
    ({"expect": {"path": ["sned"]}}, "expect: the workflow has no step named sned"),
    ({"expect": {"calls": {"sned": 0}}}, "expect: the workflow has no step named sned"),
    ({"expect": {"requests": {"sned": []}}}, "expect: the workflow has no step named sned"),
    ({"expect": {"counts": {"sned": 0}}}, "expect: the workflow has no step named sned"),
    ({"expect": {"due": {"revew": None}}}, "expect: the workflow has no step named revew"),
    ({"expect": {"results": {"revew": {}}}}, "expect: the workflow has no step named revew"),
    ({"expect": {"order": [["send", "revew"]]}}, "expect: the workflow has no step named revew"),
    ({"expect": {"absent": ["results.revew"]}}, "expect: the workflow has no step named revew"),
    ({"expect": {"absent": ["stat.x"]}}, "nothing named stat can be absent; did you mean `state`?"),
    ({"expect": {"waits": {"tasks": 0}}}, "there is no kind of wait named tasks; did you mean `task`?"),
    ({"expect": {"started": {"kidd": 0}}}, "there is no workflow named kidd at hand; did you mean `kid`?"),
    ({"expect": {"instances": {"sup": {}}}}, "expect: there is no instance named sup; did you mean `sub`?"),
    ({"expect": {"instances": {"sub": {"tasks": {"aks": 0}}}}}, "expect: the workflow has no task named aks"),
    (
        {"expect": {"emitted": [{"singal": "x"}]}},
        "an emitted entry has no key singal; did you mean `signal`?",
    ),
    ({"expect": {"refused": "levle"}}, "expect: there is no refusal code levle; did you mean `level`?"),
    (
        {"expect": {"refused": {"cod": "level"}}},
        "a refusal has a code and fields, no key cod; did you mean `code`?",
    ),
]


@pytest.mark.parametrize(("test", "said"), WORDS, ids=[said[:60] for _, said in WORDS])
def test_word_that_means_nothing_is_told_with_the_one_that_may_be_meant(test: dict[str, Any], said: str) -> None:
    assert said in "\n".join(failures({"start": {}, **test}))


def test_what_is_looked_at_is_what_is_played() -> None:
    assert set(ACT_KEYS) == set(ACTS)
    play = Play({"kid": KID}, "kid", {"start": {}, "do": []})
    play.run()
    assert play.main is not None
    assert set(TASK_WORDS) == set(_task_as_json(play.main.open_tasks()[0]))
    assert set(SHOWN) == set(describe(play, play.main))


def test_misspelt_test_is_not_played() -> None:
    report = run_test(MAIN, {"name": "tried", "start": {}, "do": [{"complete": "revew"}]}, {"kid": KID})
    assert [(one.path, one.word) for one in report.misspelt] == [(("do", 0, "complete"), "revew")]
    assert len(report.failures) == 1


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (
            {"answers": {"review": {"outcome": "approve"}, "sub/ask": {}}, "do": DONE},
            "answers.review was never used: with `do`",
        ),
        (
            {"answers": {"review": {"outcome": "approve"}, "review[2]": {}}},
            "answers.review[2] was never used: no such task was there",
        ),
        ({"calls": {"send": {}, "send[1]": {}}}, "calls.send[1] was never used: no such call was made"),
    ],
)
def test_answer_that_nobody_asked_for_is_told(test: dict[str, Any], said: str) -> None:
    assert said in "\n".join(failures({"start": {}, **test}))


def test_refusal_by_another_code_is_told() -> None:
    test = {
        "start": {},
        "do": [{"complete": "review", "by": "eve", "with": {"outcome": "approve"}, "refused": "four_eyes"}],
    }
    assert failures(test) == [
        "act 1 (complete review) was refused as not_candidate: they are not a candidate of the task"
    ]


def test_what_may_stand_in_a_test_is_not_taken_for_a_slip() -> None:
    test = {
        "start": {},
        **ANN,
        "calls": {"send": {"result": {}}},
        "do": [
            {"claim": "review", "by": "bob", "refused": "not_candidate"},
            {"complete": "review", "by": "ann", "with": {"outcome": "approve"}},
            {"complete": "ask", "in": "sub"},
            {"signal": "unheard", "delivered": 0},
            {"start": {}, "name": "two"},
            {"expect": {"instances": {"two": {"tasks": {"review": 1}}}, "started": {"kid": 1, "main": 1}}},
            {"signal": "paid"},
            {"signal": "more"},
            {"signal": "enough"},
            {"complete": "item[0]"},
            {"complete": "item[1]"},
            {"complete": "item#2", "refused": "closed"},
        ],
        "expect": {"status": "completed", "runs": {"send": ["success"]}, "absent": ["results.review.comment.x"]},
    }
    assert failures(test) == []
