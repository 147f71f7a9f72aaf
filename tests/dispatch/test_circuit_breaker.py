"""A Redis that fails is left alone for a while; then one caller tries it for all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from redis import ConnectionError as RedisConnectionError
from redis import TimeoutError as RedisTimeoutError

from workflowplatform.circuit_breaker import HUNG_SECONDS, REFUSED_SECONDS, CircuitBreaker

CALLERS = 8


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(clock)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RedisTimeoutError(), HUNG_SECONDS),
        (TimeoutError(), HUNG_SECONDS),
        (RedisConnectionError(), REFUSED_SECONDS),
        (OSError(), REFUSED_SECONDS),
    ],
)
def test_an_error_opens_it_for_as_long_as_waiting_costs(
    breaker: CircuitBreaker, clock: Clock, error: Exception, seconds: float
) -> None:
    assert breaker.allows()
    breaker.failed(error)
    clock.now += seconds * 0.9
    assert not breaker.allows()
    clock.now += seconds * 0.2
    assert breaker.allows()


def test_success_of_the_one_try_closes_it(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed(RedisTimeoutError())
    clock.now += HUNG_SECONDS
    assert [breaker.allows(), breaker.allows()] == [True, False]
    assert not breaker.is_closed
    breaker.succeeded()
    assert breaker.is_closed
    assert [breaker.allows(), breaker.allows()] == [True, True]


def test_failure_of_the_one_try_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed(RedisTimeoutError())
    clock.now += HUNG_SECONDS
    assert breaker.allows()
    breaker.failed(RedisTimeoutError())
    clock.now += HUNG_SECONDS * 0.9
    assert not breaker.allows()


def test_a_caller_that_never_reports_keeps_others_away_for_a_while_only(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed(RedisConnectionError())
    clock.now += REFUSED_SECONDS
    assert breaker.allows()
    clock.now += HUNG_SECONDS
    assert breaker.allows()


def test_one_of_many_threads_tries(breaker: CircuitBreaker, clock: Clock) -> None:
    together = Barrier(CALLERS)

    def ask(_: int) -> bool:
        together.wait()
        return breaker.allows()

    with ThreadPoolExecutor(CALLERS) as threads:
        for _ in range(50):
            breaker.failed(RedisTimeoutError())
            clock.now += HUNG_SECONDS
            assert sum(threads.map(ask, range(CALLERS))) == 1
