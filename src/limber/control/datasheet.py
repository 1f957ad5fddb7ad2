"""Data sheets of real devices, as YAML files in the folder `datasheets` or anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from limber.checks import did_you_mean, shown
from limber.control.actuators import ReactionWheel, Servo
from limber.control.sensors import (
    Accelerometer,
    Encoder,
    ForceTorque,
    Gyro,
    StarTracker,
    StrainGauge,
    Tachometer,
)
from limber.errors import ArgumentTypeError, ArgumentValueError, FileError
from limber.io.files_read import note_read

FOLDER = Path(__file__).with_name("datasheets")
#: The kinds of devices.
KINDS: dict[str, Any] = {
    "servo": Servo,
    "wheel": ReactionWheel,
    "encoder": Encoder,
    "tachometer": Tachometer,
    "gyro": Gyro,
    "accelerometer": Accelerometer,
    "strain_gauge": StrainGauge,
    "force_torque": ForceTorque,
    "star_tracker": StarTracker,
}
NEEDED = ("name", "kind", "source", "options")


@dataclass(frozen=True)
class DataSheet:
    """The data sheet of a sensor or an actuator.

    name, kind : of the device; kind is a key of `limber.control.datasheet.KINDS`.
    source, read : where the numbers were published, and how they were read.
    published : the numbers as published, with their units.
    options : keyword arguments of the class for this kind, in SI units.
    """

    name: str
    kind: str
    source: str
    read: str
    published: Mapping[str, str]
    options: Mapping[str, Any]

    def make(self, *arguments: Any, **options: Any) -> Any:
        """Make the sensor or actuator. Pass what the sheet does not contain, such as its place and rate.

        Options passed here override those of the sheet.
        """
        return KINDS[self.kind](*arguments, **{**self.options, **options})


def datasheets() -> tuple[str, ...]:
    """The names of the data sheets that come with Limber."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def datasheet(name: str | Path) -> DataSheet:
    """Load a data sheet: the name of one that comes with Limber (`datasheets()`), or the path of a YAML file."""
    if isinstance(name, str) and name in datasheets():
        path = FOLDER / f"{name}.yaml"
    elif isinstance(name, Path) or (isinstance(name, str) and name.endswith((".yaml", ".yml"))):
        path = Path(name)
        if path.is_file():
            note_read(path)
    elif isinstance(name, str):
        raise ArgumentValueError(
            f"name={shown(name)} is not a data sheet. {did_you_mean(name, datasheets())} For a file of your own, give its path, "
            "which ends in .yaml."
        )
    else:
        raise ArgumentTypeError(
            f"name must be the name of a data sheet or the path of a file, got {shown(name)}."
        )
    return _read(path)


def _read(path: Path) -> DataSheet:
    import yaml  # noqa: PLC0415 (it takes a while)

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}.", str(path)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: is not YAML: {error}", str(path)) from None
    if not isinstance(data, dict):
        raise FileError(
            f"{path}: a data sheet must be a mapping with {', '.join(NEEDED)}.", str(path)
        )
    known = (*NEEDED, "read", "published")
    for key in data:
        if key not in known:
            raise FileError(
                f"{path}: {key!r} is not a known key. {did_you_mean(str(key), known)}", str(path)
            )
    lacking = [key for key in NEEDED if key not in data]
    if lacking:
        raise FileError(f"{path}: this data sheet lacks {', '.join(lacking)}.", str(path))
    if data["kind"] not in KINDS:
        raise FileError(
            f"{path}: kind must be one of {', '.join(KINDS)}; got {shown(data['kind'])}.", str(path)
        )
    for key in ("options", "published"):
        if not isinstance(data.get(key, {}), dict):
            raise FileError(f"{path}: {key} must be a mapping.", str(path))
    return DataSheet(
        str(data["name"]), data["kind"], str(data["source"]), str(data.get("read", "")),
        MappingProxyType({str(k): str(v) for k, v in data.get("published", {}).items()}),
        MappingProxyType(dict(data["options"])),
    )  # fmt: skip
