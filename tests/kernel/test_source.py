"""Reading documents: the quick way and the thorough way give the same nodes, and large templates are quick."""

import json
import os
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.language.normalizer import normalize
from engine.kernel.language.quick_source import NotPlain, read_json, read_plain
from engine.kernel.language.source import SourceRefused, read_documents
from engine.kernel.language.source_nodes import Node
from tests.kernel.test_cases import SOURCES

TEMPLATES = {path.stem: path.read_text() for path in SOURCES}


def shown(node: Node) -> Any:
    """Show a node with its positions and types."""
    inner: Any = node.scalar
    if node.entries is not None:
        inner = [[name, shown(key), shown(value)] for name, (key, value) in node.entries.items()]
    elif node.items is not None:
        inner = [shown(item) for item in node.items]
    return [node.line, node.column, node.kind, node.quoted, type(node.scalar).__name__, inner]


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_quick_and_thorough_reading_are_the_same(name: str) -> None:
    (thorough,) = read_documents(TEMPLATES[name])
    try:
        quick = read_plain(TEMPLATES[name])
    except NotPlain:
        pytest.skip("this template uses more of YAML")
    assert shown(quick) == shown(thorough)


@pytest.mark.parametrize("indent", [None, 2])
def test_json_read_quickly_and_thoroughly_is_the_same(indent: int | None) -> None:
    for name, source in list(TEMPLATES.items())[::4]:
        text = json.dumps(read_documents(source)[0].plain(), indent=indent, ensure_ascii=False)
        (thorough,) = read_documents(text)
        assert shown(read_json(text)) == shown(thorough), name


LETTERS = "ab1.-:,[]{}'\"# \n$&*!|>%@`?0"


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.text(alphabet=LETTERS, max_size=40))
def test_quick_reading_is_never_wrong(source: str) -> None:
    try:
        quick = read_plain(source)
    except (NotPlain, SourceRefused):
        return
    try:
        found = read_documents(source)
    except SourceRefused as refused:
        raise AssertionError(f"read quickly, refused thoroughly: {refused.message}") from refused
    assert [shown(one) for one in found] == [shown(quick)]


def _seconds_of_cpu(source: str) -> float:
    began = time.process_time()
    assert normalize(source).canonical is not None
    return time.process_time() - began


@pytest.mark.skipif("COVERAGE_PROCESS_START" in os.environ, reason="its time is what it judges, and tracing takes time")
def test_template_of_a_megabyte_is_validated_in_three_seconds() -> None:
    lines = ["workflow: big", "steps:"]
    for number in range(5000):
        lines += [
            f"  - id: s{number}",
            f"    when: start.amount > {number}",
            "    task:",
            f'      title: "Task {number} of ${{start.name}}"',
            "      roles: [finance, management]",
            "      description: a longer text that fills the template up to one megabyte",
            "    timeout: P5D",
        ]
    source = "\n".join(lines)
    assert len(source) > 1_000_000
    assert any(_seconds_of_cpu(source) < 3.0 for _ in range(5)), "never, in five tries: a busy machine is no excuse"


def test_document_that_never_ends_well_is_refused_in_time() -> None:
    for source in ("[" * 60_000, "a: " * 40_000, "{" * 60_000, "- " * 60_000, '"' * 60_001, "x" * 2_000_001):
        began = time.process_time()
        found = normalize(source)
        assert found.findings
        assert time.process_time() - began < 2.0, source[:10]
