"""The first count creates the meters, and only one of many threads does so."""

from engine import metrics
from tests.races.crowd import at_once


def test_threads_that_count_first_at_once_share_their_meters(db: None) -> None:
    assert len(set(map(id, at_once([metrics.meters] * 16)))) == 1
