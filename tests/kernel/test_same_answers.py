"""A simulation answers each act as the platform would: the same refusals, by the same codes, in the same order.

That the platform does so is shown by tests/conformance, which plays these very templates through the services too.
"""

import json
from pathlib import Path

import pytest

from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import normalize_set
from engine.kernel.program import Definition
from engine.kernel.simulator import run_tests

TEMPLATES = (Path(__file__).parent / "same_answers.yaml").read_text()


def definitions() -> dict[str, Definition]:
    """Compile every template of this page."""
    found = normalize_set(TEMPLATES, allow_not_yet=True)
    for one in found:
        assert one.canonical is not None, one.findings
    made = [compile_definition(json.loads(json.dumps(one.canonical))) for one in found]
    return {one.name: one for one in made}


DEFINITIONS = definitions()


@pytest.mark.parametrize("name", [name for name, one in DEFINITIONS.items() if one.canonical.get("tests")])
def test_act_is_answered_as_the_platform_would(name: str) -> None:
    reports = run_tests(DEFINITIONS[name], DEFINITIONS)
    assert [(one.name, one.failures) for one in reports if not one.passed] == []
