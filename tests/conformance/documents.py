"""Every stored test there is, with the workflows that it needs around it."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.gallery import gallery
from engine.kernel.definition import compile_definition
from engine.kernel.language.normalizer import Normalized, normalize, normalize_set
from engine.kernel.program import Definition
from tests.kernel.test_language_page import EXAMPLES, read_example
from tests.kernel.test_same_answers import TEMPLATES
from tests.patterns.book import Pattern, read_book


@dataclass(frozen=True)
class Stored:
    """One stored test, its workflow and those around it."""

    source: str
    definition: Definition
    test: Mapping[str, Any]
    around: Mapping[str, Definition]
    is_first: bool
    expects: bool = True
    """Whether it says what must come of it; else only the two sides are compared."""

    @property
    def title(self) -> str:
        """Name it for people."""
        return f"{self.source}: {self.definition.name}: {self.test.get('name', '')}"


@cache
def stored_tests() -> tuple[Stored, ...]:
    """Collect every stored test of the gallery, of the language's page, of the kernel's and of the shared templates."""
    return (
        *_of("gallery", [normalize(source) for source in gallery().values()]),
        *_of("answers", normalize_set(TEMPLATES, allow_not_yet=True)),
        *(one for number, source in enumerate(EXAMPLES) for one in _of(f"page {number}", [read_example(source)])),
        *_of("shared", _shared()),
        *(one for pattern in read_book() for one in _plays_of(pattern)),
    )


def _shared() -> tuple[Normalized, ...]:
    place = Path(os.environ.get("WORKFLOW_SHARED", Path(__file__).parents[3] / "shared")) / "repro-language.yaml"
    return normalize_set(place.read_text(), allow_not_yet=True) if place.exists() else ()


def _plays_of(pattern: Pattern) -> Iterator[Stored]:
    """Write the plays of a pattern as tests; what they expect is another suite's to see."""
    whole = pattern.template if pattern.template.startswith("workflow:") else f"workflow: tried\n{pattern.template}"
    definition = _compiled(normalize(whole, allow_not_yet=True))
    for place, play in enumerate(pattern.plays):
        (start, *acts) = [str(act) for entry in play for act in entry]
        test = {
            "name": f"play {place}",
            "start": json.loads(start.partition(" ")[2] or "{}"),
            "do": [_act_of(act) for act in acts if act != "cancel"],
        }
        source = f"pattern {pattern.number}"
        yield Stored(source, definition, test, {definition.name: definition}, place == 0, expects=False)


def _act_of(text: str) -> dict[str, Any]:
    word, _, rest = text.partition(" ")
    if word == "signal":
        return {"signal": rest}
    if word in ("claim", "release"):
        return {word: rest, "by": "bob"}
    name, _, given = (rest if word in ("late", "complete") else text).partition(" ")
    within, _, task = name.rpartition("/")
    answer = json.loads(given) if given.startswith("{") else {"outcome": given} if given else {}
    return {"complete": task, "by": "eve" if word == "late" else "bob", "with": answer} | (
        {"in": within} if within else {}
    )


def _of(source: str, found: Any) -> Iterator[Stored]:
    made = [_compiled(one) for one in found]
    around = {one.name: one for one in made}
    for definition in made:
        for place, test in enumerate(definition.canonical.get("tests", ())):
            yield Stored(source, definition, test, around, place == 0)


def _compiled(found: Normalized) -> Definition:
    assert found.canonical is not None, found.findings
    return compile_definition(json.loads(json.dumps(found.canonical)))


def slug(title: str) -> str:
    """Write a title so that it can be typed."""
    return re.sub(r"[^\w:]+", "-", title)[:90]
