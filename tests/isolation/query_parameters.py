"""What an address of the admin can ask besides its path: filters, orders, searches, choices, popups, exports, chosen rows.

They follow from what each registered page declares and from its model's relations. Whatever names a row or a word of the
other tenant must be answered like what names nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import IntegerField, Model
from django.urls import reverse

from tests.isolation.asking import NOBODYS
from tests.isolation.checksums import changed, fingerprints, rows_written
from tests.isolation.scene import OURS, Rows, Stage, Who
from tests.isolation.walk import FOREIGN, OWN, RANDOM, Answer, ClientFactory, Deviation, Walked, plain, undone

ENTER = ("acme3", "acme4", "acme5", "acme6", "globex5")
"""One person of each kind: acme3 for all below level 4, who may not enter, and globex5, who asks for Acme's rows."""
TAKEN = (200, 302, 400, 403, 404, 405, 422)
PLACE = re.compile(r"\{([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Probe:
    """A request with places for rows and words: `{engine.task}`, `{word}`."""

    method: str
    address: str
    body: dict[str, Any] | None = None

    @property
    def names_rows(self) -> bool:
        return bool(PLACE.search(f"{self.address} {self.body}"))

    def __str__(self) -> str:
        return f"{self.method} {self.address} {self.body or ''}".strip()


def every_parameter() -> list[Probe]:
    """List such requests for every page that the admin has."""
    probes = [
        probe for model in admin.site._registry for probe in (*_of_list(model), *_choices(model), *_chosen(model))
    ]
    return [
        *probes,
        *_exports(),
        Probe("GET", "/admin/search/?s={word}"),
        Probe("GET", "/admin/search/?s={word}&extended=1"),
    ]


def _base(model: type[Model], view: str = "changelist") -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}")


def _of_list(model: type[Model]) -> Iterator[Probe]:
    page, base = admin.site._registry[model], _base(model)
    asked = [f"o={sign}{number}" for number in range(1, len(page.list_display) + 1) for sign in ("", "-")]
    if not isinstance(model._meta.pk, IntegerField):  # a number also occurs in texts of one's own
        asked.append(f"q={{{model._meta.label_lower}}}")
    asked += ["q={word}", "q={NAME}", "all=", "p=1", "p=x", "e=1", "_facets=True"]
    asked += [
        "tenant__name={word}",
        "tenant={accounts.tenant}",
        "id__in={engine.instance}",
        "_popup=1",
        "_to_field=tenant",
    ]
    asked += [f"_popup=1&_to_field={model._meta.pk.name}&q={{word}}", "_changelist_filters=q%3D{word}"]
    asked += [f"{name}={value}" for entry in page.list_filter for name, value in _filter(model, entry)]
    yield from (Probe("GET", f"{base}?{query}") for query in asked)
    yield Probe(
        "GET", f"{_base(model, 'add')}?template={{engine.template}}&person={{accounts.user}}&tenant={{accounts.tenant}}"
    )


def _filter(model: type[Model], entry: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(entry, str):
        yield from ((entry.parameter_name, value) for value in ("task", "{word}"))
        return
    field: Any = model
    for part in entry.split("__"):
        field = (field if isinstance(field, type) else field.related_model)._meta.get_field(part)
    if field.is_relation:
        yield f"{entry}__id__exact", f"{{{field.related_model._meta.label_lower}}}"
        yield f"{entry}__{field.target_field.name}__exact", f"{{{field.related_model._meta.label_lower}}}"
    yield f"{entry}__exact", "{word}"


def _choices(model: type[Model]) -> Iterator[Probe]:
    names = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}"
    for field in model._meta.get_fields():
        other = field.related_model if field.is_relation else None
        if isinstance(other, type) and admin.site.is_registered(other):
            for term in ("", "{word}", f"{{{other._meta.label_lower}}}"):
                yield Probe("GET", f"/admin/autocomplete/?{names}&field_name={field.name}&term={term}")


def _chosen(model: type[Model]) -> Iterator[Probe]:
    label = model._meta.label_lower
    for act in admin.site._registry[model].actions or ():
        for across in ("0", "1"):
            rows = [f"{{own {label}}}", f"{{{label}}}"]
            sent = {"action": act.__name__, "_selected_action": rows, "select_across": across}
            yield Probe("POST", _base(model), sent)
    if label in ("engine.instance", "engine.deadletter"):
        kind = {"engine.instance": "suspend", "engine.deadletter": "discard"}[label]
        sent = {"action": kind, "rows": f"{{own {label}}},{{{label}}}", "reason": "x"}
        yield Probe("POST", reverse("admin:engine_bulkact_begin"), sent)


def _exports() -> Iterator[Probe]:
    base = reverse("admin:engine_audit_export")
    for query in (
        "",
        "format=json",
        "q={word}",
        "q={NAME}&format=json",
        "tenant__name={word}",
        "tenant={accounts.tenant}",
        "on=person",
    ):
        yield Probe("GET", f"{base}?{query}")


def walk_query_parameters(
    client_factory: ClientFactory,
    stage: Stage,
    probes: list[Probe],
    *,
    people: tuple[str, ...] = ENTER,
    around: Callable[[], Any] = undone,
) -> Walked:
    """Send every such request and return what deviates."""
    walked = Walked()
    askers = {who: client_factory(who) for who in stage.people if who.name in people}
    before = {rows.name: fingerprints(rows) for rows in (stage.ours, stage.theirs)}
    for who, asker in askers.items():
        for probe in probes:
            found = {}
            for cell in (FOREIGN, RANDOM) if probe.names_rows else (OWN,):
                found[cell] = _through(asker, stage, who, probe, cell, walked, before, around)
            if len(found) == 2 and found[FOREIGN] != found[RANDOM] and not _crosses(who, probe):
                told = f"{found[FOREIGN].status} and {found[RANDOM].status}"
                walked.deviations.append(Deviation(f"{probe} by {who.name}", "told foreign from random", told))
    return walked


LOOKED = frozenset({"wf_audit", "wf_tenants"})
"""Where it is kept that level 6 looked at a tenant."""


def _crosses(who: Who, probe: Probe) -> bool:
    """Return whether level 6 sees every tenant here: in their list, and where one is chosen from it."""
    return who.level == 6 and ("/accounts/tenant/" in probe.address or _TENANT in probe.address)


_TENANT = "field_name=tenant&"
MADE = re.compile(r"(/admin/engine/bulkact/)[0-9a-f-]{36}/")
"""Where a new act leads: its id is new each time."""


def _through(
    asker: Any, stage: Stage, who: Who, probe: Probe, cell: str, walked: Walked, before: Any, around: Any
) -> Answer:
    mine = stage.rows_of(who.tenant)
    other = stage.theirs if who.tenant == OURS else stage.ours
    rows = {OWN: mine, FOREIGN: other, RANDOM: None}[cell]
    named: set[str] = set()
    address, body = _filled(probe.address, rows, mine, named), _filled(probe.body, rows, mine, named)
    with around():
        written = rows_written()
        answer: Answer = asker(probe.method, address, body, False)
        touched = changed(before[other.name], fingerprints(other)) if rows_written() != written else []
    walked.counts["query parameters"] += 1
    walked.counts["refusals"] += answer.status in (400, 403, 404, 405, 422)
    asked = f"{probe} by {who.name} with {cell} rows"
    if answer.status not in TAKEN:
        walked.deviations.append(Deviation(asked, "broke", str(answer.status)))
    if touched and not (_crosses(who, probe) and {*touched} <= LOOKED):
        walked.deviations.append(Deviation(asked, "changed the other tenant's rows", ", ".join(touched)))
    if not _crosses(who, probe):
        walked.deviations += _shown(asked, answer, other, named)
    return Answer(answer.status, MADE.sub(r"\1ID/", plain(answer.place, named)), plain(answer.text, named))


def _shown(asked: str, answer: Answer, other: Rows, named: set[str]) -> Iterator[Deviation]:
    """Look for what belongs to the other tenant, except for what the request named and the answer repeats."""
    text = plain(f"{answer.place} {answer.text}", named).lower()
    shown = [one for one in (other.name, *other.ids()) if one.lower() in text]
    if shown:
        yield Deviation(asked, "showed the other tenant", ", ".join(shown[:3]))


def _filled(sent: Any, rows: Rows | None, mine: Rows, named: set[str]) -> Any:
    if isinstance(sent, dict):
        return {name: _filled(value, rows, mine, named) for name, value in sent.items()}
    if isinstance(sent, list):
        return [_filled(value, rows, mine, named) for value in sent]
    if sent is None:
        return None
    text = re.sub(r"\{own ([\w.]+)\}", lambda found: str(mine.pk[found[1]]), sent)

    def fill(found: re.Match[str]) -> str:
        value = _value(rows, found[1])
        named.add(value)
        return value

    return PLACE.sub(fill, text)


def _value(rows: Rows | None, name: str) -> str:
    if name in ("word", "NAME"):
        word = rows.name if rows else "nobody"
        return word if name == "word" else word.upper()
    if rows is not None:
        return str(rows.pk[name])
    return {"engine.audit": "999999999", "accounts.token": "f" * 128}.get(name, str(NOBODYS))
