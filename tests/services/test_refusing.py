"""What a command says about its database: the server's refusals in a sentence, a statement's own as they are."""

import pytest
from django.db import Error, connection

from workflowplatform.database.command_errors import EMPTY, sentence_for


def error_of(sql: str) -> Error:
    with pytest.raises(Error) as caught, connection.cursor() as cursor:
        cursor.execute(sql)
    return caught.value


@pytest.mark.parametrize("sql", ["SELECT 1 FROM wf_nothing", "SELECT nothing FROM wf_signals"])
def test_a_database_without_our_tables_wants_to_be_migrated(db: None, sql: str) -> None:
    assert sentence_for(error_of(sql)) == EMPTY


@pytest.mark.parametrize("sql", ["SELECT 1/0", "SELEC 1"])
def test_a_statement_that_failed_is_no_matter_of_the_server(db: None, sql: str) -> None:
    assert sentence_for(error_of(sql)) is None


def test_a_server_that_ends_the_line_is(transactional_db: None) -> None:
    told = sentence_for(error_of("SELECT pg_terminate_backend(pg_backend_pid())"))
    connection.close()
    assert told is not None
    assert "terminat" in told
