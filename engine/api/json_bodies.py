"""Read JSON bodies within limits, and write answers as JSON text.

Whatever is sent, the worst outcome is a refusal. Answers are written by msgspec, which does in microseconds what takes the
framework's encoder milliseconds.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any, NoReturn

import msgspec
from django.conf import settings
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

from engine.api.errors import TooLarge
from engine.errors import Invalid
from engine.kernel.forms import FieldError, refuse_unsafe_json


class BoundedJSONParser(BaseParser):
    """Parse UTF-8 JSON of bounded size and depth, holding only what the database can keep."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        _refuse_packed(parser_context or {})
        value = _loaded(_read(stream))
        if unsafe := refuse_unsafe_json(value):
            raise Invalid("Some values cannot be stored.", unsafe)
        return value


def _refuse_packed(context: Mapping[str, Any]) -> None:
    packed = context["request"].headers.get("Content-Encoding", "identity") if "request" in context else "identity"
    if packed.lower() != "identity":
        raise UnsupportedMediaType(packed, f"Send the body as it is, without Content-Encoding: {packed}.")


def _read(stream: IO[bytes]) -> bytes:
    largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body = stream.read(largest + 1)
    if len(body) > largest:
        raise TooLarge(f"The body is larger than {largest} bytes.")
    return body


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise ParseError("The body is not UTF-8.") from error
    except RecursionError as error:
        raise ParseError("The body is nested too deeply.") from error
    except ValueError as error:
        raise ParseError("The body is not JSON.") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its members; of two by one name nobody knows which was meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise Invalid(
            f"The name {name} is used twice in one object.", [FieldError(name, "twice", "Send this only once.")]
        )
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class AnswerRenderer(JSONRenderer):
    """Write what the framework's renderer writes, in the same words; what msgspec does not know, its encoder is asked."""

    _encode = msgspec.json.Encoder(enc_hook=JSONEncoder().default).encode

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the bytes of an answer; none for nothing."""
        return b"" if data is None else self._encode(data)
