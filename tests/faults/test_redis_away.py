"""Redis is a wake-up: emptied, stopped, refusing or silent, it costs a look's distance and never work."""

import itertools
import os

import django_rq
import pytest
import redis

from benchmarks.faults.redis_away import FILLED, FLUSHED, HUNG, REFUSED, STOPPED
from benchmarks.faults.trial import Trial
from engine.dispatch.rq import FLAG, QUEUE, dispatcher, make_worker
from workflowplatform.circuit_breaker import HUNG_SECONDS, CircuitBreaker

LONGER = pytest.param(HUNG, marks=pytest.mark.slow)
"""A worker waits for a silent Redis for seconds before it gives it up."""


@pytest.mark.parametrize("trial", [FLUSHED, STOPPED, REFUSED, FILLED, LONGER], ids=lambda trial: trial.name)
def test_nothing_is_lost_whatever_redis_does(transactional: None, trial: Trial) -> None:
    outcome = trial.run(trial.short)
    assert outcome.is_green, outcome


def test_wake_ups_never_pile_up_while_workers_are_busy(valkey: redis.Redis) -> None:
    for _ in range(5):
        dispatcher.wake()
        valkey.delete(FLAG)  # as a drain does that is under way
    assert django_rq.get_queue(QUEUE).count == 1


def test_a_worker_begins_under_the_name_of_one_that_was_killed(valkey: redis.Redis) -> None:
    make_worker("node-1").register_birth()  # and it never says goodbye
    second = make_worker("node-1")
    second.register_birth()
    assert valkey.hget(second.key, "pid") == str(os.getpid()).encode()


def test_a_redis_that_hung_is_not_asked_again_for_a_while(transactional: None, valkey: redis.Redis) -> None:
    seconds = itertools.count()
    worker = make_worker("patient")
    worker.breaker = CircuitBreaker(clock=lambda: next(seconds) * HUNG_SECONDS / 2)
    worker.miss_redis(redis.exceptions.TimeoutError())
    worker.register_birth()
    assert worker.dequeue_job_and_maintain_ttl(None) is None
    assert not valkey.exists(worker.key)
    assert worker.dequeue_job_and_maintain_ttl(None) is None
    assert valkey.exists(worker.key)
