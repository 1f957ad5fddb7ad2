"""Strain gauges on flexible bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.bodies.beam_forces import section_forces_of
from limber.bodies.section_forces import COMPONENTS
from limber.checks import Array, number, shown
from limber.control.channels import strain_parts
from limber.control.sensors.base import Reader, Sensor
from limber.errors import ArgumentTypeError, ArgumentValueError


class StrainGauge(Sensor):
    """Measures strains of a flexible body, computed from its modes.

    Parameters
    ----------
    body : the flexible body.
    gauge : the name of a gauge that the body was made with (`strain=` of `FlexibleBody.from_nodes` or
        `Structure.reduce`), or several.
    at, y, z : instead of `gauge`, a station of a beam or a reduced frame (`Result.section_forces`) and the point of the
        section where the axial strain is measured. Strain that the modes cannot represent is left out.
    options : those of `Sensor`.
    """

    def __init__(
        self,
        body: str,
        gauge: str | Sequence[str] | None = None,
        name: str = "strain gauge",
        *,
        rate: float,
        at: Any = None,
        y: float = 0.0,
        z: float = 0.0,
        **options: Any,
    ):
        super().__init__(name, rate=rate, **options)
        if (gauge is None) == (at is None):
            raise ArgumentTypeError(
                f"sensor {name!r}: give either the name of a gauge, or a station at=... with y=... or z=...."
            )
        y, z = number(f"y of sensor {name!r}", y), number(f"z of sensor {name!r}", z)
        if at is not None and y == 0.0 and z == 0.0:
            raise ArgumentValueError(
                f"sensor {name!r}: give y or z, the point of the section at which the gauge is; bending does not strain "
                "the axis itself."
            )
        self.body, self.at, self.y, self.z = body, at, y, z
        self.gauges = (gauge,) if isinstance(gauge, str) or gauge is None else tuple(gauge)
        self._freeze()

    def reader(self, system: System) -> Reader:
        """The gauge on a system."""
        system.number(self.body, f"sensor {self.name!r}: body")
        rows, labels = self._rows(system)
        modes = system.layout[self.body].q_modes
        return Reader(lambda now: rows @ now.q[modes], labels, "", len(labels))

    def rows(self, system: System) -> Array:
        """(readings, modes): the strain per unit of each mode of the body."""
        return self._rows(system)[0]

    def _rows(self, system: System) -> tuple[Array, tuple[str, ...]]:
        return self._by_station(system) if self.at is not None else self._by_name(system)

    def _by_name(self, system: System) -> tuple[Array, tuple[str, ...]]:
        recovery = system.bodies[self.body].recovery
        known = () if recovery is None or recovery.strain is None else recovery.gauges
        for gauge in self.gauges:
            if gauge not in known:
                raise ArgumentValueError(
                    f"sensor {self.name!r}: {shown(gauge)} is not a gauge of body {self.body!r}; its gauges are: "
                    f"{', '.join(map(repr, known)) or 'none'}."
                )
        assert recovery is not None and recovery.strain is not None
        return recovery.strain[[known.index(g) for g in self.gauges]], tuple(map(str, self.gauges))

    def _by_station(self, system: System) -> tuple[Array, tuple[str, ...]]:
        found = section_forces_of(system.bodies[self.body], self.at, f"body {self.body!r}")
        parts = strain_parts(self.y, self.z)
        if found.absent[..., parts].all():
            raise ArgumentValueError(
                f"sensor {self.name!r}: no mode of body {self.body!r} has {' or '.join(COMPONENTS[i] for i in parts)}, so "
                f"the gauge at y={self.y:g}, z={self.z:g} would always read zero. y is for bending in the x-y plane, z "
                "for that in x-z; or give the "
                "body modes of that kind."
            )
        strains = np.atleast_2d(np.nan_to_num(found.strain_at(self.y, self.z)))
        rows = strains.reshape(-1, strains.shape[-1])
        labels = found.names or tuple(f"station {i}" for i in range(len(rows)))
        return rows, tuple(labels)
