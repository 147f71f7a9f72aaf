"""Keep compiled definitions in memory, per process. None becomes invalid: a trigger forbids to change an activated definition."""

from functools import lru_cache
from uuid import UUID

from engine.kernel.definition import Definition, compile_definition
from engine.models import TemplateVersion


@lru_cache(maxsize=512)
def definition_of(version_id: UUID) -> Definition:
    """Return the compiled form of an activated version."""
    canonical = TemplateVersion.objects.values_list("canonical", flat=True).get(pk=version_id)
    assert canonical is not None, "only activated versions are executed"
    return compile_definition(canonical)
