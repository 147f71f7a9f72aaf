"""The screens and languages in which a page is looked at."""

from __future__ import annotations

from typing import Any

import pytest

PHONE = {"width": 360, "height": 780}
WORDS = {"en": "en-GB", "de": "de-DE"}
FACES = (
    pytest.param("en", None, id="1280-en"),
    pytest.param("de", PHONE, id="360-de"),
    pytest.param("de", None, id="1280-de", marks=pytest.mark.slow),
    pytest.param("en", PHONE, id="360-en", marks=pytest.mark.slow),
)
"""Every language and every size; a short run takes each once."""
REPEATED = (
    pytest.param("en", None, id="1280-en"),
    pytest.param("de", PHONE, id="360-de", marks=pytest.mark.slow),
    *FACES[2:],
)
"""The same, for what is looked at elsewhere in German and on a phone: a short run takes the first."""


def options_of(language: str, size: dict[str, int] | None) -> dict[str, Any]:
    """Return how a browser is opened for a face."""
    return {"locale": WORDS[language], **({"viewport": size} if size else {})}
