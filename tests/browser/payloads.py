"""An XSS corpus, and a way to put it into every text that the database keeps.

Every payload carries a marker: what runs sets `window.xss9`, opens a dialog, or asks a host that does not exist. Texts are
written into the rows themselves, past every check of ours, so that only how pages are drawn stands between them and a browser.
`LEFT` names the fields that are left as they are, with the reason; a new field of any model is injected by itself.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import DatabaseError, connection, models, transaction

MARKER = "xss9"

PAYLOADS = (
    "<script>window.xss9=1</script>",
    "</script><script>window.xss9=1</script>",
    "</title><script>window.xss9=1</script>",
    "</textarea><script>window.xss9=1</script>",
    "</style><script>window.xss9=1</script>",
    "</option></select><img src=x onerror=window.xss9=1>",
    "--><script>window.xss9=1</script><!--",
    "<!--<script>window.xss9=1//",
    "<ScRiPt>window.xss9=1</sCrIpT>",
    "<script src=//xss9.invalid/a.js></script>",
    "<script src=data:text/javascript,window.xss9=1></script>",
    "<img src=x onerror=window.xss9=1>",
    "<img src=x onerror=alert('xss9')>",
    "<img/src=`x`onerror=window.xss9=1>",
    "<img src=//xss9.invalid/a.png>",
    "<svg onload=window.xss9=1>",
    "<svg><script>window.xss9=1</script></svg>",
    "<svg><animate onbegin=window.xss9=1 attributeName=x dur=1s>",
    "<svg><foreignObject><iframe src=javascript:window.xss9=1>",
    "<svg><use href='data:image/svg+xml,<svg onload=window.xss9=1>'/></svg>",
    "<math><mtext><table><mglyph><style><img src onerror=window.xss9=1>",
    "<math href=javascript:window.xss9=1>xss9</math>",
    "<iframe src=javascript:window.xss9=1></iframe>",
    "<iframe srcdoc='<script>parent.xss9=1</script>'></iframe>",
    "<object data=javascript:window.xss9=1></object>",
    "<embed src=//xss9.invalid/a.swf>",
    "<a href=javascript:window.xss9=1>xss9</a>",
    "<a href='java\tscript:window.xss9=1'>xss9</a>",
    "<form action=javascript:window.xss9=1><button>xss9</button></form>",
    "<base href=//xss9.invalid/>",
    "<meta http-equiv=refresh content='0;url=//xss9.invalid/'>",
    "<link rel=stylesheet href=//xss9.invalid/a.css>",
    "<style>@import '//xss9.invalid/a.css';body{background:url(//xss9.invalid/b)}</style>",
    "<details open ontoggle=window.xss9=1>",
    "<input autofocus onfocus=window.xss9=1>",
    "<video><source onerror=window.xss9=1></video>",
    "<body onload=window.xss9=1>",
    "<marquee onstart=window.xss9=1>",
    '" onmouseover="window.xss9=1" autofocus onfocus="window.xss9=1" x="',
    "' onfocus='window.xss9=1' autofocus x='",
    '"><img src=x onerror=window.xss9=1>',
    "x onerror=window.xss9=1 //",
    '" style="background:url(//xss9.invalid/c)" x="',
    '" hx-get="//xss9.invalid/" hx-trigger="load" x="',
    "<div hx-on:load='window.xss9=1' hx-get=/inbox/ hx-trigger=load>xss9</div>",
    "<div x-data x-init='window.xss9=1'>xss9</div>",
    '" x-data="{}" x-init="window.xss9=1" x="',
    "<template x-if='window.xss9=1'><b></b></template>",
    "<b @click='window.xss9=1' x-html='window.xss9=1'>xss9</b>",
    "{{ xss9.constructor.constructor('window.xss9=1')() }}",
    "{% load xss9 %}${window.xss9=1}",
    "javascript:window.xss9=1",
    "data:text/html,<script>opener.xss9=1</script>",
    '"};window.xss9=1;//',
    "';window.xss9=1;//",
    "\\u003cscript\\u003ewindow.xss9=1\\u003c/script\\u003e",
    "&lt;script&gt;window.xss9=1&lt;/script&gt;",
    "&#60;img src=x onerror=window.xss9=1&#62;",
    "%3Cscript%3Ewindow.xss9=1%3C/script%3E",
    "＜script＞window.xss9=1＜/script＞",
    "\u202e<script>window.xss9=1</script>\u2028",
    "<\u200bscript>window.xss9=1</script><img\u00a0src=x\u00a0onerror=window.xss9=1>",
    "<x onclick=window.xss9=1 tabindex=1 id=xss9 name=body>",
    "]]><script>window.xss9=1</script><![CDATA[",
    "<![CDATA[<script>window.xss9=1</script>]]>",
    "<noscript><p title='</noscript><img src=x onerror=window.xss9=1>'>",
)


LEFT: dict[str, str] = {
    **dict.fromkeys(
        ("accounts.user.password", "accounts.token.digest", "accounts.token.token_key"),
        "a hash or the half of one; never drawn as given",
    ),
    **dict.fromkeys(
        ("accounts.user.username", "accounts.tenant.name", "accounts.role.name", "engine.template.name",
         "engine.businesscalendar.name", "engine.secret.name", "engine.schedule.calendar"),
        "a name in addresses and keys: letters, digits, _ and - only, by validators at every way in",
    ),
    **dict.fromkeys(
        ("accounts.user.time_zone", "accounts.user.language", "engine.schedule.time_zone", "engine.schedule.cron",
         "engine.schedule.dst", "engine.schedule.window", "engine.retentionrule.completed_for",
         "engine.retentionrule.cancelled_for",
         "engine.retentionrule.runtime_for", "engine.retentionrule.audit_for"),
        "one of a closed set, or a grammar of its own; pages compute with it",
    ),
    **dict.fromkeys(
        ("engine.templateversion.canonical", "engine.runtimestate.snapshot", "engine.diagram.geometry",
         "engine.businesscalendar.content",
         "engine.bulkact.arguments", "engine.webhook.events", "engine.webhook.templates", "engine.task.columns",
         "engine.task.effective_roles",
         "engine.retentionrun.counts", "engine.effect.secrets", "accounts.tenant.http_allow", "accounts.token.scopes"),
        "a structure that the platform wrote and computes with; its texts are the template's, which is written with payloads",
    ),
    **dict.fromkeys(
        ("engine.bulkact.action", "engine.audit.action", "engine.audit.subject_kind", "engine.taskevent.kind",
         "engine.steprun.kind",
         "engine.runtimestate.runtime_provider", "engine.runtimestate.runtime_status", "engine.runtimestate.waiting_kind",
         "engine.signal.runtime_provider", "engine.signalreceipt.type", "engine.effect.transport",
         "engine.webhookdelivery.event",
         "engine.task.comment_rule", "engine.taskattachment.content_type"),
        "a word of the platform's own that nobody sends",
    ),
    **dict.fromkeys(
        ("engine.audit.hash", "engine.auditanchor.hash", "engine.templateversion.sha256", "engine.template.audit_hash",
         "engine.instance.audit_hash", "accounts.tenant.audit_hash", "accounts.user.audit_hash", "engine.diagram.sha256",
         "engine.taskattachment.sha256", "engine.event.content", "engine.signalreceipt.content",
         "engine.idempotencykey.body_sha256"),
        "a digest",
    ),
    **dict.fromkeys(
        ("engine.task.form", "engine.task.outcomes"), "the template's own, which is written with payloads",
    ),
    "engine.savedfilter.query": "a query string, read by the filter's own grammar",
    "engine.webhook.url": "an http(s) address, by the address guard; shown as text only",
}  # fmt: skip

JSON_TEXTS = frozenset({"engine.webhookdelivery.body"})
"""Texts that hold JSON."""

AUTHORED = """
workflow: marked
title: {0}
description: {1}
starters: {{min_level: 2}}
input:
  type: object
  title: {2}
  description: {3}
  properties:
    free: {{type: string, title: {4}, description: {5}, default: {6}}}
    pick: {{type: string, title: {7}, enum: [{8}, {9}]}}
steps:
  - id: look
    title: {10}
    task:
      title: {11}
      description: {12}
      instructions: {13}
      checklist: [{14}]
      outcomes: {{ok: {{title: {15}}}, no: {{title: {16}, reject: true}}}}
      comment: on_reject
      form:
        type: object
        properties:
          note: {{type: string, title: {17}, description: {18}}}
          kind: {{type: string, title: {19}, enum: [{20}, {21}]}}
          sure: {{type: boolean, title: {22}}}
"""


def authored(shift: int = 0) -> str:
    """Write a template in which every text is a payload."""
    texts = [json.dumps(_no_expression(payload)) for payload in _turn(shift)]
    return AUTHORED.format(*texts[:23])


def _no_expression(payload: str) -> str:
    """Leave out what the template's own language would take for an expression."""
    return payload.replace("${", "$ {")


def _turn(shift: int) -> list[str]:
    start = shift % len(PAYLOADS)
    return [*PAYLOADS[start:], *PAYLOADS[:start]]


def text_fields() -> Iterator[models.Field[Any, Any]]:
    """List every column of ours that holds a text somebody may have written: texts without choices, JSON, lists of texts."""
    for app in ("engine", "accounts"):
        for model in apps.get_app_config(app).get_models():
            for field in model._meta.concrete_fields:
                is_text = isinstance(field, models.CharField | models.TextField) and not field.choices
                if is_text or isinstance(field, models.JSONField | ArrayField):
                    yield field


def named(field: models.Field[Any, Any]) -> str:
    return f"{field.model._meta.label_lower}.{field.name}"


def inject(shift: int = 0) -> dict[str, int]:
    """Write payloads into every field that is not left as it is; return how many rows of each were written."""
    written: dict[str, int] = {}
    payloads = itertools.cycle(_turn(shift))
    for field in text_fields():
        if named(field) not in LEFT:
            written[named(field)] = _write(field, payloads)
    return written


def _write(field: models.Field[Any, Any], payloads: Iterator[str]) -> int:
    """Write another payload into every row; triggers that keep history as it is look away for that."""
    table = field.model._meta.db_table
    written = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for row in field.model._default_manager.all()[:200]:
            kept = getattr(row, field.attname)
            if kept is None and not isinstance(field, models.TextField):
                continue
            written += _write_row(field, row, _value(field, kept, payloads))
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    return written


def _write_row(field: models.Field[Any, Any], row: models.Model, value: Any) -> int:
    try:
        with transaction.atomic():
            return field.model._default_manager.filter(pk=row.pk).update(**{field.name: value})
    except DatabaseError:
        return 0  # unique, or longer than the column checks


def _value(field: models.Field[Any, Any], kept: Any, payloads: Iterator[str]) -> Any:
    if isinstance(field, models.JSONField):
        return _spoiled(kept, payloads)
    if isinstance(field, ArrayField):
        return [next(payloads)]
    if named(field) in JSON_TEXTS:
        return json.dumps(_spoiled(json.loads(kept), payloads))
    longest = field.max_length or 10_000
    return next(payload for payload in payloads if len(payload) <= longest or longest < 20)[:longest]


def _spoiled(kept: Any, payloads: Iterator[str]) -> Any:
    """Replace every text of a JSON value, and give an object one more key."""
    if isinstance(kept, dict):
        spoiled = {key: _spoiled(value, payloads) for key, value in kept.items()}
        return {**spoiled, next(payloads): next(payloads)} if kept else spoiled
    if isinstance(kept, list):
        return [_spoiled(value, payloads) for value in kept]
    return next(payloads) if isinstance(kept, str) else kept
