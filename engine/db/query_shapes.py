"""Build the SQL of a list once per shape, not once per request: the ORM spends more on building it than on all of its rows.

A shape is what a list was asked for without the values: which filters, which order, how many roles the reader has. The first
time a shape is read, its query is built with placeholders in place of the values. Its SQL is kept with the places at which the
placeholders came up among the parameters; from then on the values of a request are put there. The query itself, and with it the
rule who sees what, is written once, in the layer above: there is no second form of it.

A query is built anew each time where that would not be sure: where a value was not handed out as a placeholder but looks like one
that belongs to a request (a moment, an id), or where a placeholder came out changed.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BooleanField, Func, JSONField, QuerySet, UUIDField, Value
from django.db.models.expressions import BaseExpression
from psycopg.types.json import Json, Jsonb

from engine.db.hydration import hydrate
from engine.kernel.json_text import read_json
from workflowplatform.database.stored_json import ObjectsField, TextsField

V = TypeVar("V")
Values = dict[Any, Any]
Fill = Callable[[Values], Any]
Read = Callable[[Sequence[Any]], Any]

MOST_SHAPES = 1_000
MARK, END = "\uf0f0", "\uf0f1"
"""What placeholders for texts begin and end with: private characters, which no text of ours contains."""
FIRST_ID = 0xF0F0F0F0_F0F0_4F0F_8F0F_F0F0F0000000
FIRST_MOMENT = datetime(9990, 1, 1, tzinfo=UTC)
LAST_MOMENT = FIRST_MOMENT + timedelta(days=365)


class Each(tuple[Any, ...]):
    """Several values of a request, of which only the number belongs to the shape."""


class Whole(tuple[UUID, ...]):
    """Ids that become one array; not even their number belongs to the shape."""


class Among(Func):
    """Whether a column is one of the ids of an array, given or found by an expression."""

    template, arg_joiner, output_field = "%(expressions)s)", " = ANY(", BooleanField()
    conditional = True

    def __init__(self, column: str, ids: Iterable[UUID] | BaseExpression) -> None:
        array = ids if isinstance(ids, BaseExpression) else Value(list(ids), ArrayField(UUIDField()))
        super().__init__(column, array)


def _id(number: int) -> UUID:
    return UUID(int=FIRST_ID + number)


def _text(number: int) -> str:
    return f"{MARK}{number}{END}"


def _moment(number: int) -> datetime:
    return FIRST_MOMENT + timedelta(seconds=number)


STAND_INS: dict[type[Any], Callable[[int], Any]] = {UUID: _id, str: _text, datetime: _moment}


class Given:
    """The values of one request, handed out as placeholders in a fixed order; what else differs is part of the shape."""

    def __init__(self) -> None:
        self.shape: list[Hashable] = []
        self.values: Values = {}
        self.is_sure = True

    def __call__(self, value: V) -> V:
        """Return what stands in for a value in the query; other values than ids, texts and moments stand for themselves."""
        make = STAND_INS.get(type(value))
        if make is not None:
            self.shape.append(make)
            return self._stand_in(make, value)  # type: ignore[no-any-return]
        if isinstance(value, Each | frozenset):
            self.shape.append(len(value))
            return type(value)(map(self, value))
        if isinstance(value, Whole):
            self.shape.append(Whole)
            return Whole((self._stand_in(_id, list(value)),))  # type: ignore[return-value]
        self.shape.append(tuple(value) if isinstance(value, list) else value)
        return value

    def _stand_in(self, make: Callable[[int], Any], value: Any) -> Any:
        stand_in = make(len(self.values))
        self.values[stand_in] = value
        return stand_in

    def form(self, value: Hashable) -> None:
        """Note what the form of the query depends on."""
        self.shape.append(value)

    def doubt(self) -> None:
        """Build the query for this request alone: part of it is of an unknown shape."""
        self.is_sure = False


class _Plain(Given):
    """Hands out the values themselves, for a query that is built for one request."""

    def __call__(self, value: V) -> V:
        return value

    def form(self, value: Hashable) -> None:
        """Note nothing: there is one of these for all requests."""

    def doubt(self) -> None:
        """Doubt nothing: what is built for one request holds for it."""


PLAIN = _Plain()
Build = Callable[[], QuerySet[Any, Any]]
Prepare = Callable[[Given], Build]


@dataclass(frozen=True, slots=True)
class _Statement:
    """The SQL of a shape, where the values go, and how rows are read."""

    sql: str
    places: tuple[Fill | None, ...]
    literals: tuple[Any, ...]
    read: Read

    def rows(self, values: Values) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.params(values))
            return [self.read(row) for row in cursor.fetchall()]

    def params(self, values: Values) -> list[Any]:
        """Put the values of a request where they go."""
        return [
            literal if fill is None else fill(values) for fill, literal in zip(self.places, self.literals, strict=True)
        ]


_kept: dict[Hashable, _Statement | None] = {}


def forget_shapes() -> None:
    """Build every shape anew: for tests that change the rules while a process runs."""
    _kept.clear()


def read_rows(name: Hashable, prepare: Prepare) -> list[Any]:
    """Return the rows of a query. `prepare` is given the values to hand out, and returns what builds the query of them.

    The name tells what the shape does not: which query this is, and what it reads of each row.
    """
    statement, values = _statement_for(name, prepare)
    return list(prepare(PLAIN)()) if statement is None else statement.rows(values)


def read_sql(name: Hashable, prepare: Prepare) -> tuple[str, Sequence[Any]]:
    """Return a query's SQL and its parameters, for a statement of which it is a part."""
    statement, values = _statement_for(name, prepare)
    if statement is None:
        return prepare(PLAIN)().query.sql_with_params()
    return statement.sql, statement.params(values)


def _statement_for(name: Hashable, prepare: Prepare) -> tuple[_Statement | None, Values]:
    """Return what is kept for the shape of a query, built where it is new, and the values of this request."""
    given = Given()
    build = prepare(given)
    if not given.is_sure:
        return None, given.values
    shape = (name, *given.shape)
    if shape not in _kept:
        _keep(shape, _statement_of(build))
    return _kept[shape], given.values


def _keep(shape: Hashable, statement: _Statement | None) -> None:
    if len(_kept) >= MOST_SHAPES:
        _kept.clear()
    _kept[shape] = statement


class _Unsure(Exception):
    """A parameter may belong to one request alone."""


def _statement_of(build: Build) -> _Statement | None:
    """Build a query of placeholders; None where its SQL must be built for each request."""
    rows = build()
    if rows._prefetch_related_lookups or rows._known_related_objects:  # type: ignore[attr-defined]
        return None
    compiler = rows.query.get_compiler(rows.db)
    try:
        sql, params = compiler.as_sql()
        fills = tuple(map(_place, params))
    except (_Unsure, EmptyResultSet):
        return None
    return _Statement(sql, fills, tuple(params), _reader(rows, compiler))


# Parameters


def _place(param: Any) -> Fill | None:
    """Return how a parameter is made of the values of a request; None where it is the same for all."""
    if _is_stand_in(param):
        return itemgetter(param)
    if isinstance(param, Json | Jsonb):
        return _in_json(param)
    if isinstance(param, list | tuple):
        return _in_list(param)
    if isinstance(param, str) and MARK in param:
        return _in_pattern(param)
    if isinstance(param, UUID | date):
        raise _Unsure
    return None


def _is_stand_in(param: Any) -> bool:
    if isinstance(param, UUID):
        return 0 <= param.int - FIRST_ID < 1 << 20
    if isinstance(param, datetime):
        return FIRST_MOMENT <= param < LAST_MOMENT
    return isinstance(param, str) and param.startswith(MARK) and param.find(END) == len(param) - 1


def _in_json(param: Json | Jsonb) -> Fill | None:
    wrap, dumps, inner = type(param), param.dumps, _place(param.obj)
    if inner is None:
        if MARK in repr(param.obj):
            raise _Unsure
        return None
    return lambda values: wrap(inner(values), dumps=dumps)


def _in_list(param: Sequence[Any]) -> Fill | None:
    fills = [_place(one) for one in param]
    if not any(fills):
        return None
    if len(param) == 1 and isinstance(param[0], UUID):
        whole = itemgetter(param[0])
        return lambda values: found if isinstance(found := whole(values), list) else [found]
    pairs = list(zip(fills, param, strict=True))
    return lambda values: [one if fill is None else fill(values) for fill, one in pairs]


def _in_pattern(param: str) -> Fill:
    """Take `%text%` and `text%`: what `icontains` and `istartswith` make of a text."""
    before, stand_in, after = param.startswith("%"), param.strip("%"), param.endswith("%")
    if not _is_stand_in(stand_in):
        raise _Unsure
    head, tail = "%" * before, "%" * after
    return lambda values: f"{head}{connection.ops.prep_for_like_query(values[stand_in])}{tail}"


# Rows


def _reader(rows: QuerySet[Any, Any], compiler: Any) -> Read:
    """Return how a row of the database becomes an object, or a tuple where the query asks for values."""
    convert = tuple(_converters(compiler))
    info = compiler.klass_info
    if rows._fields is not None or info is None:  # type: ignore[attr-defined]
        if not convert:
            return tuple
        return lambda row: tuple(_converted(row, convert))
    make = _maker(info, compiler.select)
    annotations = dict(compiler.annotation_col_map)

    def read(row: Sequence[Any]) -> Any:
        values = _converted(row, convert)
        made = make(values)
        for name, at in annotations.items():
            made.__dict__[name] = values[at]
        return made

    return read


Convert = tuple[int, Callable[[Any], Any]]


def _converters(compiler: Any) -> Iterator[Convert]:
    columns = [column for column, _sql, _alias in compiler.select[: compiler.col_count]]
    for at, (converters, expression) in compiler.get_converters(columns).items():
        yield at, _converter(converters, expression)


def _converter(converters: Sequence[Any], expression: Any) -> Callable[[Any], Any]:
    field = getattr(expression, "target", None)
    if isinstance(field, TextsField | ObjectsField):
        shaped = field.shaped
        return lambda value: None if value is None else shaped(read_json(value))
    if isinstance(field, JSONField) and type(field).from_db_value is JSONField.from_db_value and not field.decoder:
        return lambda value: None if value is None else read_json(value)

    def convert(value: Any) -> Any:
        for each in converters:
            value = each(value, expression, connection)
        return value

    return convert


def _converted(row: Sequence[Any], converters: Sequence[Convert]) -> list[Any]:
    values = list(row)
    for at, convert in converters:
        values[at] = convert(values[at])
    return values


def _maker(info: Any, select: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
    """Return what makes a row's object with the objects that it selects along."""
    model, fields = info["model"], info["select_fields"]
    names = [select[at][0].target.attname for at in fields]
    key = fields[names.index(model._meta.pk_fields[0].attname)]
    start, end = fields[0], fields[-1] + 1
    assert list(fields) == list(range(start, end))
    below = [
        (_maker(each, select), each["local_setter"], each["remote_setter"])
        for each in info.get("related_klass_infos", ())
    ]

    def make(row: Sequence[Any]) -> Any:
        if row[key] is None:
            return None
        made = hydrate(model, dict(zip(names, row[start:end], strict=True)))
        for make_other, link_to, link_back in below:
            other = make_other(row)
            link_to(made, other)
            if other is not None:
                link_back(other, made)
        return made

    return make
