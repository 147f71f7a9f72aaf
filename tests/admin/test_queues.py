"""RQ's own pages, for level 6: every URL answers, in our look, with jobs in every state and with none."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
import redis
from django.conf import settings
from django.test import Client
from django.urls import reverse
from rq import SimpleWorker
from rq.job import Job, JobStatus
from rq.queue import Queue
from rq.registry import DeferredJobRegistry, ScheduledJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer
from rq.timeouts import TimerDeathPenalty

from engine.dispatch.rq_status import queue_pages
from tests.admin.conftest import SignIn, words_of
from tests.hooks import notices, part, value
from workflowplatform.admin_site.site import WorkflowAdminSite

LISTS = ("jobs", "finished_jobs", "failed_jobs", "scheduled_jobs", "started_jobs", "deferred_jobs")
OF_A_JOB = ("job_detail", "delete_job", "requeue_job", "enqueue_job")
OF_A_QUEUE = (*LISTS, "queue_details", "delete_failed_jobs", "clear", "requeue_all", "workers")
PLAIN = ("home", "home_json", "metrics")
ASKED_ELSEWHERE = ("result_detail", "worker_details", "confirm_action", "actions", "stop_job")
STATES = ("queued", "finished", "failed", "scheduled", "started", "deferred")
OUTSIDE = re.compile(r'<script(?![^>]*\bsrc=)|\bon[a-z]+="|(?:src|href)="(?:https?:)?//')


class Hand(SimpleWorker):
    """Do a job at once, in the process of the test."""

    death_penalty_class = TimerDeathPenalty


def breaks() -> None:
    """Fail as a job fails."""
    raise RuntimeError("the drain broke")


@pytest.fixture
def queue(valkey: redis.Redis) -> Queue:
    """Return the queue, empty."""
    return Queue("default", connection=valkey, serializer=JSONSerializer)


@pytest.fixture
def hand(queue: Queue) -> Hand:
    """Return a worker that did one job, failed another, and has introduced itself."""
    hand = Hand([queue], connection=queue.connection, serializer=JSONSerializer, name="a-hand")
    hand.register_birth()
    for job in (queue.enqueue(uuid4, result_ttl=500), queue.enqueue(breaks)):
        queue.remove(job)
        hand.execute_job(job, queue)
    return hand


@pytest.fixture
def jobs(queue: Queue, hand: Hand) -> dict[str, Job]:
    """Return a job in every state a job can be in."""
    made: dict[str, Job] = {
        "finished": fetched(queue, queue.finished_job_registry.get_job_ids()[0]),
        "failed": fetched(queue, queue.failed_job_registry.get_job_ids()[0]),
        "queued": queue.enqueue(uuid4),
    }
    for state, registry in (("started", StartedJobRegistry), ("deferred", DeferredJobRegistry)):
        made[state] = queue.enqueue(uuid4)
        queue.remove(made[state])
        key = f"{made[state].id}:one" if state == "started" else made[state].id
        queue.connection.zadd(registry(queue=queue).key, {key: 4_000_000_000})
        made[state].set_status(JobStatus(state))
    made["scheduled"] = queue.create_job(uuid4, status=JobStatus.SCHEDULED)
    made["scheduled"].save()
    ScheduledJobRegistry(queue=queue).add(made["scheduled"], 4_000_000_000)
    return made


def fetched(queue: Queue, job_id: str) -> Job:
    return Job.fetch(job_id, connection=queue.connection, serializer=JSONSerializer)


def page(name: str, *args: object) -> str:
    return reverse(f"django_rq:{name}", args=args)


def seen(browser: Client, address: str) -> str:
    """Open a page and look for what no page may contain."""
    answer: Any = browser.get(address)
    assert answer.status_code == 200, address
    said = words_of(answer)
    assert not OUTSIDE.search(said), (address, OUTSIDE.search(said))
    assert "wf-panel" in said
    assert "Welcome" not in said
    return said


def test_every_address_of_these_pages_is_tried_below() -> None:
    names = {route.name for route in queue_pages(WorkflowAdminSite().admin_view)}
    assert names == {*PLAIN, *OF_A_QUEUE, *OF_A_JOB, *ASKED_ELSEWHERE}


def test_a_queues_pages_are_there_where_nothing_is(sign_in: SignIn, queue: Queue) -> None:
    browser = sign_in("zoe")
    for name in OF_A_QUEUE:
        seen(browser, page(name, 0))
        assert browser.get(page(name, 7)).status_code == 404


def test_each_list_of_a_queue_shows_the_jobs_that_stand_so(sign_in: SignIn, jobs: dict[str, Job]) -> None:
    browser = sign_in("zoe")
    for name in LISTS:
        full = seen(browser, page(name, 0))
        state = "queued" if name == "jobs" else name.removesuffix("_jobs")
        assert {one for one, job in jobs.items() if page("job_detail", 0, job.id) in full} == {state}


def test_the_overview_counts_jobs_and_workers(sign_in: SignIn, jobs: dict[str, Job]) -> None:
    browser = sign_in("zoe")
    said = seen(browser, page("home"))
    for name in LISTS:
        assert f'<a href="{page(name, 0)}">1</a>' in said
    assert browser.get(page("home_json")).json()["queues"][0]["failed_jobs"] == 1
    assert b'rq_jobs{queue="default",status="failed"} 1' in browser.get(page("metrics")).content


def test_a_jobs_pages_are_there_in_every_state(sign_in: SignIn, jobs: dict[str, Job]) -> None:
    browser = sign_in("zoe")
    for state in STATES:
        assert jobs[state].id in seen(browser, page("job_detail", 0, jobs[state].id))
    for name in OF_A_JOB:
        said = seen(browser, page(name, 0, jobs["failed"].id))
        if name in ("delete_job", "requeue_job", "enqueue_job"):
            assert value("confirm", said) == name
        assert browser.get(page(name, 0, "no-such-job")).status_code == 404


def test_a_failed_job_says_how_it_failed_and_can_be_requeued(
    sign_in: SignIn, queue: Queue, jobs: dict[str, Job]
) -> None:
    browser, failed = sign_in("zoe"), jobs["failed"]
    said = seen(browser, page("job_detail", 0, failed.id))
    assert "the drain broke" in said
    assert "the drain broke" in seen(browser, page("result_detail", 0, failed.id, failed.results()[0].id))
    assert browser.get(page("result_detail", 0, failed.id, "1-1")).status_code == 404
    browser.post(page("requeue_job", 0, failed.id))
    assert failed.id in queue.job_ids


def test_a_worker_introduces_itself(sign_in: SignIn, hand: Hand) -> None:
    browser = sign_in("zoe")
    assert page("worker_details", 0, hand.key) in seen(browser, page("workers", 0))
    assert hand.name in part("worker", seen(browser, page("worker_details", 0, hand.key)))
    for key in ("rq:worker:nobody", "nobody"):
        assert browser.get(page("worker_details", 0, key)).status_code == 404


@pytest.mark.parametrize(("action", "state"), [("delete", "queued"), ("requeue", "failed"), ("stop", "started")])
def test_chosen_jobs_are_looked_at_before_something_is_done_to_them(
    sign_in: SignIn, queue: Queue, jobs: dict[str, Job], action: str, state: str
) -> None:
    browser, job = sign_in("zoe"), jobs[state]
    asked = browser.post(page("confirm_action", 0), {"action": action, "_selected_action": job.id})
    assert value("confirm", asked) == action
    assert not OUTSIDE.search(words_of(asked))
    done = browser.post(page("actions", 0), {"action": action, "job_ids": job.id, "next_url": page("jobs", 0)})
    assert done.status_code == 302
    assert (job.id in queue.job_ids) == (action == "requeue")


def test_a_job_that_does_not_run_is_not_stopped(sign_in: SignIn, jobs: dict[str, Job]) -> None:
    answer: Any = sign_in("zoe").post(page("stop_job", 0, jobs["queued"].id), follow=True)
    assert [message.level_tag for message in answer.context["messages"]] == ["error"]


def test_without_redis_the_pages_lead_to_the_one_that_says_so(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch, valkey: redis.Redis
) -> None:
    away = {"URL": "redis://127.0.0.1:1/0", "SERIALIZER": "rq.serializers.JSONSerializer"}
    monkeypatch.setitem(settings.RQ_QUEUES, "default", away)
    monkeypatch.setattr(settings, "REDIS_URL", away["URL"])
    for name in ("jobs", "failed_jobs", "workers"):
        answer = sign_in("zoe").get(page(name, 0), follow=True)
        assert notices(answer) == ["no_redis"]


@pytest.mark.parametrize("ask", [Client.get, Client.post])
def test_nobody_below_level_six_comes_in(sign_in: SignIn, jobs: dict[str, Job], ask: Callable[..., Any]) -> None:
    addresses = [
        *(page(name) for name in PLAIN),
        *(page(name, 0) for name in (*OF_A_QUEUE, "confirm_action", "actions")),
        *(page(name, 0, jobs["failed"].id) for name in (*OF_A_JOB, "stop_job")),
    ]
    for name in ("gwen", "ada", "uri"):
        browser = sign_in(name)
        assert {ask(browser, address).status_code for address in addresses} == {403}
