"""Read JSON bodies so that nothing a stranger sends can do more than be refused."""

import json
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from engine.api.errors import TooLarge
from engine.errors import Invalid
from engine.kernel.forms import refuse_unsafe_json


class BoundedJSONParser(BaseParser):
    """Parse UTF-8 JSON of bounded size and depth, holding only what the database can keep."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        value = _loaded(_read(stream))
        if unsafe := refuse_unsafe_json(value):
            raise Invalid("Some values cannot be kept.", unsafe)
        return value


def _read(stream: IO[bytes]) -> bytes:
    largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body = stream.read(largest + 1)
    if len(body) > largest:
        raise TooLarge(f"The body is larger than {largest} bytes.")
    return body


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ParseError("The body is not UTF-8.") from error
    except RecursionError as error:
        raise ParseError("The body is nested too deep.") from error
    except ValueError as error:
        raise ParseError("The body is not JSON.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
