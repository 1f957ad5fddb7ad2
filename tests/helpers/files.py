"""Shipped files, and assemblies compared bit for bit."""

from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[2] / "examples"


def bits(x):
    """An object down to the bits of its arrays and the types and values of the rest."""
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.str, x.tobytes()
    if isinstance(x, float):
        return "float", x.hex()
    if isinstance(x, (str, int, type(None))):
        return x
    if isinstance(x, frozenset):
        return sorted(x)
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [bits(part) for part in x]
    if hasattr(x, "items"):
        return [(key, bits(part)) for key, part in x.items()]
    derived = {"integrals", "nq", "dofs", "kernel_kind"}  # computed when first asked for
    return type(x).__name__, [(k, bits(v)) for k, v in sorted(vars(x).items()) if k not in derived]


def description(assembly, recipes=True):
    found = bits(assembly)
    return found if recipes else _without_recipes(found)


def _without_recipes(x):
    # what is recovered from the modes of a beam follows from its recipe, and is written in its place
    if isinstance(x, tuple) and len(x) == 2 and x[0] in ("recipe", "recovery"):
        return (x[0], None)
    return type(x)(_without_recipes(part) for part in x) if isinstance(x, (list, tuple)) else x
