"""Empty the tables after a test that commits, without truncating them.

Django's flush truncates all fifty tables and makes its permissions anew: 114 ms where deleting the few rows of a test
takes 5 ms. Rows are deleted past foreign keys and past the triggers that keep the audit, which the tests' role was allowed
(tests/servers.py). The locks let a worker finish what it writes, and begin again when all is gone.
"""

from functools import cache
from typing import Any

import psycopg
from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected

from workflowplatform.servers.postgres import APPLICATION, ROLE

KEPT = {"django_content_type", "auth_permission"}
"""Written by migrations and by nobody else."""


def empty_tables(*command: object, **options: Any) -> None:
    """Do what `manage.py flush` would; once more where a worker took its locks in another order."""
    try:
        _delete_all()
    except OperationalError as error:
        if not is_deadlock(error):
            raise
        _delete_all()


def is_deadlock(error: BaseException) -> bool:
    """Return whether the database ended it because two waited for each other."""
    return isinstance(error.__cause__, DeadlockDetected)


def _delete_all() -> None:
    if connection.settings_dict["USER"] == APPLICATION:
        with psycopg.connect(**{**connection.get_connection_params(), "user": ROLE}) as owner:
            owner.execute(_statements())
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_statements())


@cache
def _statements() -> str:
    found = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = sorted(set(found) - KEPT)
    locked = f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE; SET LOCAL session_replication_role = replica"
    return "; ".join([locked, *(f"DELETE FROM {table}" for table in tables)])
