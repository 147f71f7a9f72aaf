"""Play every target: the inputs that were kept, and any bytes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, Broken, one_input, require

CORPUS = Path(__file__).parent / "corpus"
KEPT = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
EXAMPLES = {"yaml": 15, "svg": 40, "expressions": 60, "envelopes": 50}
"""How many inputs in the short form where one takes long; the others take 100."""


@pytest.mark.security("any bytes get a value or a named refusal")
@pytest.mark.parametrize("target", TARGETS)
def test_inputs_that_were_kept_are_answered(target: str) -> None:
    kept = [path for path in KEPT if path.parent.name == target]
    assert len(kept) >= 2, f"nothing is kept for {target}"
    for path in kept:
        one_input(target, path.read_bytes())


@pytest.mark.security("any bytes get a value or a named refusal")
@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes_are_answered(target: str) -> None:
    _play(target, EXAMPLES.get(target, 100))


@pytest.mark.slow
@pytest.mark.security("any bytes get a value or a named refusal")
@pytest.mark.parametrize("target", TARGETS)
def test_many_bytes_are_answered(target: str) -> None:
    _play(target, 40 * EXAMPLES.get(target, 100))


def _play(target: str, examples: int) -> None:
    profile = settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
    )

    @profile
    @given(st.binary(max_size=300))
    def answered(data: bytes) -> None:
        one_input(target, data)

    answered()


def test_kept_inputs_belong_to_a_target_and_are_small() -> None:
    assert {path.parent.name for path in KEPT} == set(TARGETS)
    assert [path.name for path in KEPT if path.stat().st_size > 700] == []


def test_broken_promise_is_told() -> None:
    with pytest.raises(Broken, match="kept"):
        require(False, "a promise is kept")
