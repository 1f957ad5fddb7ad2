"""Masses at nodes that take part in the modes but belong to other bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from limber.checks import inertias, number, semidefinite, shown
from limber.errors import ArgumentTypeError
from limber.structures.interface import NodeRows

if TYPE_CHECKING:
    from limber.structures.structure import Node


def loaded_mass(rows: NodeRows, loads: Mapping[Node, Any] | None) -> tuple[list[int], sp.csr_array]:
    """The nodes and groups with loads, and the mass matrix of the structure with the loads on it."""
    if loads is None:
        return [], rows.structure.M
    if not isinstance(loads, Mapping):
        raise ArgumentTypeError(
            f"loads must be a dict of nodes to (mass, inertia), got {shown(loads)}."
        )
    M, nodes = rows.structure.M, []
    for key, load in loads.items():
        node, name = rows.places.number(key, "loads"), f"loads[{key!r}]"
        if not isinstance(load, tuple | list) or len(load) != 2:
            raise ArgumentTypeError(f"{name} must be (mass, inertia), got {shown(load)}.")
        mass = number(f"{name}[0]", load[0], minimum=0.0)
        moments = load[1] if np.ndim(load[1]) else np.full(3, load[1])
        inertia = inertias(f"{name}[1]", moments, (), "About the node.")
        inertia = semidefinite(f"{name}[1]", inertia, "an inertia cannot be negative.")
        block = np.zeros((6, 6))
        block[:3, :3], block[3:, 3:] = mass * np.eye(3), inertia
        W = rows.rows(node)
        M = M + W.T @ sp.csr_array(block) @ W
        nodes.append(node)
    return nodes, M.tocsr()
