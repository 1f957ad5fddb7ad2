"""Random numbers that depend only on a seed, a name and the number of the sample.

A run therefore sees the same noise, to the bit, when it is repeated, when it is part of a batch and when it continues
another run. The other sensors and the order in which they are read make no difference.
"""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from limber.checks import Array

#: Samples that are made at once.
BLOCK = 256


class NormalNumbers:
    """Standard normal numbers, `width` of them for each sample."""

    __slots__ = ("_block", "_key", "_number", "_width")

    def __init__(self, seed: int, name: str, width: int):
        digest = sha256(f"{seed}:{name}".encode()).digest()
        self._key = np.frombuffer(digest[:16], dtype=np.uint64)
        self._width = width
        self._number, self._block = -1, np.empty((0, width))

    def at(self, sample: int) -> Array:
        """The numbers of a sample, (width,)."""
        number, row = divmod(sample, BLOCK)
        if number != self._number:
            generator = np.random.Generator(
                np.random.Philox(key=self._key, counter=[0, 0, 0, number])
            )
            self._block = generator.standard_normal((BLOCK, self._width))
            self._number = number
        return self._block[row]
