"""Reduced structures under loads that their model ignores: the fraction of stiffness that these loads remove or add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from limber.assembly.system import System
from limber.bodies.load_stiffness import relative_changes
from limber.checks import Array
from limber.dynamics.evaluate import External, evaluated

#: A body whose stiffness loads change by more than this fraction in some shape is reported: frequencies are off by up to half
#: of this fraction.
LOADED = 0.1
#: Loads that soften some shapes as much as they stiffen others, as those across a beam do, count as compression: equal except for rounding.
EVEN = 1.0 - 1e-3


@dataclass(frozen=True)
class Loaded:
    """A body whose loads change its stiffness, at the state in which they do so most.

    part : the fraction of the stiffness in the shape that changes most; negative under compression, -1 where the body
        buckles.
    """

    name: str
    row: int
    part: float


def loaded_structures(
    system: System, q: Array, v: Array, vdot: Array, external: External | None
) -> Iterator[Loaded]:
    """The plain bodies with known effects of loads that are overloaded in some of the states (n, ...)."""
    known = {n: b for n, b in system.bodies.items() if b.load_stiffness is not None}
    if not known:
        return
    given = (q, v, vdot)
    _, wrenches = evaluated(system, "carried_wrenches", given, external=external)
    spins, accelerations, axes = evaluated(system, "motions", given)
    forces = np.einsum("nbij,nbj->nbi", axes, wrenches[..., 3:])  # of the joints, world axes
    for name, body in known.items():
        k = system.number(name) - 1
        at_nodes = np.zeros((len(q), len(body.node_set.names), 3))
        for item in system.attachments.values():
            if item.to == name and item.at is not None:
                at_nodes[:, item.at] -= forces[:, system.number(item.name) - 1]
        own = system.attachments[name].inboard
        if own is not None:
            at_nodes[:, own] += forces[:, k]
        for (where, node), wrench in (external or {}).items():
            number = system.node_number(where, node)
            if where == name and number is not None:
                at_nodes[:, number] += np.asarray(wrench, dtype=float)[..., 3:]
        at_nodes = np.einsum("nij,nki->nkj", axes[:, k], at_nodes)  # body axes
        assert body.load_stiffness is not None
        kappa = body.load_stiffness.under(spins[:, k], accelerations[:, k], at_nodes)
        joint = None if own is None else body.node_set.shapes[[own]]
        kappa = body.load_stiffness.held_at(kappa, joint)
        least, most = relative_changes(kappa, body.stiffness)
        parts = np.where(-least > EVEN * most, least, most)
        row = int(np.argmax(np.abs(parts)))
        if abs(parts[row]) > LOADED:
            yield Loaded(name, row, float(parts[row]))


def described_load(found: Loaded, when: str = "") -> str:
    """The warning about an overloaded body."""
    part = abs(found.part)
    off = f"up to about {50.0 * part:.0f} %" if part < 0.5 else "far"
    if found.part > 0.0:
        what = f"is under tension{when}, which would stiffen it by {part:.2g} of its stiffness in some shape"
        effect = f"a frequency is {off} too low"
    else:
        what = f"is under compression{when}, at {part:.2g} of the loads at which it buckles in its mode shapes"
        effect = f"a frequency is {off} too high" if part < 1.0 else "a real structure would buckle"
    return (
        f"body {found.name!r} {what}. Its linear shapes ignore the effect of these loads on its stiffness: "
        f"{effect}. Reduce the structure with geometric_stiffening=True; Structure.buckling finds the loads "
        f"at which it or a part of it buckles. Below {LOADED:g} there is no warning."
    )
