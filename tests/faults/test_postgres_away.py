"""PostgreSQL is the truth: stopped at once, it keeps what was answered, and workers come back by themselves."""

from benchmarks.faults.postgres_away import STOPPED


def test_what_was_answered_survives_a_database_stopped_at_once(transactional: None) -> None:
    outcome = STOPPED.run(STOPPED.short)
    assert outcome.is_green, outcome
