"""Torques in scenario files: none, constant, a table, or the torques that move the rigid arm along paths."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import Assembly, System
from limber.checks import did_you_mean, listed
from limber.control import Loop
from limber.errors import ModelWarning, warn
from limber.io.document import Where, read_text
from limber.io.fields import FileName, Name, array_of, number, numbers, problem
from limber.io.section import Section
from limber.scenarios.controllers import PDSection, PIDSection
from limber.scenarios.floating import floats
from limber.scenarios.joint_paths import PathsSection, few, joint_paths, warn_of_cuts
from limber.scenarios.path_torques import rigid_torques
from limber.scenarios.states import StateSection, check_body, refuse_twice
from limber.simulation.table import Table
from limber.trajectories import Trajectory


class TableSection(Section):
    """Torques over time: `times` with `values` (n, nv) or by body, or a CSV file.

    A CSV file has a column `t` and columns BODY (a joint with one speed), BODY[i] (joint speed i) or BODY.modes[i].
    Torques without a column are zero.
    """

    one_of: ClassVar[tuple[str, ...]] = ("values", "bodies", "csv")
    times: Annotated[Any, numbers(("n",))] | None = None
    values: Annotated[Any, numbers(("n", "nv"))] | None = None
    bodies: dict[Name, list[Any]] | None = None
    csv: FileName | None = None

    def build(self, system: System, where: Where) -> Table:
        """The table."""
        if self.csv is not None:
            if self.times is not None:
                raise where.error("the times come from the CSV file: leave them out here.", "times")
            return _from_csv(system, where / "csv", self.csv)
        if self.times is None:
            raise where.error("'times' is missing.")
        if self.values is not None:
            tau = self.values
            if tau.ndim != 2 or tau.shape[1] != system.nv:
                raise where.error(
                    f"must have {system.nv} columns, one per speed of the system.", "values"
                )
        else:
            tau = np.zeros((self.times.size, system.nv))
            refuse_twice(system, self.bodies or {}, where / "bodies")
            for name, rows in (self.bodies or {}).items():
                here = where / "bodies" / name
                check_body(system, name, here)
                span = system.layout[name].v_joint
                tau[:, span] = _columns(rows, self.times.size, span.stop - span.start, here)
        with where.checked():
            return Table(self.times, tau)


def _columns(rows: list[Any], n: int, width: int, where: Where) -> np.ndarray:
    shape = (n, width) if rows and isinstance(rows[0], list) else (n,)
    try:
        values = array_of(rows, shape)
    except type(problem("")) as error:
        context = error.context or {}
        raise where.error(context["text"], *context["at"]) from None
    if shape == (n,) and width != 1:
        raise where.error(f"needs rows of {width} numbers, one per speed of this joint.")
    return values.reshape(n, width)


def _from_csv(system: System, where: Where, name: str) -> Table:
    """The table of a CSV file."""
    with where.checked():
        rows = list(csv.reader(read_text(where.folder / name).splitlines()))
    rows = [row for row in rows if row and not row[0].startswith("#")]
    if len(rows) < 2 or rows[0][0].strip() != "t":
        raise where.error(f"{name} must start with a header `t,BODY,...` and have rows of numbers.")
    head = [word.strip() for word in rows[0]]
    places = [_place(system, word, where, name) for word in head[1:]]
    if len(set(places)) != len(places):
        raise where.error(f"{name} has two columns for the same speed.")
    data = np.array([_row(row, head, i + 1, where, name) for i, row in enumerate(rows[1:])])
    tau = np.zeros((len(data), system.nv))
    tau[:, places] = data[:, 1:]
    with where.checked():
        return Table(data[:, 0], tau)


def _row(row: list[str], head: list[str], number: int, where: Where, file: str) -> list[float]:
    """The numbers in a row of a CSV file, which must be finite."""
    if len(row) != len(head):
        raise where.error(
            f"row {number} below the header of {file} has {len(row)} entries where its header has {len(head)} columns."
        )
    values = []
    for text, column in zip(row, head):
        try:
            values.append(float(text))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            raise where.error(
                f"column {column!r} of {file}: row {number} below the header has {text.strip()!r}, which is not a finite "
                "number."
            )
    return values


def _place(system: System, word: str, where: Where, file: str) -> int:
    """The index in v that belongs to a column of a CSV file."""
    match = re.fullmatch(r"(.*?)(\.modes)?(?:\[(\d{1,6})\])?", word)
    body = word if word in system.layout else match[1] if match else word
    if body not in system.layout:
        raise where.error(
            f"column {word!r} of {file}: there is no body {body!r} in {system.name!r}. {did_you_mean(body, system.layout)}"
        )
    modes = body != word and match is not None and match[2] is not None
    place = system.layout[body]
    span = place.v_modes if modes else place.v_joint
    index = None if body == word or match is None else match[3]
    size = span.stop - span.start
    if index is None and size != 1:
        raise where.error(
            f"column {word!r} of {file}: it has {size} speeds; name one of them, such as {body}[0]."
        )
    i = int(index or 0)
    if i >= size:
        raise where.error(f"column {word!r} of {file}: there are {size} speeds, numbered from 0.")
    return span.start + i


class FollowSection(Section):
    """The torques that move the arm without its modes along joint paths.

    Joints that are not named are held, except those with a quaternion, such as a free base, which have no force.
    """

    joints: dict[Name, PathsSection]
    tolerance: Annotated[float, number(above=0.0)] = 1e-6

    def warn_of_the_rest(
        self, system: System, v0: np.ndarray, paths: Mapping[str, Trajectory], where: Where
    ) -> None:
        """Warn of joints that are held, and of joints whose initial speed differs from the one that the torques
        assume."""
        driven = {n: j for n, j in system.joints.items() if j.dofs and not floats(j)}
        held = [name for name in driven if name not in paths]
        if held:
            text = (
                f"joints that are not named here are held where they start: {listed(held)}. Give each of them a path, or "
                "{hold: {}} to state this explicitly."
            )
            warn(str(where.error(text, "joints")), ModelWarning)
        for name in driven:
            given = v0[system.layout[name].v_joint]
            wanted = paths[name](0.0).velocity if name in paths else np.zeros(given.size)
            if (np.abs(given - wanted) > 1e-9 * (1.0 + np.abs(wanted))).any():
                what = "its path starts" if name in paths else "it is held,"
                text = (
                    f"the joint of {name!r} starts with the speed {few(given.tolist())} of `initial`, but {what} with "
                    f"{few(wanted.tolist())}: the torques are computed for the latter, so the arm will not follow. Make "
                    "the two agree."
                )
                warn(
                    str(where.error(text, "joints", *([name] if name in paths else []))),
                    ModelWarning,
                )


class TorqueSection(Section):
    """The torques: `constant`, `table`, `follow`, or a controller with exact knowledge of the state, `pd` or `pid`.

    The word `none` stands for no torques.
    """

    one_of: ClassVar[tuple[str, ...]] = ("constant", "table", "follow", "pd", "pid")
    short: ClassVar[str] = "none"
    constant: StateSection | None = None
    table: TableSection | None = None
    follow: FollowSection | None = None
    pd: PDSection | None = None
    pid: PIDSection | None = None

    @property
    def controls(self) -> bool:
        """Whether it is a controller."""
        return self.pd is not None or self.pid is not None

    def build(
        self,
        assembly: Assembly,
        system: System,
        q0: np.ndarray,
        v0: np.ndarray,
        duration: float,
        where: Where,
    ) -> tuple[np.ndarray | Table | Loop | None, Mapping[str, Trajectory]]:
        """The torques, and the paths if there are any."""
        if self.constant is not None:
            zero = np.zeros(system.nv)
            tau = self.constant.fill(system, "v", zero, where / "constant")
            tau.setflags(write=False)
            return tau, {}
        if self.table is not None:
            return self.table.build(system, where / "table"), {}
        for kind in ("pd", "pid"):
            section = getattr(self, kind)
            if section is not None:
                controller, paths = section.build(system, q0, where / kind)
                with (where / kind).checked():
                    return Loop(system, controller), paths
        if self.follow is not None:
            here = where / "follow"
            if not math.isfinite(duration):
                raise here.error("needs a finite duration.")
            paths = joint_paths(system, self.follow.joints, q0, here / "joints")
            warn_of_cuts(paths, duration, here / "joints")
            self.follow.warn_of_the_rest(system, v0, paths, here)
            with here.checked():
                tolerance = self.follow.tolerance
                return rigid_torques(assembly, system, q0, v0, paths, duration, tolerance), paths
        raise where.error("the torque is empty: give its numbers, or write `torque: none`.")
