"""Keep compiled definitions at hand: one per version, for ever, since an activated definition never changes."""

from functools import lru_cache
from typing import Any
from uuid import UUID

from engine.kernel.definition import Definition, compile_definition
from engine.models import TemplateVersion


@lru_cache(maxsize=512)
def claims_decide(version_id: UUID) -> bool:
    """Tell whether a claim alone moves an instance of this version: it picks among offers."""
    return _picks_by_claim(definition_of(version_id).canonical.get("steps"))


def _picks_by_claim(part: Any) -> bool:
    if isinstance(part, list):
        return any(_picks_by_claim(one) for one in part)
    if not isinstance(part, dict):
        return False
    first = part.get("first")
    picks = "any_order" in part or (isinstance(first, dict) and first.get("pick") == "start")
    return picks or any(_picks_by_claim(one) for one in part.values())


@lru_cache(maxsize=512)
def definition_of(version_id: UUID) -> Definition:
    """Return the compiled form of an activated version."""
    canonical = TemplateVersion.objects.values_list("canonical", flat=True).get(pk=version_id)
    assert canonical is not None, "only activated versions are executed"
    return compile_definition(canonical)
