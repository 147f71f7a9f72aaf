"""The comparison with others: its arithmetic, and one tiny round where their packages are installed."""

import json
import subprocess
import sys

import pytest

from benchmarks.peers.crew import OURS, PEERS, PROJECT, THEIRS
from benchmarks.peers.figures import HEADERS, Count, Measured, Turn, goals_of, panels_of, read_measured, report_of

PATIENCE = 600


def turn(peer: str, seconds: float, *, work: str = "w1", clients: int = 1, cpu: float = 0.1, wal: int = 10_240) -> Turn:
    return Turn(work, clients, peer, 10, seconds, cpu, wal)


@pytest.fixture
def measured() -> Measured:
    """Return three rounds in which the machine gets slower for everybody, and ours was disturbed once."""
    rounds = (
        (turn("floor", 1.0), turn(OURS, 2.0, cpu=0.3, wal=20_480)),
        (turn(OURS, 4.0, cpu=0.1, wal=40_960), turn("floor", 2.0)),
        (turn("floor", 4.0), turn(OURS, 40.0, cpu=0.2, wal=30_720)),
    )
    return Measured(rounds, (Count("w1", OURS, 12.4, 55.5), Count("w1", "floor", 10, 20)))


def test_a_ratio_is_the_median_of_the_ratios_of_each_round(measured: Measured) -> None:
    assert measured.ratios("w1", 1, "floor") == [0.5, 0.5, 0.1]
    assert measured.ratio("w1", 1, "floor") == 0.5


def test_rates_processor_time_and_log_are_medians_of_a_case(measured: Measured) -> None:
    assert measured.rate("w1", 1, OURS) == 2.5
    assert measured.cpu("w1", 1, OURS) == pytest.approx(20.0)
    assert measured.kilobytes("w1", 1, OURS) == 3.0


def test_the_table_says_ours_first_and_how_far_ratios_spread(measured: Measured) -> None:
    report = report_of(measured)
    assert report.headers == HEADERS
    assert report.rows == (
        ("W1", "1", OURS, "2", "1", "20.00", "12", "56", "3.0"),
        ("W1", "1", "floor", "5", "0.50 (0.10–0.50)", "10.00", "10", "20", "1.0"),
    )


def test_only_what_was_measured_has_a_goal(measured: Measured) -> None:
    goals = {goal.text: goal.reached for goal in goals_of(measured)}
    assert goals == {
        "W1, 1 client: ours against floor": True,
        "rows of one W1": True,
        "index entries of one W1": True,
        "write-ahead log of one W1": True,
    }


def test_works_and_numbers_of_clients_are_kept_apart() -> None:
    alone, crowd = turn(OURS, 1.0), turn(OURS, 0.5, clients=8)
    timer = turn(OURS, 2.0, work="w2")
    measured = Measured(((alone, crowd, timer),), ())
    assert measured.settings() == [("w1", 1), ("w1", 8), ("w2", 1)]
    assert [measured.rate(work, clients, OURS) for work, clients in measured.settings()] == [10, 20, 5]


def test_the_picture_shows_everybody_in_order_of_speed(measured: Measured) -> None:
    assert panels_of(measured) == [
        {
            "title": "W1, 1 client: cases per second",
            "bars": [{"who": OURS, "rate": 2.5}, {"who": "floor", "rate": 5.0}],
        }
    ]


def test_what_is_printed_can_be_read_again(measured: Measured) -> None:
    assert read_measured(json.loads(json.dumps(measured.to_dict()))) == measured


@pytest.mark.skipif(not THEIRS.exists(), reason="the competitors are not installed: bin/peers installs them")
def test_every_competitor_plays_one_tiny_round() -> None:
    command = [sys.executable, "-m", "benchmarks.peers.main", "--short"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    measured = read_measured(json.loads(done.stdout.splitlines()[-1]))
    played = {(peer, work) for work, clients in measured.settings() for peer in measured.peers(work, clients)}
    assert played == {(peer.name, work) for peer in PEERS for work in peer.works}
    assert all(count.rows > 0 for count in measured.counts)
    assert all(turn.units > 0 and turn.seconds > 0 and turn.wal > 0 for turn in measured.rounds[0])
