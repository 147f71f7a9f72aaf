"""What a red test says: whole sentences, in the words of the author, never a Python value."""

from typing import Any

import pytest

from engine.kernel.simulator import run_test
from tests.kernel.play import compiled

SOURCE = """
steps:
  - {id: sum, set: {total: 5, note: none}}
  - {id: look, task: {title: Look, roles: [finance]}}
  - {id: pay, task: {title: Pay}}
  - {id: sub, workflow: {name: kid}}
"""


@pytest.mark.parametrize(
    ("test", "failures"),
    [
        ({"expect": {"status": "completed"}}, ["the case is running, where completed was expected"]),
        ({"expect": {"outcome": "approve"}}, ["the instance has no outcome, where approve was expected"]),
        ({"expect": {"path": ["sum"]}}, ["its way is sum, look, where sum was expected"]),
        ({"expect": {"path": ["sum", "pay"]}}, ["step 2 of its way is look, where pay was expected"]),
        ({"expect": {"tasks": []}}, ["look is open, where nothing was expected"]),
        ({"expect": {"tasks": ["pay"]}}, ["open task 1 is look, where pay was expected"]),
        ({"expect": {"state": {"total": 6}}}, ["state.total is 5, where 6 was expected"]),
        ({"expect": {"state": {"note": None}}}, ['state.note is "none", where nothing was expected']),
        ({"expect": {"state": {"tax": True}}}, ["state.tax is missing, where true was expected"]),
        ({"expect": {"absent": ["state.total"]}}, ["state.total is there, where nothing was expected"]),
        ({"expect": {"order": [["look", "sum"]]}}, ["look did not come before sum"]),
        ({"expect": {"colour": "red"}}, ["nothing named colour can be expected"]),
        ({"colour": "red"}, ["a test has no key colour"]),
        ({"do": [{"complete": "pay"}]}, ["act 1 (complete pay) was refused as closed: there is no such task"]),
        ({"do": [{"complete": "look", "refused": True}]}, ["act 1 (complete look) was not refused"]),
        ({"do": [{"claim": "look", "in": "sub"}]}, ["act 1 (claim look) is about sub, which has not begun"]),
        ({"do": [{"advance": "P1D"}, {"dance": "look"}]}, ["act 2: unknown verb; did you mean `advance`?"]),
    ],
)
def test_a_red_test_says_in_sentences_what_went_otherwise(test: dict[str, Any], failures: list[str]) -> None:
    played = {"do": []} | test
    assert list(run_test(compiled(SOURCE), {"name": "red", **played}).failures) == failures
