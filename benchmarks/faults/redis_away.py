"""Empty Redis, stop it, let it refuse everybody: nothing may be lost, and nothing wait longer than one look."""

import signal
import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

import redis
from django.conf import settings
from django.db import connection

from benchmarks.faults.crew import Crew, crew
from benchmarks.faults.own_servers import OwnServers, own_redis
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.waiting import a_house, start_steady, steady_faults, wait_for_ends
from tests.cast import Cast

WORKERS = 2
STARTS_A_ROUND = 3
MOST_KEYS = 200
UNKNOWN = "nobody told the workers"
LONGEST_DELAY = 5.0
"""What an announcement that Redis lost may cost."""
SILENCE = 15.0
"""What it may cost where Redis says nothing at all: a worker first waits as long as it would for a wake-up."""
BUSY_MACHINE = 60.0
"""What a short trial allows: it shares two cores with everything else."""

LATEST = """
SELECT coalesce(max(extract(epoch FROM ended_at - started_at) - 0.05), 0)::float8 FROM wf_steps
WHERE kind = 'wait' AND status = 'success'
"""
"""All timers of these trials last 0.05 s."""


def latest() -> float:
    """Return by how many seconds the latest timer of all was applied after its moment, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(LATEST)
        return round(float(cursor.fetchone()[0]), 2)


def count_keys() -> int:
    """Count what Redis holds."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return int(client.dbsize())


def _judge(ids: list[UUID], allowed: float, **figures: float) -> Outcome:
    ended = wait_for_ends()
    late = latest()
    faults = list(steady_faults(ids))
    if not ended:
        faults.append("some instances never ended")
    if late > allowed:
        faults.append(f"a signal was {late} s late, {allowed} s are allowed")
    return Outcome({"instances": len(ids), **figures, "lost": len(faults), "latest s": late}, tuple(faults))


def _allowed(is_long: bool, longest: float = LONGEST_DELAY) -> float:
    return longest if is_long else BUSY_MACHINE


def flush(rounds: int) -> Outcome:
    """Empty Redis again and again while instances run."""
    with own_redis(), crew() as hands:
        cast = a_house()
        hands.hire(WORKERS)
        ids: list[UUID] = []
        with redis.Redis.from_url(settings.REDIS_URL) as client:
            for _ in range(rounds):
                ids += start_steady(cast, STARTS_A_ROUND)
                client.flushall()
        return _judge(ids, _allowed(rounds >= FLUSHED.long), flushes=rounds)


def _away(
    seconds: int,
    is_long: bool,
    leave: Callable[[OwnServers], None],
    back: Callable[[OwnServers], object],
    longest: float = LONGEST_DELAY,
) -> Outcome:
    """Start instances before, during and after an absence; one worker starts while Redis is away."""
    with own_redis() as servers, crew() as hands:
        cast = a_house()
        hands.hire(1)
        ids = start_steady(cast, STARTS_A_ROUND)
        leave(servers)
        hands.hire(1)
        ids += _start_meanwhile(cast, seconds)
        missing = _missing_meanwhile(hands)
        back(servers)
        ids += start_steady(cast, STARTS_A_ROUND)
        outcome = _judge(ids, _allowed(is_long, longest), away=seconds)
        return Outcome(outcome.figures, (*missing, *outcome.faults))


def _start_meanwhile(cast: Cast, seconds: int) -> list[UUID]:
    ids = start_steady(cast, STARTS_A_ROUND)
    came_back = time.monotonic() + seconds
    while time.monotonic() < came_back:
        time.sleep(0.5)
        ids += start_steady(cast, STARTS_A_ROUND)
    return ids


def _missing_meanwhile(hands: Crew) -> list[str]:
    """Return what is missing while Redis is still away: the ends of instances, or a worker."""
    missing = [] if wait_for_ends() else ["not everything ended while Redis was away"]
    return missing + [f"worker {pid} ended" for pid in hands.ended()]


def stop(seconds: int) -> Outcome:
    """Stop Redis for so long."""
    return _away(seconds, seconds >= STOPPED.long, OwnServers.stop_valkey, OwnServers.start_valkey)


def refuse(seconds: int) -> Outcome:
    """Let Redis refuse everybody's password for so long."""
    return _away(seconds, seconds >= REFUSED.long, _lock_out, _let_in)


def hang(seconds: int) -> Outcome:
    """Let Redis hang for so long: connected, and silent."""
    return _away(seconds, seconds >= HUNG.long, _freeze, _thaw, SILENCE)


def _freeze(servers: OwnServers) -> None:
    assert servers.valkey is not None
    servers.valkey.process.send_signal(signal.SIGSTOP)


def _thaw(servers: OwnServers) -> None:
    assert servers.valkey is not None
    servers.valkey.process.send_signal(signal.SIGCONT)


def _lock_out(servers: OwnServers) -> None:
    """Ask for a password that nobody knows, and send everybody away who came before."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.config_set("requirepass", UNKNOWN)
        for kind in ("normal", "pubsub"):
            client.client_kill_filter(_type=kind, skipme=True)


def _let_in(servers: OwnServers) -> None:
    with redis.Redis.from_url(settings.REDIS_URL, password=UNKNOWN) as client:
        client.config_set("requirepass", "")


def fill(instances: int) -> Outcome:
    """Run so many instances and count what Redis holds afterwards."""
    with own_redis(), crew() as hands:
        cast = a_house()
        hands.hire(WORKERS)
        starting = [hands.fork(partial(start_steady, cast, instances // 2)) for _ in range(2)]
        codes = hands.wait_for(*starting)
        outcome = _judge([], BUSY_MACHINE * 60, keys=count_keys())
    faults = list(outcome.faults) + ["a caller failed"] * sum(map(bool, codes))
    if outcome.figures["keys"] >= MOST_KEYS:  # type: ignore[operator]
        faults.append(f"Redis holds {outcome.figures['keys']} keys, fewer than {MOST_KEYS} are allowed")
    return Outcome({**outcome.figures, "instances": instances // 2 * 2}, tuple(faults))


FLUSHED = Trial("redis-flushed", "an emptied Redis loses no work", 4, 100, flush, sizes_are="flushes")
STOPPED = Trial("redis-stopped", "workers poll and continue while Redis is away", 2, 60, stop, sizes_are="seconds")
REFUSED = Trial("redis-password", "a refusing Redis is an absent one", 1, 30, refuse, sizes_are="seconds")
FILLED = Trial("redis-keys", "Redis holds wake-ups, nothing else", 300, 10_000, fill)
HUNG = Trial("redis-hung", "a silent Redis is given up in time", 1, 30, hang, sizes_are="seconds")
TRIALS = (FLUSHED, STOPPED, REFUSED, FILLED, HUNG)
