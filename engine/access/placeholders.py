"""Ask the rules of access with placeholders: so that a list's SQL is built once for everybody whose rules have the same form."""

from engine.db.query_shapes import Each, Given
from workflowplatform.accounts.actor import Actor, Scope, StandIn


def placeholder_of(actor: Actor, given: Given) -> Actor:
    """Return an actor of placeholders. Level, kind, and how many roles there are belong to the shape: rules differ by them."""
    tenant = given(actor.tenant_id)
    given.form(tuple(len(absent.scopes) for absent in actor.stands_in))
    return Actor(
        person_id=given(actor.person_id),
        name=given(actor.name),
        level=given(int(actor.level)),
        tenant_id=tenant,
        home_tenant_id=given(actor.home_tenant_id) if given(actor.crosses) else tenant,
        roles=given(actor.roles),
        is_service=given(actor.is_service),
        same_eyes=given(actor.same_eyes),
        stands_in=tuple(_absent(absent, given) for absent in actor.stands_in),
        leads=given(actor.leads),
    )


def _absent(absent: StandIn, given: Given) -> StandIn:
    """Return an absent person of placeholders; what is only shown stays away."""
    return StandIn(
        person_id=given(absent.person_id),
        name=given(absent.name),
        title="",
        until=given(absent.until),
        eyes=given(absent.eyes),
        scopes=tuple(
            Scope(given(Each(scope.roles)), given(Each(scope.templates)), given(scope.before))
            for scope in absent.scopes
        ),
    )
