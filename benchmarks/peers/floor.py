"""The floor: what PostgreSQL itself takes to remember as much, written by hand with nothing but psycopg.

Seven tables with primary keys only: no other index, no foreign key, no trigger, no row-level security. One prepared statement
for each commit, in autocommit, sent with its values; nothing is read, locked, checked or hashed, and nobody is authorized.
It shares no code with ours. W1 is three commits: the case with its state, wait, task, offer, event and journal row; the
claim; the answer. W2 is five: the case with its timer; the timer and the first call; two failures, each with the next attempt;
the answer.
"""

import time
from typing import Any
from uuid import uuid4

import psycopg

from benchmarks.peers.client import Place, serve

TABLES = """
CREATE TABLE IF NOT EXISTS cases (id uuid PRIMARY KEY, workflow text, status text, input jsonb, state jsonb, begun timestamptz,
  ended timestamptz);
CREATE TABLE IF NOT EXISTS snapshots (id uuid PRIMARY KEY, version int, content jsonb);
CREATE TABLE IF NOT EXISTS waits (id uuid PRIMARY KEY, kind text, due timestamptz);
CREATE TABLE IF NOT EXISTS tasks (id uuid PRIMARY KEY, case_id uuid, title text, status text, form jsonb, assignee text,
  answer jsonb, claimed timestamptz, ended timestamptz);
CREATE TABLE IF NOT EXISTS offers (task uuid PRIMARY KEY, role text);
CREATE TABLE IF NOT EXISTS events (id uuid PRIMARY KEY, task uuid, kind text, person text, at timestamptz);
CREATE TABLE IF NOT EXISTS journal (id uuid PRIMARY KEY, case_id uuid, person text, at timestamptz, acts jsonb);
"""

START = """
WITH c AS (INSERT INTO cases VALUES (%(case)s, 'w1', 'running', %(input)s, %(state)s, now())),
s AS (INSERT INTO snapshots VALUES (%(case)s, 1, %(snapshot)s)),
w AS (INSERT INTO waits VALUES (%(case)s, 'task')),
t AS (INSERT INTO tasks VALUES (%(task)s, %(case)s, 'Review 1200', 'open', %(form)s)),
o AS (INSERT INTO offers VALUES (%(task)s, 'finance')),
e AS (INSERT INTO events VALUES (%(one)s, %(task)s, 'created', 'starter', now()))
INSERT INTO journal VALUES (%(two)s, %(case)s, 'starter', now(), %(acts)s)
"""
CLAIM = """
WITH t AS (UPDATE tasks SET status = 'claimed', assignee = 'clerk', claimed = now() WHERE id = %(task)s),
e AS (INSERT INTO events VALUES (%(three)s, %(task)s, 'claimed', 'clerk', now()))
INSERT INTO journal VALUES (%(four)s, %(case)s, 'clerk', now(), %(acts)s)
"""
COMPLETE = """
WITH t AS (UPDATE tasks SET status = 'completed', answer = %(answer)s, ended = now() WHERE id = %(task)s),
w AS (DELETE FROM waits WHERE id = %(case)s),
o AS (DELETE FROM offers WHERE task = %(task)s),
c AS (UPDATE cases SET status = 'completed', state = %(state)s, ended = now() WHERE id = %(case)s),
s AS (UPDATE snapshots SET version = version + 1, content = %(snapshot)s WHERE id = %(case)s),
e AS (INSERT INTO events VALUES (%(five)s, %(task)s, 'completed', 'clerk', now()))
INSERT INTO journal VALUES (%(six)s, %(case)s, 'clerk', now(), %(acts)s)
"""
BEGIN_TIMER = """
WITH c AS (INSERT INTO cases VALUES (%(case)s, 'w2', 'running', '{}', '{}', now())),
s AS (INSERT INTO snapshots VALUES (%(case)s, 1, %(snapshot)s)),
w AS (INSERT INTO waits VALUES (%(case)s, 'timer', now() + interval '10 ms'))
INSERT INTO journal VALUES (%(one)s, %(case)s, 'starter', now(), %(acts)s)
"""
NEXT = """
WITH s AS (UPDATE snapshots SET version = version + 1, content = %(snapshot)s WHERE id = %(case)s),
w AS (UPDATE waits SET kind = 'call', due = now() + interval '10 ms' WHERE id = %(case)s)
INSERT INTO journal VALUES (%(entry)s, %(case)s, 'engine', now(), %(acts)s)
"""
END = """
WITH c AS (UPDATE cases SET status = 'completed', state = %(state)s, ended = now() WHERE id = %(case)s),
s AS (UPDATE snapshots SET version = version + 1, content = %(snapshot)s WHERE id = %(case)s),
w AS (DELETE FROM waits WHERE id = %(case)s)
INSERT INTO journal VALUES (%(entry)s, %(case)s, 'engine', now(), %(acts)s)
"""

VALUES: dict[str, Any] = {
    "input": '{"amount": 1200}',
    "state": '{"net": 960, "tax": 240, "kind": "request", "large": true}',
    "snapshot": '{"frames": [{"step": "review", "token": 7}], "waits": [{"kind": "task", "token": 7}], "results": {}}',
    "form": '{"type": "object", "properties": {"note": {"type": "string", "title": "Note"}}}',
    "acts": '[{"action": "net"}, {"action": "tax"}, {"action": "kind"}, {"action": "size"}, {"action": "review"}]',
    "answer": '{"outcome": "approve", "values": {"note": "ok"}}',
}
NAMES = ("case", "task", "one", "two", "three", "four", "five", "six")


def main() -> None:
    """Serve W1 and W2."""
    place = Place.told()
    connection = psycopg.connect(host=place.host, user=place.user, dbname=place.database, autocommit=True)
    if place.number == 0:
        connection.execute(TABLES)
    cursor = connection.cursor()

    def write(statement: str, values: dict[str, Any]) -> None:
        cursor.execute(statement, values, prepare=True)

    def w1(units: int) -> None:
        for _ in range(units):
            values = VALUES | {name: uuid4() for name in NAMES}
            for statement in (START, CLAIM, COMPLETE):
                write(statement, values)

    def w2(units: int) -> None:
        cases = [VALUES | {name: uuid4() for name in NAMES} for _ in range(units)]
        for statement in (BEGIN_TIMER, NEXT, NEXT, NEXT, END):
            for values in cases:
                write(statement, values | {"entry": uuid4()})
            time.sleep(0.01)

    serve({"w1": w1, "w2": w2})


if __name__ == "__main__":
    main()
