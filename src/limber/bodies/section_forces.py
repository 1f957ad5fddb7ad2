"""Forces in the sections of beams, and the strains that go with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array


@dataclass(frozen=True, eq=False)
class SectionForces:
    """Forces and strains of sections, in the axes of the member, x along it.

    They are those that the part outboard of a section, towards end 2 or larger x, exerts on the part inboard of it.
    Arrays have the shape (*stations, *columns): stations are (elements, 2) in a frame, with the ends of each element,
    and (n,) along a beam; columns are those of the displacements, none for one vector and (m,) for m modes.  In results
    times come first, and there are no columns.

    forces, strains : (*stations, 6, *columns): N, Vy, Vz, Mx, My, Mz, and eps, gamma_y, gamma_z and the rates along x of
        the rotations about x, y, z.
    surface : (*stations, p, 2) points (y, z) of the surface, nan where a section has fewer.
    """

    forces: Array
    strains: Array
    surface: Array

    def chosen(self, stations: np.ndarray) -> SectionForces:
        """Those at some of the stations, by number."""
        return SectionForces(self.forces[stations], self.strains[stations], self.surface[stations])

    def at(self, eta: Array) -> SectionForces:
        """The forces at modal coordinates eta (n, m), of columns (m,): n times come before the stations."""
        forces, strains = (np.moveaxis(x @ eta.T, -1, 0) for x in (self.forces, self.strains))
        return SectionForces(
            forces, strains, np.broadcast_to(self.surface, (len(eta), *self.surface.shape))
        )

    @property
    def _at(self) -> int:
        return self.surface.ndim - 2  # the axis of components

    def _component(self, i: int) -> Array:
        return np.take(self.forces, i, axis=self._at)

    @property
    def axial(self) -> Array:
        """Axial force N, positive in tension, N."""
        return self._component(0)

    @property
    def shear_y(self) -> Array:
        """Shear force along y, N."""
        return self._component(1)

    @property
    def shear_z(self) -> Array:
        """Shear force along z, N."""
        return self._component(2)

    @property
    def torsion(self) -> Array:
        """Moment about the axis, N m."""
        return self._component(3)

    @property
    def moment_y(self) -> Array:
        """Bending moment about y, which bends in the x-z plane, N m."""
        return self._component(4)

    @property
    def moment_z(self) -> Array:
        """Bending moment about z, which bends in the x-y plane, N m."""
        return self._component(5)

    def strain_at(self, y: ArrayLike, z: ArrayLike) -> Array:
        """The strain along the axis at the point (y, z) of every section, eps - y theta_z' + z theta_y'."""
        eps, bend_y, bend_z = (np.take(self.strains, i, axis=self._at) for i in (0, 4, 5))
        columns = (1,) * (eps.ndim - self._at)
        y, z = (np.asarray(v, dtype=float) for v in (y, z))
        y, z = (v.reshape(v.shape + columns) if v.ndim else v for v in (y, z))
        return eps - y * bend_z + z * bend_y

    @property
    def surface_strain(self) -> Array:
        """(*stations, p, *columns): the strain along the axis at the points of the surface."""
        points = range(self.surface.shape[-2])
        strains = [self.strain_at(self.surface[..., i, 0], self.surface[..., i, 1]) for i in points]
        if not strains:
            eps = np.take(self.strains, 0, axis=self._at)
            return np.zeros((*eps.shape[: self._at], 0, *eps.shape[self._at :]))
        return np.stack(strains, axis=self._at)
