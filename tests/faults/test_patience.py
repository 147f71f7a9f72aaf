"""No statement, no wait for a lock and no forgotten transaction lasts for ever."""

import psycopg
import pytest
from django.db import connection


def fresh() -> "psycopg.Connection[tuple[str]]":
    """Connect as any process of the product does, before it has set anything."""
    return psycopg.connect(
        **{name: value for name, value in connection.get_connection_params().items() if name in KNOWN}
    )


KNOWN = ("dbname", "user", "host", "port", "password")


@pytest.mark.parametrize(
    ("name", "value"),
    [("statement_timeout", "2min"), ("lock_timeout", "30s"), ("idle_in_transaction_session_timeout", "2min")],
)
def test_every_connection_is_bounded(transactional: None, name: str, value: str) -> None:
    with fresh() as connected:
        found = connected.execute(f"SHOW {name}").fetchone()
    assert found == (value,)


def test_the_bounds_hold_for_every_role(transactional: None) -> None:
    with fresh() as connected:
        row = connected.execute(
            "SELECT s.setrole, s.setconfig FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase "
            "WHERE d.datname = current_database()"
        ).fetchone()
    assert row is not None
    assert row[0] == 0  # nobody's in particular
    assert len(row[1]) == 3
