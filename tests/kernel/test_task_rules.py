"""A task's rules are one value; rows keep them as JSON, in the form that rows have always had."""

from pathlib import Path
from typing import Any

import pytest

from engine.kernel.tasks.rules import (
    FILE_KINDS,
    NO_RULES,
    ChecklistPoint,
    FileRules,
    FourEyesRule,
    TaskRules,
)

FULL = TaskRules(
    allow=("skip",),
    draft=False,
    assign_by="random",
    wip_limit=3,
    files=FileRules(("pdf", "image/*"), 1000, 2, required=True),
    four_eyes=FourEyesRule(start=True, steps=("a", "b")),
    not_inside=("child",),
    checklist=(ChecklistPoint("id", "Passport", required=True), ChecklistPoint("point_2", "Photo", required=False)),
    several=True,
    secure=True,
)
ROW = {
    "allow": ["skip"],
    "draft": False,
    "assign_by": "random",
    "wip_limit": 3,
    "attachments": {"types": ["pdf", "image/*"], "max_size": 1000, "max": 2, "required": True},
    "four_eyes": {"start": True, "steps": ["a", "b"]},
    "not_inside": ["child"],
    "checklist": [
        {"id": "id", "title": "Passport", "required": True},
        {"id": "point_2", "title": "Photo", "required": False},
    ],
    "several": True,
    "secure": True,
}


def test_every_rule_crosses_into_a_row_and_back() -> None:
    assert FULL.to_json() == ROW
    assert TaskRules.from_json(ROW) == FULL


def test_a_task_without_rules_has_an_empty_row() -> None:
    assert NO_RULES.to_json() == {}
    assert TaskRules.from_json({}) == NO_RULES


@pytest.mark.parametrize(
    ("row", "rules"),
    [
        ({"draft": True, "allow": [], "assign_by": "offer"}, TaskRules(assign_by="offer")),
        ({"escalate": [{"after": "PT1H"}]}, NO_RULES),
        ({"checklist": None, "not_inside": None, "four_eyes": None}, NO_RULES),
        ({"four_eyes": {"steps": ["a"]}}, TaskRules(four_eyes=FourEyesRule(start=False, steps=("a",)))),
    ],
)
def test_rows_of_earlier_releases_are_read(row: dict[str, Any], rules: TaskRules) -> None:
    assert TaskRules.from_json(row) == rules


def test_files_of_any_kind_stay_so_when_a_later_release_takes_more_kinds() -> None:
    row = {"max_size": 10, "max": 1, "required": False}
    rules = FileRules.from_json(row)
    assert rules.types == tuple(FILE_KINDS)
    assert rules.to_json() == row


@pytest.mark.parametrize(
    ("rules", "counts"),
    [
        (TaskRules(several=True), True),
        (TaskRules(not_inside=("child",)), True),
        (TaskRules(four_eyes=FourEyesRule(start=True, steps=())), True),
        (TaskRules(allow=("skip",), wip_limit=1), False),
    ],
)
def test_some_rules_count_people(rules: TaskRules, counts: bool) -> None:
    assert rules.counts_people is counts


def test_only_the_model_and_the_projection_know_the_row() -> None:
    """Whatever else wants a rule asks for `rules`."""
    root = Path(__file__).parents[2]
    readers = {
        path.name
        for folder in ("engine", "tasks_inbox")
        for path in (root / folder).rglob("*.py")
        if "migrations" not in path.parts and "task.extra" in path.read_text()
    }
    assert readers == set()
