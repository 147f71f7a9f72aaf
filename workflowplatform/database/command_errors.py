"""Explain in one sentence why a command cannot use its database, for the person at the terminal."""

import psycopg
from django.db import Error, InterfaceError, OperationalError

from workflowplatform.servers.database_url import NOWHERE

UNKNOWN = "No database is known: start bin/up, or set DATABASE_URL."
EMPTY = "The database lacks tables or columns of this release: run manage.py migrate."
MISSING = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)
SERVERS_OWN = ("08", "53", "57P")
"""Classes of what the server as a whole refuses: the line, its resources, a shutdown."""


def sentence_for(error: Error) -> str | None:
    """Return what is wrong and what to do; None where the command itself failed."""
    if NOWHERE in str(error):
        return UNKNOWN
    if isinstance(error.__cause__, MISSING):
        return EMPTY
    if isinstance(error, OperationalError | InterfaceError) and _is_of_the_server(error):
        told = str(error).strip().splitlines()[0].rstrip(".")
        return f"The database does not answer: {told}. Start it, or check DATABASE_URL."
    return None


def _is_of_the_server(error: Error) -> bool:
    """Return whether no statement is to blame: a connection that could not be made carries no code."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(SERVERS_OWN)
