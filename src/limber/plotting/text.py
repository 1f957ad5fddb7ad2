"""The width of texts, and how to make them fit."""

from __future__ import annotations

import warnings
from functools import lru_cache

#: What a text is measured and shortened with.
ELLIPSIS = "…"


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """The width of a line of text in the default font of that size (points), in inches."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    font = FontProperties(size=size)
    math = text.replace(r"\$", "").count("$") >= 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=math)
    return float(width) / 72.0


def fitted(text: str, inches: float, size: float) -> str:
    """Shorten a text to this width by leaving out its middle."""
    if text_width(text, size) <= inches:
        return text
    low, high = 1, len(text)  # characters that are kept
    while high - low > 1:
        middle = (low + high) // 2
        if text_width(_without_middle(text, middle), size) <= inches:
            low = middle
        else:
            high = middle
    return _without_middle(text, low)


def _without_middle(text: str, kept: int) -> str:
    """The text with this number of characters, as many from its start as from its end."""
    end = kept // 2
    head = text[: kept - end].rstrip("\\")  # an escape belongs to what follows
    return head + ELLIPSIS + (text[-end:] if end else "")


def wrapped(text: str, inches: float, size: float) -> str:
    """Break a text at spaces into lines of at most this width; a longer word is shortened."""
    lines: list[str] = []
    for word in text.split(" "):
        together = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(together, size) <= inches:
            lines[-1] = together
        else:
            lines.append(fitted(word, inches, size))
    return "\n".join(lines)
