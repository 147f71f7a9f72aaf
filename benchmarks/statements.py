"""Count the statements that this process sends, Django's and the hand-written ones alike.

The embedded PostgreSQL comes without pg_stat_statements. Every cursor ends in psycopg's own `execute`, the hot path in
`Hot`, and that is where they are counted; BEGIN and COMMIT do not pass there, SAVEPOINT and SET are left out as the budget says.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psycopg

from workflowplatform.database.hot import Hot

TOLD = re.compile(r"^SELECT set_config\([^;]*\); ")
"""For which tenant a transaction speaks rides before its statement, on the same journey."""
UNCOUNTED = ("SAVEPOINT", "RELEASE", "ROLLBACK", "SET", "BEGIN", "COMMIT")


@contextmanager
def counted() -> Iterator[list[str]]:
    """Provide the list to which every statement sent within the block is added."""
    sent: list[str] = []
    execute, send = psycopg.Cursor.execute, Hot._send

    def counting(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        text = TOLD.sub("", query if isinstance(query, str) else str(query))
        if not text.lstrip().upper().startswith(UNCOUNTED):
            sent.append(text)
        return execute(self, query, *args, **kwargs)

    def counting_hot(self: Hot, statement: str, values: Any, prepare: bool) -> Any:
        sent.append(statement)
        return send(self, statement, values, prepare)

    with patch.object(psycopg.Cursor, "execute", counting), patch.object(Hot, "_send", counting_hot):
        yield sent
