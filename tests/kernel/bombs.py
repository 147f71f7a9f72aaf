"""Expressions and templates that are small to send and large to compute: each must be refused, soon and in little memory."""

from collections.abc import Mapping
from typing import Any

from engine.kernel.expressions.cel import LONGEST_EXPRESSION

LONG = "x" * 60_000
AB = "ab" * 10_000
MANY = list(range(9_000))
ITEMS = [{"name": f"item {number}", "note": "y" * 40} for number in range(3_000)]

EXPRESSIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "replace by itself": ("replace(start.a, 'x', start.a) == ''", {"a": LONG}),
    "replace as a method": ("start.a.replace('x', start.a) == ''", {"a": LONG}),
    "replace of nothing": ("replace(start.a, '', start.a).size() > 1", {"a": LONG}),
    "replace some": ("start.a.replace('x', start.a, 50000).size() > 1", {"a": LONG}),
    "replace in turn": ("replace(replace(start.a, 'x', 'xxxxxxxxxxxxxxxx'), 'x', start.b)", {"a": LONG, "b": LONG}),
    "join by a text": ("join(start.l, start.a) == ''", {"l": MANY, "a": LONG}),
    "join as a method": ("start.l.map(i, 'x').join(start.a) == ''", {"l": MANY, "a": LONG}),
    "concat of all": ("start.l.map(i, concat(start.a, start.a, start.a)).size()", {"l": MANY, "a": LONG}),
    "plus in map": ("start.l.map(i, start.a + start.a).size()", {"l": MANY, "a": LONG}),
    "lists in map": ("start.l.map(i, start.l + start.l).size()", {"l": MANY}),
    "list of itself": ("start.l.map(i, start.l)", {"l": MANY}),
    "list of texts": ("start.l.map(i, start.a)", {"l": MANY, "a": LONG}),
    "bound again and again": (
        f"cel.bind(a, [{'start.a, ' * 19}start.a], cel.bind(b, [{'a, ' * 19}a], length([{'b, ' * 19}b])))",
        {"a": LONG},
    ),
    "split and count": ("start.l.map(i, start.a.split('')).size()", {"l": MANY, "a": LONG}),
    "split in filter": ("start.l.filter(i, size(split(start.a, '')) > i).size()", {"l": MANY, "a": LONG}),
    "in inside filter": ("start.l.filter(i, i in start.m).size()", {"l": MANY, "m": list(range(10_000, 40_000))}),
    "in passed over": ("start.l.exists(i, (i + 100000) in start.m)", {"l": MANY, "m": MANY * 3}),
    "equal inside all": ("start.l.all(i, start.m == start.m)", {"l": MANY, "m": MANY}),
    "contains its prefix": ("start.l.exists(i, start.a.contains(start.b))", {"l": MANY, "a": LONG, "b": "x" * 30_000 + "y"}),
    "looked for from behind": ("start.l.map(i, start.a.lastIndexOf(start.b))", {"l": MANY, "a": LONG, "b": "y" + "x" * 30_000}),
    "unique of many": ("start.l.map(i, unique(start.l).size()).size()", {"l": MANY}),
    "sort of many": ("start.l.map(i, sort(start.l, 'name').size()).size()", {"l": ITEMS}),
    "omit of many": ("start.l.map(i, length(omit(start.o, start.l.map(j, string(j))))).size()",
                     {"l": list(range(80)), "o": {f"k{number}": number for number in range(9_000)}}),
    "pattern over texts": ("start.l.filter(i, start.a.matches('(a|b|ab)*c')).size()", {"l": MANY, "a": AB}),
    "pattern of patterns": ("start.l.filter(i, 'ab'.matches(start.p)).size()", {"l": MANY, "p": "((a{1,10}){1,10}){1,10}"}),
    "pattern from outside": ("start.l.filter(i, 'ab'.matches(start.p)).size()", {"l": MANY, "p": "(x+x+)+y" * 500}),
    "pattern of an author": ("start.l.filter(i, i.matches('(([a-z]{1,30}){1,30}){1,1}')).size()", {"l": ["a"] * 9_000}),
    "format in map": ("start.l.map(i, '%.900f %.900f %.900f %.900f'.format([1.5, 2.5, 3.5, 4.5])).size()", {"l": MANY}),
    "format of a list": ("start.l.map(i, '%s'.format([start.l])).size()", {"l": MANY}),
    "quote in map": ("start.l.map(i, strings.quote(start.a)).size()", {"l": MANY, "a": LONG}),
    "base64 in map": ("start.l.map(i, base64.encode(bytes(start.a))).size()", {"l": MANY, "a": LONG}),
    "merge in map": ("start.l.map(i, merge(start.o, {'a': i})).size()", {"l": MANY, "o": {f"k{n}": n for n in range(2_000)}}),
    "upper of a ligature": ("start.l.map(i, upper(start.a)).size()", {"l": MANY, "a": "\ufb03" * 30_000}),
    "numbers too many": ("size(start.l)", {"l": [1] * 200_000}),
    "a text too long": ("size(start.a)", {"a": "x" * 2_200_000}),
}  # fmt: skip
"""name → (expression, start). Each takes seconds or gigabytes where nothing bounds it, or hands in too much."""

HEAD = "workflow: bomb\nsteps:\n"
SOURCES: Mapping[str, str] = {
    "brackets": "[" * 60_000,
    "closed brackets": "[" * 30_000 + "]" * 30_000,
    "braces": '{"a":' * 30_000 + "1" + "}" * 30_000,
    "dashes": "- " * 60_000,
    "deep step": HEAD + "".join("  " * depth + "- if: true\n" + "  " * depth + "  then:\n" for depth in range(1, 250)),
    "billion laughs": "a: &a [x,x,x,x]\n" + "".join(f"{n}: &{n} [*a,*a,*a]\n" for n in "bcdefghij"),
    "one long text": HEAD + f"  - set: {{a: '{'x' * 900_000}'}}\n",
    "wide map": HEAD + "  - set: {" + ", ".join(f"k{number}: 1" for number in range(70_000)) + "}\n",
    "deep expression": HEAD + f"  - set: {{a: '${{{'(' * 1_000}1{')' * 1_000}}}'}}\n",
    "long expression": HEAD + f"  - set: {{a: '${{{'1+' * LONGEST_EXPRESSION}1}}'}}\n",
}
"""Templates that are refused with findings, not with an exception."""
