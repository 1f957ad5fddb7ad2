"""Nonlinear model predictive control in scenario files."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.control import NMPC, Effort, NodeBounds, NodeTracking, Tracking, Vibration
from limber.control.controller import Controller
from limber.io.document import Where
from limber.io.fields import Name, NodeName, Vector, numbers, whole
from limber.io.section import Section
from limber.scenarios.flexible_controllers import KalmanSection
from limber.scenarios.references import Paths, ReferenceSection, reference_of
from limber.scenarios.sensors import NotNegative, OneEach, Positive
from limber.scenarios.states import check_body


class TrackingSection(Section):
    """Weights of the errors of all coordinates and speeds from the reference. See `limber.control.Tracking`."""

    q: NotNegative = 0.0
    v: NotNegative = 0.0
    final_q: NotNegative = 0.0
    final_v: NotNegative = 0.0


class VibrationSection(Section):
    """The energy of the modes. See `limber.control.Vibration`."""

    weight: NotNegative = 0.0
    final: NotNegative = 0.0


class NodeSection(Section):
    """A node that should be at a point, or stay in a box. See `limber.control.NodeTracking` and `NodeBounds`."""

    one_of: ClassVar[tuple[str, ...]] = ("target", "box")
    body: Name
    node: NodeName | None = None
    target: Vector | None = None
    weight: NotNegative = 0.0
    final: NotNegative = 0.0
    box: Annotated[Any, numbers((2, 3))] | None = None


class NMPCSection(Section):
    """Nonlinear model predictive control. See `limber.control.NMPC`.

    The reference of joints that are not named is their initial position, and that of the modes is zero.
    """

    intervals: Annotated[int, whole(2, 10_000)]
    sample_time: Positive
    effort: OneEach
    tracking: TrackingSection | None = None
    vibration: VibrationSection | None = None
    nodes: list[NodeSection] = []
    reference: dict[Name, ReferenceSection] | None = None
    bodies: list[Name] | None = None
    torque: OneEach | None = None
    speed: OneEach | None = None
    coordinates: dict[Name, Annotated[Any, numbers((2,))]] = {}
    start_iterations: Annotated[int, whole(1, 1000)] = 10
    kalman: KalmanSection | None = None

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller, and the paths that it follows."""
        _, paths = reference_of(system, self.reference or {}, q0, where / "reference")
        for name in self.coordinates:
            check_body(system, name, where / "coordinates" / name)
        wanted = _reference(system, q0, paths)
        costs: list[Any] = [Effort(self.effort)]
        if self.tracking is not None:
            costs.append(Tracking(wanted, **dict(self.tracking)))
        if self.vibration is not None:
            costs.append(Vibration(**dict(self.vibration)))
        boxes = []
        for i, node in enumerate(self.nodes):
            check_body(system, node.body, where / "nodes" / i / "body", joints=False)
            if node.box is not None:
                boxes.append(NodeBounds(node.body, node.node, *node.box))
                continue
            costs.append(NodeTracking(node.body, node.node, node.target, node.weight, node.final))
        longest = max((path.duration for path in paths.values()), default=0.0)
        with where.checked():
            made = NMPC(
                system, self.intervals, sample_time=self.sample_time, costs=costs, nodes=boxes, joints=self.bodies,
                torque=self.torque, speed=self.speed, coordinates=self.coordinates, end=wanted(longest)[0],
                start_iterations=self.start_iterations,
                observer=None if self.kalman is None else self.kalman.build(system, q0),
            )  # fmt: skip
        return made, paths


def _reference(system: System, q0: Array, paths: Paths) -> Any:
    """t -> (q, v) with joints on their paths, other joints at their initial positions, and modes at zero."""
    start = np.array(q0)
    for place in system.layout.values():
        start[place.q_modes] = 0.0

    def reference(t: float) -> tuple[Array, Array]:
        q, v = start.copy(), np.zeros(system.nv)
        for body, path in paths.items():
            place = system.layout[body]
            q[place.q_joint], v[place.v_joint], _ = path(float(t))
        return q, v

    return reference
