"""The command that runs the trials says what they showed, and does not hide a red one."""

import pytest

from benchmarks.faults import main, results
from benchmarks.faults.results import PAGE, Result, page, read_kept, result_of
from benchmarks.faults.trial import Outcome, Trial, find_trials


def _never(size: int) -> Outcome:
    raise AssertionError("a trial runs in a process of its own")


GOOD = Trial("good", "that all is well", 1, 10, _never)
BAD = Trial("bad", "that something is not", 1, 10, _never)


@pytest.fixture
def two_trials(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """Return a table of one green and one red trial, and the results that would be kept."""
    kept: list[Result] = []
    outcomes = {"good": Outcome({"lost": 0}), "bad": Outcome({"lost": 1}, ("one is lost",))}
    monkeypatch.setattr(main, "find_trials", lambda: {"good": GOOD, "bad": BAD})
    monkeypatch.setattr(main, "_run", lambda trial, size: result_of(trial, size, outcomes[trial.name]))
    monkeypatch.setattr(main, "keep", kept.extend)
    return kept


def test_a_red_trial_makes_the_command_fail_and_is_told(
    two_trials: list[Result], capsys: pytest.CaptureFixture
) -> None:
    assert main.main(["--short"]) == 1
    printed = capsys.readouterr().out
    assert "! one is lost" in printed
    assert printed.endswith("1 green, 1 red\n")
    assert two_trials == []


def test_trials_are_chosen_by_name_and_kept_when_asked(two_trials: list[Result]) -> None:
    assert main.main(["good", "--write"]) == 0
    assert [(result.name, result.size, result.is_long) for result in two_trials] == [("good", 10, True)]


def test_each_result_is_kept_before_the_next_trial_begins(
    two_trials: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_before: list[list[str]] = []

    def run(trial: Trial, size: int) -> Result:
        kept_before.append([result.name for result in two_trials])
        return result_of(trial, size, Outcome({"lost": 0}))

    monkeypatch.setattr(main, "_run", run)
    main.main(["good", "bad", "--write"])
    assert kept_before == [[], ["good"]]


def test_an_unknown_trial_is_refused_with_the_names_there_are(
    two_trials: list[Result], capsys: pytest.CaptureFixture
) -> None:
    assert main.main(["nonsense"]) == 2
    assert "good, bad" in capsys.readouterr().out


def test_a_trial_that_breaks_is_red() -> None:
    ended = main.subprocess.CompletedProcess([], 1, stdout="")
    assert not main._outcome(ended).is_green


def test_the_page_is_made_from_what_is_kept() -> None:
    kept = read_kept()
    assert PAGE.read_text() == page(kept.values())
    assert set(kept) <= set(find_trials())


def test_the_page_tells_a_red_trial() -> None:
    written = results.page([result_of(BAD, 10, Outcome({"lost": 1}, ("one is lost",)))])
    assert "| [bad](#bad) | that something is not | 10 instances | red |" in written
    assert "- one is lost" in written
