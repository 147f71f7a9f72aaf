"""What timelines say of errors and causes: sentences, never codes. No database."""

from datetime import UTC, datetime

import pytest
from django.utils import translation

from engine.kernel.errors import ErrorClass
from engine.models import Audit
from engine.presentation.narrative.timeline import CAUSES, of_act

NOW = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)


def note(reason: str, language: str = "en") -> str:
    row = Audit(action="retry_step", step="pay", actor_name="engine", cause=reason, at=NOW, new={}, old=None)
    with translation.override(language):
        return of_act(row).note


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("code", ["no_answer", "http_503", "something_of_the_author"])
@pytest.mark.parametrize("kind", list(ErrorClass))
def test_an_error_is_told_in_a_sentence(kind: str, code: str, language: str) -> None:
    said = note(f"{kind}/{code}", language)
    assert said.endswith(".")
    assert "/" not in said
    assert code not in said


@pytest.mark.parametrize("cause", [cause for cause, words in CAUSES.items() if str(words)])
def test_a_cause_that_the_engine_notes_is_translated(cause: str) -> None:
    assert note(cause) != note(cause, "de")


def test_what_people_write_as_a_reason_stays_as_it_is() -> None:
    for reason in ("business is slow/late", "Bought elsewhere", "transport / no answer"):
        assert note(reason) == reason
