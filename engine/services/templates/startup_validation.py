"""Validate every active version again when a release starts.

What was clean when it was activated may not be so for this release: a registered function is gone, a role was deleted, the
language refuses what it once took. `WORKFLOW_STARTUP_VALIDATION` says what follows: `strict` refuses to start with a sentence,
`warn` marks the version unavailable (nothing new is started from it, running instances continue) and says so in the admin and in
the health. A version that is fit again is available again.

A worker's supervisor does this before its workers begin; web servers only where it is strict, since marks are everybody's.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby

import structlog
from django.db import DatabaseError, connection, transaction

from engine.audit.chain import Act, record
from engine.conf import conf
from engine.kernel.findings import ERROR, SINCE_ACTIVATED
from engine.kernel.language.embedding import embedded_names
from engine.kernel.language.normalizer import TenantFacts, normalize
from engine.models import TemplateVersion
from engine.services.templates.versions import tenant_facts
from workflowplatform.accounts.actor import engine_actor
from workflowplatform.database.tenancy import crossing

log = structlog.get_logger(__name__)

TOLD = 5
"""How many unfit versions a sentence names."""


class Unfit(Exception):
    """Active versions exist that this release cannot run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found about one active version; `why` is empty where it is fit."""

    version: TemplateVersion
    why: str


def validate_active_versions() -> list[Verdict]:
    """Check every active version as if it were activated now, and mark or unmark it."""
    verdicts = list(_verdicts())
    for verdict in verdicts:
        if verdict.why != verdict.version.unavailable:
            _mark(verdict)
    return verdicts


def _verdicts() -> Iterator[Verdict]:
    active = (
        TemplateVersion.objects.active().select_related("template", "tenant").order_by("tenant_id", "template__name")
    )
    for tenant_id, versions in groupby(active, key=lambda version: version.tenant_id):
        facts = tenant_facts(engine_actor(tenant_id))
        for version in versions:
            yield Verdict(version, _why_unfit(version, facts))


def _why_unfit(version: TemplateVersion, facts: TenantFacts) -> str:
    """Check what runs: what others put in when the version was activated is in its definition, not in its source."""
    canonical = version.canonical or {}
    put_in = bool(canonical) and bool(embedded_names(canonical) or canonical["requires"].get("step_kinds"))
    source = json.dumps(canonical) if put_in else version.source
    found = normalize(source, facts).findings
    errors = [finding for finding in found if finding.severity == ERROR and finding.code not in SINCE_ACTIVATED]
    return "; ".join(f"{error.code}: {error.message}" for error in errors)


@transaction.atomic
def _mark(verdict: Verdict) -> None:
    version, why = verdict.version, verdict.why
    TemplateVersion.objects.filter(pk=version.pk).update(unavailable=why)
    act = Act("mark_unavailable" if why else "mark_available", cause=why, new={"version": version.number})
    record(version.template, act, actor=engine_actor(version.tenant_id))
    log.warning(
        "an active version changed its availability", template=version.template.name, version=version.number, why=why
    )


@crossing("operator")
def start_up() -> None:
    """Validate as the settings say: raise Unfit where they are strict, else mark and continue."""
    try:
        unfit = [verdict for verdict in validate_active_versions() if verdict.why]
    except DatabaseError:
        if conf.startup_validation == "strict":
            raise
        log.warning("the templates could not be validated: the database did not answer")
        return
    if unfit and conf.startup_validation == "strict":
        raise Unfit(_sentence(unfit))


def _sentence(unfit: list[Verdict]) -> str:
    named = [
        f"{one.version.tenant.name}/{one.version.template.name} {one.version.number} ({one.why})"
        for one in unfit[:TOLD]
    ]
    more = f", and {len(unfit) - TOLD} more" if len(unfit) > TOLD else ""
    return (
        f"This release cannot run {', '.join(named)}{more}. Fix or archive them, "
        "or set WORKFLOW_STARTUP_VALIDATION=warn to start without them."
    )


def require_fit_to_serve() -> None:
    """Keep a web server from starting where validation is strict; a server's event loop must not wait for a database."""
    if conf.startup_validation == "strict":
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(_start_up_here).result()


def _start_up_here() -> None:
    try:
        start_up()
    finally:
        connection.close()
