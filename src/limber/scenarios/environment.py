"""The environment of free-flyers in scenario files: orbit, gravity, drag, burns, slosh, and a start in the orbital frame."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from limber.assembly import Assembly, System
from limber.checks import Array
from limber.io.document import Where
from limber.io.fields import Axis, Flag, Name, NodeName, Number, Vector, choice, number, numbers
from limber.io.rotations import RotationSection
from limber.io.section import Section
from limber.orbit import (
    EARTH_AIR,
    Atmosphere,
    Burn,
    Drag,
    Environment,
    Face,
    Orbit,
    Slosh,
    circular,
    density_table,
    elements,
    exponential,
    state,
)
from limber.scenarios.states import check_body

Positive = Annotated[float, number(above=0.0)]
Share = Annotated[float, number(minimum=0.0)]


class OrbitSection(Section):
    """A circular orbit given by its `altitude`, elements with a `semi_major` axis, or a state with `position` and
    `velocity`.
    """

    one_of: ClassVar[tuple[str, ...]] = ("altitude", "semi_major", "position")
    altitude: Number | None = None
    semi_major: Number | None = None
    position: Vector | None = None
    velocity: Vector | None = None
    eccentricity: Share | None = None
    inclination: Number | None = None
    node: Number | None = None
    argument: Number | None = None
    anomaly: Number | None = None
    latitude: Number | None = None

    def build(self, where: Where) -> Orbit:
        """The orbit, about the Earth."""
        kinds: dict[str, tuple[Any, tuple[str, ...]]] = {
            "altitude": (circular, ("inclination", "node", "latitude")),
            "semi_major": (
                elements,
                ("eccentricity", "inclination", "node", "argument", "anomaly"),
            ),
            "position": (state, ("velocity",)),
        }
        kind = next(key for key in kinds if getattr(self, key) is not None)
        make, others = kinds[kind]
        given = {key: x for key in type(self).model_fields if (x := getattr(self, key)) is not None}
        for key in given:
            if key not in (kind, *others):
                raise where.error(
                    f"cannot be used with {kind}, which accepts {', '.join(others)}.", key
                )
        if kind == "position" and self.velocity is None:
            raise where.error("a state needs a velocity as well.", "position")
        with where.checked():
            return make(**given)


class AirSection(Section):
    """The density of the air: `earth`, an exponential with `density`, `altitude` and `scale_height`, or `altitudes`
    with `densities`.
    """

    short: ClassVar[str] = "earth"
    one_of: ClassVar[tuple[str, ...]] = ("mean", "density", "densities")
    mean: Annotated[str, choice("earth")] | None = None
    density: Positive | None = None
    altitude: Number | None = None
    scale_height: Positive | None = None
    altitudes: Annotated[Any, numbers(("n",))] | None = None
    densities: Annotated[Any, numbers(("n",))] | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """`air: earth`."""
        return {"mean": data} if isinstance(data, str) else data

    def build(self, where: Where) -> Atmosphere:
        """The atmosphere."""
        if self.mean is not None:
            return EARTH_AIR
        with where.checked():
            if self.density is not None:
                if self.altitude is None or self.scale_height is None:
                    raise where.error("can only be used with altitude and scale_height.", "density")
                return exponential(self.density, self.altitude, self.scale_height)
            if self.altitudes is None or self.densities is None:
                raise where.error("can only be used with altitudes.", "densities")
            return density_table(self.altitudes, self.densities)


class FaceSection(Section):
    """A face with aerodynamic drag, with its centre at a node."""

    body: Name
    node: NodeName | None = None
    area: Share
    normal: Axis | None = None
    cd: Share = 2.2
    two_sided: Flag = False


class DragSection(Section):
    """Aerodynamic drag on faces."""

    faces: list[FaceSection]
    air: AirSection = AirSection(mean="earth")


class BurnSection(Section):
    """A constant thrust at a node, in its axes, for a given time."""

    body: Name
    node: NodeName | None = None
    thrust: Vector
    start: Number
    duration: Positive
    isp: Positive | None = None
    tank: Name | None = None


class EnvironmentSection(Section):
    """The forces on a free-flyer in orbit about the Earth."""

    orbit: OrbitSection
    gravity: Annotated[str, choice("point", "j2")] = "point"
    drag: DragSection | None = None
    burns: list[BurnSection] = []

    def build(self, system: System, where: Where) -> Environment:
        """The environment; the bodies and nodes that it names are looked up in the system."""
        drag = None
        if self.drag is not None:
            here = where / "drag"
            faces = [
                Face(**_load(system, face, here / "faces" / i))
                for i, face in enumerate(self.drag.faces)
            ]
            drag = Drag(faces, self.drag.air.build(here / "air"))
        burns = []
        for i, section in enumerate(self.burns):
            here = where / "burns" / i
            with here.checked():
                burns.append(Burn(**_load(system, section, here)))
            if section.tank is not None:
                check_body(system, section.tank, here / "tank", joints=False)
        made = Environment(self.orbit.build(where / "orbit"), self.gravity, drag, burns)
        with where.checked():
            made.check(system)
        return made


def _load(system: System, section: FaceSection | BurnSection, where: Where) -> dict[str, Any]:
    """The arguments of a face or a burn, whose body and node must exist."""
    check_body(system, section.body, where / "body", joints=False)
    with (where / "node").checked():
        system.node_number(section.body, section.node)
    return {name: getattr(section, name) for name in type(section).model_fields}


class OrbitalStartSection(Section):
    """The initial state of a base in the orbital frame: x away from the planet, z along the angular momentum, y along
    the track.
    """

    body: Name | None = None
    position: Vector = (0.0, 0.0, 0.0)
    velocity: Vector = (0.0, 0.0, 0.0)
    attitude: RotationSection | None = None
    rate: Vector = (0.0, 0.0, 0.0)

    def build(
        self,
        system: System,
        environment: Environment | None,
        q: Array,
        v: Array,
        where: Where,
    ) -> tuple[Array, Array]:
        """The state q, v with this base."""
        if environment is None:
            raise where.error("a start in the orbital frame needs an `environment` with an orbit.")
        with where.checked():
            R = None if self.attitude is None else self.attitude.build()
            return environment.start(
                system, self.body, position=self.position, velocity=self.velocity, attitude=R,
                rate=self.rate, q=q, v=v,
            )  # fmt: skip


class SloshSection(Section):
    """The liquid in an upright cylindrical tank, as a pendulum or on springs; see `limber.orbit.Slosh`."""

    name: Name
    to: Name
    at: NodeName | None = None
    offset: Vector = (0.0, 0.0, 0.0)
    rotation: RotationSection | None = None
    radius: Positive
    depth: Positive
    mass: Positive
    acceleration: Positive | None = None
    damping: Share = 0.0
    kind: Annotated[str, choice("pendulum", "springs")] = "pendulum"

    def attach(self, assembly: Assembly, where: Where) -> None:
        """Attach its two bodies."""
        with where.checked():
            R = None if self.rotation is None else self.rotation.build()
            Slosh(self.radius, self.depth, self.mass).attach(
                assembly, self.name, to=self.to, at=self.at, offset=self.offset, rotation=R,
                acceleration=self.acceleration, damping=self.damping, kind=self.kind,
            )  # fmt: skip
