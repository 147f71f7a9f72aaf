"""Every example of the language's page is a template whose tests are green."""

import re
from pathlib import Path
from typing import Any

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.custom_kinds import StepKind
from engine.kernel.language.normalizer import Normalized, normalize
from engine.kernel.language.shapes import ATTRIBUTES, HEAD
from engine.kernel.language.step_shapes import KINDS
from engine.kernel.machine.decorators import Decorator
from engine.kernel.simulator import SimulationSetup, run_tests

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
SETUP = SimulationSetup(
    decorator={
        "in_cents": Decorator(
            before=lambda given: {**given, "amount": given["amount"] * 100},
            after=lambda result: {**result, "paid": result["paid"] / 100},
        )
    }.get
)
"""What the page says is registered."""
LOOK_TWICE = """
workflow: look-twice
input: {type: object, required: [what], properties: {what: {type: string}}}
state: {seen: "${start.what}"}
output: {ok: "${result.look.outcome == 'good'}"}
steps: [{id: look, task: {title: "Look at ${start.what}", outcomes: [good, bad]}}]
"""


def _embeddable(name: str, _version: object) -> tuple[int, dict[str, object]] | None:
    canonical = normalize(LOOK_TWICE).canonical
    return (1, canonical) if name == "look-twice" and canonical is not None else None


def yes_or_no() -> StepKind:
    """Take the step kind that the page shows from the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    shown: dict[str, Any] = {"StepKind": StepKind}
    exec(code, shown)
    kind = shown["yes_or_no"]
    assert isinstance(kind, StepKind)
    return kind


EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def read_example(source: str) -> Normalized:
    """Read an example of the page, with the workflows and step kinds that the page mentions."""
    whole = source if source.startswith("workflow:") else f"workflow: example\n{source}"
    return normalize(whole, allow_not_yet=True, workflows=_embeddable, kinds={"yes_or_no": yes_or_no()})


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_of_the_page_is_clean_and_its_tests_are_green(number: int) -> None:
    found = read_example(EXAMPLES[number])
    assert found.canonical is not None, found.findings
    reports = run_tests(compile_definition(found.canonical), None, SETUP)
    assert reports
    assert not [(report.name, report.failures) for report in reports if not report.passed]


def test_page_names_every_kind_attribute_and_head_key() -> None:
    text = PAGE.read_text()
    hidden = {"schema", "requires", "description"}
    words = {*KINDS, *ATTRIBUTES, *HEAD.fields} - hidden
    assert sorted(word for word in words if not re.search(rf"\b{word}\b", text)) == []
