"""Every index has a reason: docs/database.md names it, and none repeats the beginning of another."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

PAGE = Path(__file__).resolve().parents[2] / "docs/database.md"
ROW = re.compile(r"^\| `(wf_\w+)` \| `(\w+)` \| (.+) \|$", re.MULTILINE)

INDEXES = """
SELECT t.relname, c.relname, pg_get_expr(i.indpred, i.indrelid), pg_get_indexdef(i.indexrelid) LIKE '% USING btree %',
  ARRAY(SELECT pg_get_indexdef(i.indexrelid, n, true) || i.indclass[n - 1] FROM generate_series(1, i.indnkeyatts) n),
  EXISTS (SELECT FROM pg_constraint o WHERE o.conindid = i.indexrelid AND o.contype IN ('p', 'u')) OR i.indisunique
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = 'public' AND NOT t.relispartition AND t.relname LIKE 'wf\\_%' ORDER BY t.relname, c.relname
"""
"""The table, the index, its condition, whether it is a tree, its columns with their kind of order, and whether it is a rule.

Partitions have the indexes of their table."""

pytestmark = pytest.mark.django_db


def indexes() -> list[tuple[str, str, str | None, bool, list[str], bool]]:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES)
        return cursor.fetchall()


def test_every_index_names_the_reads_that_need_it() -> None:
    told = {(table, index) for table, index, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))}
    assert {(table, index) for table, index, _, _, _, is_rule in indexes() if not is_rule} == told


def repeating() -> Iterator[tuple[str, str]]:
    """Return indexes whose columns are the first of another over the same rows; a smaller one over fewer rows has its use."""
    found = indexes()
    for table, index, condition, is_tree, columns, is_rule in found:
        for other_table, other, other_condition, other_is_tree, more, _ in found:
            if table != other_table or index == other or is_rule or not (is_tree and other_is_tree):
                continue
            if (
                other_condition == condition
                and more[: len(columns)] == columns
                and (len(more) > len(columns) or index > other)
            ):
                yield index, other


def test_no_index_repeats_the_beginning_of_another() -> None:
    assert {index for index, _ in repeating()} == set()
