"""Write snapshots as JSON text and read them back: most of what a slice costs outside its steps.

The library is four times faster at this than the standard one and says the same: moments and ids are written as
texts, whole numbers of any size stay exact.
"""

import msgspec

from engine.kernel.signals import Json

_encoder = msgspec.json.Encoder(enc_hook=str)
_decoder = msgspec.json.Decoder()


def write_json(value: Json) -> str:
    """Return the JSON text of a value."""
    return _encoder.encode(value).decode()


def read_json(text: str) -> Json:
    """Return the value of a JSON text."""
    return _decoder.decode(text)
