"""Write answers as JSON text: by msgspec, which does in microseconds what takes the framework's encoder milliseconds."""

from collections.abc import Mapping
from typing import Any

import msgspec
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder


class AnswerRenderer(JSONRenderer):
    """Write what the framework's renderer writes, in the same words; what msgspec does not know, its encoder is asked."""

    _encode = msgspec.json.Encoder(enc_hook=JSONEncoder().default).encode

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the bytes of an answer; none for nothing."""
        return b"" if data is None else self._encode(data)
