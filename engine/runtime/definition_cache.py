"""Keep compiled definitions in memory, per process. None becomes invalid: a trigger forbids to change an activated definition."""

from functools import lru_cache
from uuid import UUID

from engine.errors import Unreadable
from engine.kernel.definition import Definition, compile_definition
from engine.kernel.language.stored_definitions import UNREADABLE
from engine.models import TemplateVersion
from engine.models.template import cannot_be_read


@lru_cache(maxsize=512)
def definition_of(version_id: UUID) -> Definition:
    """Return the compiled form of an activated version; one that cannot be read is refused."""
    canonical = TemplateVersion.objects.values_list("canonical", flat=True).get(pk=version_id)
    assert canonical is not None, "only activated versions are executed"
    if UNREADABLE in canonical:
        raise Unreadable(cannot_be_read(canonical[UNREADABLE]))
    return compile_definition(canonical)
