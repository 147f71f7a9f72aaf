"""Stop PostgreSQL at once under load: what was answered is kept, nothing is done twice, and workers come back by themselves.

Callers start instances over REST, each under an Idempotency-Key, and repeat a request until it is answered; so even an instance
whose start was never answered may not be there twice.
"""

import tempfile
import time
from collections import Counter
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID

from django.db import connection
from django.test import Client

from benchmarks.faults.crew import Crew, crew
from benchmarks.faults.own_servers import OwnServers, own_house
from benchmarks.faults.trial import Outcome, Trial
from benchmarks.faults.waiting import a_house, outlasting, steady_faults, wait_for_ends, wait_until
from engine.audit.chain import database_now
from engine.models import Instance, SignalReceipt
from engine.services.people.tokens import create_token

CALLERS = 2
WORKERS = 2
ANSWERS_A_ROUND = 6
"""How much is answered before the next stop."""
LONGEST_ABSENCE = 3.0
"""Within how many seconds after PostgreSQL answers again workers apply signals."""
BUSY_MACHINE = 60.0


class Diary:
    """What callers were answered: one line per answer, in a file that all of them write to."""

    def __init__(self, folder: str) -> None:
        self.file = Path(folder) / "answers"
        self.file.touch()

    def note(self, key: str, status: int, instance: str) -> None:
        """Write one answer; short appended lines never mix."""
        with self.file.open("a") as file:
            file.write(f"{key} {status} {instance}\n")

    def lines(self) -> list[list[str]]:
        """Read all answers: key, HTTP status, instance."""
        return [line.split(" ") for line in self.file.read_text().splitlines()]

    def started(self) -> dict[str, UUID]:
        """Return the instance of each key that was answered."""
        return {key: UUID(instance) for key, status, instance in self.lines() if status == "201"}


def call(diary: Diary, token: str, name: int) -> None:
    """Start instances one after another, each until it is answered."""
    client = Client(raise_request_exception=False, headers={"Authorization": f"Token {token}"}, SERVER_NAME="localhost")
    number = 0
    while True:
        _start_one(client, diary, f"caller{name}-{number}", number)
        number += 1


def _start_one(client: Client, diary: Diary, key: str, number: int) -> None:
    body = {"template": "steady", "input": {"n": number}, "reference": key}
    while True:
        answer = client.post(
            "/api/v1/instances/", body, content_type="application/json", headers={"Idempotency-Key": key}
        )
        diary.note(key, answer.status_code, answer.json()["id"] if answer.status_code == 201 else "-")
        if answer.status_code == 201:
            return
        if str(answer.status_code) not in FINE:
            raise RuntimeError(f"a start was answered by {answer.status_code}: {answer.content!r}")
        connection.close()  # as the end of a request does in the product
        time.sleep(0.05)


def stop_under_load(rounds: int) -> Outcome:
    """Stop PostgreSQL so many times; the last time with all workers and callers, and Redis too."""
    with tempfile.TemporaryDirectory() as folder, own_house() as servers, crew() as hands:
        diary, token = Diary(folder), _token()
        first = _begin(hands, diary, token, 0)
        absences = [_stop_once(servers, diary) for _ in range(rounds - 1)]
        faults = [f"process {pid} ended by itself" for pid in hands.ended()]
        _all_down_and_up(servers, hands, [pid for pid in first if pid in hands.pids], diary)
        hands.hire(WORKERS)
        ended = wait_for_ends()
        faults += [] if ended else ["some instances never ended"]
        return _judge(diary, faults, absences, LONGEST_ABSENCE if rounds >= STOPPED.long else BUSY_MACHINE)


def _token() -> str:
    cast = a_house()
    return create_token(actor=None, person=cast.ada, name="trial")[1]


def _begin(hands: Crew, diary: Diary, token: str, number: int) -> list[int]:
    workers = hands.hire(WORKERS)
    return workers + [hands.fork(partial(call, diary, token, number + caller)) for caller in range(CALLERS)]


def _await_answers(diary: Diary) -> None:
    wanted = len(diary.started()) + ANSWERS_A_ROUND
    if not wait_until(lambda: len(diary.started()) >= wanted):
        raise RuntimeError(f"nobody is answered any more: {diary.lines()[-3:]}")


def _stop_once(servers: OwnServers, diary: Diary) -> float:
    """Stop it in the middle of work, start it again; return how long after that a worker applied a signal."""
    _await_answers(diary)
    servers.stop_postgres_at_once()
    servers.start_postgres()
    up_at = outlasting(database_now)
    wait_until(lambda: SignalReceipt.objects.filter(at__gt=up_at).exists())
    return _absence(up_at)


def _absence(up_at: datetime) -> float:
    first = outlasting(lambda: SignalReceipt.objects.filter(at__gt=up_at).order_by("at").values_list("at").first())
    return (first[0] - up_at).total_seconds() if first else BUSY_MACHINE * 2


def _all_down_and_up(servers: OwnServers, hands: Crew, everybody: list[int], diary: Diary) -> None:
    _await_answers(diary)
    servers.stop_postgres_at_once()
    servers.stop_valkey()
    hands.kill(*everybody)
    connection.close()
    servers.start_valkey()
    servers.start_postgres()


def _judge(diary: Diary, faults: list[str], absences: list[float], allowed: float) -> Outcome:
    answered, statuses = diary.started(), Counter(status for _, status, _ in diary.lines())
    faults += steady_faults(answered.values())
    faults += _doubled()
    faults += [
        f"{count} requests were answered by {status}" for status, count in statuses.items() if status not in FINE
    ]
    slowest = round(max(absences, default=0.0), 2)
    if slowest > allowed:
        faults.append(f"workers came back after {slowest} s, {allowed} s are allowed")
    figures = {
        "stops": len(absences) + 1, "answered": len(answered), "refused meanwhile": statuses["503"],
        "lost or doubled": len(faults), "workers back s": slowest,
    }  # fmt: skip
    return Outcome(figures, tuple(faults))


FINE = ("201", "503")


def _doubled() -> list[str]:
    references = Counter(Instance.objects.values_list("reference", flat=True))
    return [f"{reference} was started {count} times" for reference, count in references.items() if count > 1]


STOPPED = Trial(
    "postgres-stopped", "what was answered survives a database stopped at once", 2, 30, stop_under_load, "stops"
)
TRIALS = (STOPPED,)
