"""Estimate how wide a text will be in a picture, without a browser: Inter at weight 600, by groups of characters."""

NARROW = frozenset("iIjl.,:;'|!()[]{} ")
MIDDLE = frozenset('frt-"/\\*1')
WIDE = frozenset("mwMW@%—…&ABCDEFGHKNOPQRSTUVXYZ€")
WIDTHS = ((NARROW, 0.31), (MIDDLE, 0.43), (WIDE, 0.76))
OTHERS = 0.61


def text_width(text: str, size: float) -> float:
    """Estimate the width of a line of text, in the unit of its size."""
    return size * sum(next((width for letters, width in WIDTHS if letter in letters), OTHERS) for letter in text)
