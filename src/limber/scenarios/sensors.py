"""Sensors in scenario files."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from limber.control.datasheet import KINDS, DataSheet, datasheet
from limber.control.sensors import Sensor
from limber.io.document import Where
from limber.io.fields import Matrix, Name, NodeName, Number, Text, number, numbers, problem, whole
from limber.io.section import Section

Positive = Annotated[float, number(above=0.0)]
NotNegative = Annotated[float, number(minimum=0.0)]
#: One number, or one for each number of a reading or each joint.
OneEach = Annotated[Any, numbers(("n",), scalar=True)]
Spans = Annotated[Any, numbers(("n", 2))]


class SensorSection(Section):
    """The common keys of sensors; `datasheet` names a data sheet, whose values the other keys override."""

    name: Name | None = None
    datasheet: Text | None = None
    rate: Positive
    delay: NotNegative | None = None
    noise_density: OneEach | None = None
    noise: OneEach | None = None
    bias: OneEach | None = None
    bias_walk: OneEach | None = None
    quantization: OneEach | None = None
    range: OneEach | None = None
    seed: Annotated[int, whole(0, 2**63 - 1)] | None = None
    outages: Spans | None = None
    failures: Spans | None = None


class JointSensorSection(SensorSection):
    """A tachometer on the joints of some bodies, or of all."""

    bodies: list[Name] | None = None


class EncoderSection(JointSensorSection):
    """An encoder on the joints of some bodies, or of all; `counts` per turn instead of `quantization`."""

    counts: Positive | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Explain what to write instead of the `bits` of data sheets."""
        if isinstance(data, dict) and "bits" in data:
            raise problem(
                "is not a known key: give `counts`, the counts per revolution, which are 2 to the power of the number of "
                "bits: 65536 for 16 bits.",
                "bits",
            )
        return data


class MountedSection(SensorSection):
    """A gyro, an accelerometer or a star tracker at a node; the columns of `rotation` are its axes in node axes."""

    body: Name
    node: NodeName | None = None
    rotation: Matrix | None = None


class StrainGaugeSection(SensorSection):
    """A named strain gauge of a body, or one at a station of a beam, at the point y, z of the section."""

    body: Name
    gauge: Name | None = None
    at: Any = None
    y: Number = 0.0
    z: Number = 0.0


class ForceTorqueSection(SensorSection):
    """A force-torque sensor inboard of the joint of a body."""

    body: Name


class SensorChoiceSection(Section):
    """A sensor under the key of its kind."""

    one_of: ClassVar[tuple[str, ...]] = (
        "encoder",
        "tachometer",
        "gyro",
        "accelerometer",
        "strain_gauge",
        "force_torque",
        "star_tracker",
    )
    encoder: EncoderSection | None = None
    tachometer: JointSensorSection | None = None
    gyro: MountedSection | None = None
    accelerometer: MountedSection | None = None
    strain_gauge: StrainGaugeSection | None = None
    force_torque: ForceTorqueSection | None = None
    star_tracker: MountedSection | None = None

    def build(self, where: Where) -> Sensor:
        """The sensor."""
        kind = next(kind for kind in self.one_of if getattr(self, kind) is not None)
        here = where / kind
        with here.checked():
            return KINDS[kind](**options_of(getattr(self, kind), kind, here))


def options_of(section: Section, kind: str, where: Where) -> dict[str, Any]:
    """The keys of a file, which override those of the data sheet that it names."""
    given = {key: getattr(section, key) for key in section.model_fields_set}
    sheet = given.pop("datasheet", None)
    known: dict[str, Any] = {}
    if sheet is not None:
        found = _sheet(sheet, where / "datasheet")
        if found.kind != kind:
            raise where.error(
                f"the data sheet {sheet!r} describes a {found.kind}, not a {kind}.", "datasheet"
            )
        known = dict(found.options)
    return known | {key: value for key, value in given.items() if value is not None}


def _sheet(name: str, where: Where) -> DataSheet:
    """A data sheet of Limber by its name, or a file next to this one."""
    with where.checked():
        return datasheet(where.folder / name if name.endswith((".yaml", ".yml")) else name)
