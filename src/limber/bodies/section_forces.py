"""Forces in the sections of beams, with the corresponding strains and stresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array
from limber.errors import ArgumentValueError
from limber.notebook import as_text

#: The components of section forces, in their order.
COMPONENTS = ("axial", "shear_y", "shear_z", "torsion", "moment_y", "moment_z")
#: A table has at most this many rows.
ROWS = 24


@dataclass(frozen=True, eq=False, repr=False)
class SectionForces:
    """Forces, strains and stresses of sections, in the axes of the member, x along it.

    The forces are those that the part outboard of a section, towards end 2 or larger x, exerts on the part inboard of
    it.  Arrays have the shape (*stations, *columns).  Stations are (elements, 2) in a frame, with the ends of each
    element, and (n,) along a beam; columns are those of the displacements, none for one vector and (m,) for m modes.
    In results times come first, and there are no columns.

    forces, strains : (*stations, 6, *columns): N, Vy, Vz, Mx, My, Mz, and eps, gamma_y, gamma_z and the rates along x
        of the rotations about x, y, z.
    surface : (*stations, p, 2) points (y, z) of the surface, nan where a section has fewer.
    constants : (*stations, 4): E and the largest shear stresses per unit torsion and per unit shear force along y and
        z; nan where they are not known.
    absent : (*stations, 6): which components no mode has, although loads may cause them.  Results know them in a beam
        from equilibrium; they are nan in a frame.
    names : names of the stations, if they have any.
    """

    forces: Array
    strains: Array
    surface: Array
    constants: Array
    absent: np.ndarray
    names: tuple[str, ...] = ()

    def between(
        self, first: np.ndarray, second: np.ndarray, part: Array, names: Sequence[str]
    ) -> SectionForces:
        """Return the values at places between two stations, by number: at the fraction `part`, 0 to 1, of the way."""

        def mixed(x: Array) -> Array:
            w = part.reshape(-1, *(1,) * (x.ndim - 1))
            return np.where(w == 0.0, x[first], (1.0 - w) * x[first] + w * x[second])

        return SectionForces(
            mixed(self.forces),
            mixed(self.strains),
            mixed(self.surface),
            mixed(self.constants),
            self.absent[first],
            tuple(names),
        )

    def at(self, eta: Array) -> SectionForces:
        """Return the forces at modal coordinates eta (n, m), from columns (m,): n times come before the stations.

        Components that no mode has are nan.
        """
        unknown = np.where(self.absent, np.nan, 0.0)

        def repeated(x: np.ndarray) -> np.ndarray:
            return np.broadcast_to(x, (len(eta), *x.shape))

        return SectionForces(
            np.moveaxis(self.forces @ eta.T, -1, 0) + unknown,
            np.moveaxis(self.strains @ eta.T, -1, 0) + unknown,
            repeated(self.surface),
            repeated(self.constants),
            repeated(self.absent),
            self.names,
        )

    def scaled(self, factors: Array, loads: Array) -> SectionForces:
        """Return the forces per mode of a body whose stiffnesses are multiplied by factors (6,), one per component.

        `loads` (m, m) are the modal coordinates of the unchanged body that the same forces deform.  The modulus of
        elasticity is known if the factors are all equal.
        """
        constants = np.array(self.constants)
        constants[..., 0] *= factors[0] if (factors == factors[0]).all() else np.nan
        strains = (self.strains @ loads) / factors[:, None]
        return replace(self, forces=self.forces @ loads, strains=strains, constants=constants)

    def with_absent(self, forces: Array, strains: Array) -> SectionForces:
        """Return the same with other numbers for the components that no mode has."""
        return replace(
            self,
            forces=np.where(self.absent, forces, self.forces),
            strains=np.where(self.absent, strains, self.strains),
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

    # --- strain and stress ------------------------------------------------------------------------

    def strain_at(self, y: ArrayLike, z: ArrayLike) -> Array:
        """The strain along the axis at the point (y, z) of every section, eps - y theta_z' + z theta_y'."""
        eps, bend_y, bend_z = (np.take(self.strains, i, axis=self._at) for i in (0, 4, 5))
        y, z = (np.asarray(v, dtype=float) for v in (y, z))
        y, z = (self._of_stations(v) if v.ndim else v for v in (y, z))
        return eps - y * bend_z + z * bend_y

    def stress_at(self, y: ArrayLike, z: ArrayLike) -> Array:
        """The normal stress along the axis at the point (y, z) of every section, Pa."""
        return self._of_stations(self._modulus()) * self.strain_at(y, z)

    @property
    def surface_strain(self) -> Array:
        """(*stations, p, *columns): the strain along the axis at the points of the surface."""
        points = range(self.surface.shape[-2])
        strains = [self.strain_at(self.surface[..., i, 0], self.surface[..., i, 1]) for i in points]
        if not strains:
            eps = np.take(self.strains, 0, axis=self._at)
            return np.zeros((*eps.shape[: self._at], 0, *eps.shape[self._at :]))
        return np.stack(strains, axis=self._at)

    @property
    def surface_stress(self) -> Array:
        """(*stations, p, *columns): the normal stress along the axis at the points of the surface, Pa."""
        self._need_surface("surface_stress")
        modulus = np.expand_dims(self._of_stations(self._modulus()), self._at)
        return modulus * self.surface_strain

    @property
    def shear_stress(self) -> Array:
        """(*stations, *columns): an upper bound of the largest shear stress in the sections, Pa.

        The largest stresses of torsion and of both shear forces are added, wherever in the section each of them occurs.
        """
        largest = self.constants[..., 1:]
        if np.isnan(largest).all():
            raise ArgumentValueError(
                "shear stress and von Mises stress need sections made from a shape, as with lb.Section.tube or "
                "lb.Section.box, or with lb.Section(..., shear_stress=...): only the stiffnesses of these sections "
                "are known."
            )
        loads = (self.torsion, self.shear_y, self.shear_z)
        return sum(self._of_stations(largest[..., i]) * np.abs(x) for i, x in enumerate(loads))

    @property
    def von_mises(self) -> Array:
        """(*stations, p, *columns): an upper bound of the von Mises stress at the points of the surface, Pa.

        It is sqrt(sigma^2 + 3 tau^2) with the normal stress at the point and the largest shear stress in the section,
        `shear_stress`, so it is never below the stress of beam theory there.  It is not linear in the modes: take it
        from results, or from the forces of one state.
        """
        shear = np.expand_dims(self.shear_stress, self._at)
        return np.sqrt(self.surface_stress**2 + 3.0 * shear**2)

    def _of_stations(self, values: Array) -> Array:
        """Numbers of the stations, with an axis for every column."""
        columns = self.forces.ndim - 1 - self._at
        return values.reshape(values.shape + (1,) * columns)

    def _modulus(self) -> Array:
        E = self.constants[..., 0]
        if np.isnan(E).all():
            raise ArgumentValueError(
                "stress needs Young's modulus: make the sections from a shape and a material, as with "
                "lb.Section.tube, or give lb.Section(..., E=...). Only the stiffnesses (EI, GJ, EA) of these "
                "sections are known; strains and forces are available."
            )
        return E

    def _need_surface(self, what: str) -> None:
        if not self.surface.shape[-2]:
            raise ArgumentValueError(
                f"{what} needs points on the surface: make the sections from a shape, as with lb.Section.tube, give "
                "lb.Section(..., surface=[(y, z), ...]), or use stress_at(y, z)."
            )

    # --- in words ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        shape = self.forces.shape
        before, after = shape[: self._at], shape[self._at + 1 :]
        named = len(self.names) and len(before) - 1
        parts = [f"{before[0]} times"] if named == 1 else []
        if self.names:
            few = ", ".join(self.names[:3]) + (", ..." if len(self.names) > 3 else "")
            parts.append(f"{len(self.names)} station{'s' if len(self.names) > 1 else ''}: {few}")
        else:
            parts.append(f"stations {before}")
        parts += [f"{after[0]} columns"] if after else []
        return f"SectionForces({'; '.join(parts)})"

    _repr_html_ = as_text

    def __str__(self) -> str:
        """A table of the largest magnitudes of every component over times or columns, a row for each station."""
        size = np.abs(np.moveaxis(self.forces, self._at, -1))
        stations = self.surface.shape[: self._at]
        if self.names and len(stations) == 2:  # a result
            size = size.reshape(len(self.forces), len(self.names), 6).max(axis=0, initial=0.0)
            of = ", largest over time"
        else:
            columns = size.shape[len(stations) : -1]
            size = size.reshape(int(np.prod(stations)), int(np.prod(columns)), 6)
            size = size.max(axis=1, initial=0.0)
            of = ", largest of all columns" if self.forces.ndim > len(stations) + 1 else ", size"
        names = self.names or tuple(
            ", ".join(map(str, np.unravel_index(i, stations))) for i in range(len(size))
        )
        width = max(map(len, (*names[:ROWS], "station")))
        units = [f"{name} ({'N' if i < 3 else 'N m'})" for i, name in enumerate(COMPONENTS)]
        lines = [f"section forces{of}", "  ".join([f"{'station':{width}}", *units])]
        for name, row in zip(names[:ROWS], size):
            cells = [f"{value:{len(unit)}.4g}" for value, unit in zip(row, units)]
            lines.append("  ".join([f"{name:{width}}", *cells]))
        if len(size) > ROWS:
            lines.append(f"... {len(size) - ROWS} more stations")
        return "\n".join(lines)
