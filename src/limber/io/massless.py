"""Nodes to which a file gives stiffness but no mass: labelled matrices do not say where they end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from limber.errors import ModelWarning, warn
from limber.io.sources import Source, several


def warn_of_massless(
    source: Source, M: sp.csr_array, K: sp.csr_array, names: Sequence[str]
) -> None:
    """Warn of nodes whose displacements have stiffness and no entry in M, where others have mass."""
    each = M.shape[0] // len(names)
    mass, stiffness = (
        np.abs(A.diagonal()).reshape(len(names), each)[:, :3].max(axis=1) for A in (M, K)
    )
    bare = [name for name, none in zip(names, (mass == 0.0) & (stiffness > 0.0)) if none]
    if 0 < len(bare) < len(names):
        warn(
            f"{source.path}: node {several(bare)} has stiffness but no mass. That is correct for nodes of elements "
            "without density; if all parts of the model have mass, the mass matrix is cut off: write it again.",
            ModelWarning,
        )
