"""A worker works on one connection, on which its statements are planned once."""

from django.db import connection

from engine.dispatch.rq import look


def test_a_worker_keeps_its_connection_from_look_to_look(transactional: None) -> None:
    look()
    first = connection.connection.info.backend_pid
    look()
    assert connection.connection.info.backend_pid == first
