"""The schema for editors takes every template that the normaliser takes, and refuses plain mistakes."""

import json

import jsonschema_rs
import pytest

from engine.kernel.language.json_schema import language_schema
from engine.kernel.language.source import read_documents
from tests.kernel.test_cases import SOURCES
from tests.patterns.book import read_book

VALIDATOR = jsonschema_rs.Draft202012Validator(language_schema())
TEMPLATES = [path.read_text() for path in SOURCES] + [f"workflow: x\n{one.template}" for one in read_book()[:21]]


@pytest.mark.parametrize("number", range(len(TEMPLATES)))
def test_schema_takes_what_the_normaliser_takes(number: int) -> None:
    document = read_documents(TEMPLATES[number])[0].plain()
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(json.dumps(document)))] == []


@pytest.mark.parametrize(
    "steps",
    [[{"taks": {}}], [{"set": {"a": 1}, "wen": "true"}], [{"task": {"titel": "A"}}], [{"wait": {"four": "P1D"}}]],
)
def test_schema_refuses_plain_mistakes(steps: list[object]) -> None:
    assert not VALIDATOR.is_valid({"workflow": "x", "steps": steps})
