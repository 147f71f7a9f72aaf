"""What is found of a definition and the workflows around it: unfit input of children, and workflows that start themselves."""

import pytest

from engine.kernel.language.normalizer import normalize
from engine.kernel.language.validation.sub_workflows import Aside, check_around
from engine.kernel.signals import Json


def canonical(name: str, steps: str, head: str = "") -> dict[str, Json]:
    found = normalize(f"workflow: {name}\ntitle: {name}\n{head}\nsteps:\n{steps}\n")
    assert found.canonical is not None, found.findings
    return found.canonical


def asides(own: dict[str, Json], *others: dict[str, Json]) -> list[Aside]:
    return list(check_around(own, {str(one["workflow"]): one for one in others}))


CHILD = canonical(
    "child",
    "  - {id: a, set: {a: 1}}",
    "input: {type: object, required: [n, m], additionalProperties: false, "
    "properties: {n: {type: integer}, m: {type: integer, default: 1}, t: {type: string}}}",
)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("{n: 1}", []),
        ('{n: "${start.x}"}', []),
        ("{}", ["n"]),
        ("{n: many}", ["n"]),
        ("{n: 1, t: 5}", ["t"]),
        ("{n: 1, other: 5}", ["other"]),
    ],
)
@pytest.mark.parametrize("kind", ["workflow", "continue_with"])
def test_input_that_a_child_cannot_take_is_found(kind: str, given: str, named: list[str]) -> None:
    own = canonical("own", f"  - {{id: sub, {kind}: {{name: child, input: {given}}}}}")
    found = asides(own, CHILD)
    assert [(one.step, one.code) for one in found] == [("sub", "child_input") for _ in named]
    for one, name in zip(found, named, strict=True):
        assert "`child`" in one.message
        assert name in one.message


ON = "  - {id: on, continue_with: {name: own}}"


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (ON, ["on"]),
        ("  - {id: t, task: {title: T}}\n" + ON, []),
        ("  - {id: t, wait: {for: PT1H}}\n" + ON, []),
        ("  - {id: t, when: '${1 == 2}', wait: {for: PT1H}}\n" + ON, ["on"]),
        ("  - {id: g, group: [{id: t, task: {title: T}}]}\n" + ON, []),
        ("  - {id: i, if: '1 == 2', then: [{id: t, task: {title: T}}]}\n" + ON, ["on"]),
        ("  - {id: i, if: '1 == 2', then: [{id: t, task: {title: T}}], else: [{id: u, wait: {for: PT1H}}]}\n" + ON, []),
        ("  - {id: all, for_each: {each: '${[1]}', steps: [{id: sub, workflow: {name: own}}]}}", ["sub"]),
        ("  - {id: sub, workflow: {name: waiting}}\n" + ON, []),
        ("  - {id: sub, workflow: {name: quick}}\n" + ON, ["on"]),
        ("  - {id: sub, workflow: {name: back}}", ["sub"]),
        ("  - {id: shout, emit: {event: heard}}", ["shout"]),
    ],
)
def test_a_workflow_that_starts_itself_without_a_wait_is_found(steps: str, found: list[str]) -> None:
    own = canonical("own", steps.replace("'${1 == 2}'", "1 == 2"), "trigger: event\nevent: {name: heard}")
    around = (
        canonical("waiting", "  - {id: t, task: {title: T}}"),
        canonical("quick", "  - {id: a, set: {a: 1}}"),
        canonical("back", "  - {id: b, emit: {event: heard}}"),
    )
    assert [one.step for one in asides(own, *around) if one.code == "starts_itself"] == found
