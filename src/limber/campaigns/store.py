"""The rows of a campaign on disk, in a Zarr group that any Zarr reader opens.

Every array has one chunk for each work unit.  A chunk appears whole or not at all, and that of `status` is written last: a
work unit is finished if its status is there.  So a campaign that is killed at any moment has lost nothing that was
finished, and begins again with what was not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from limber.campaigns.memory import Table
from limber.campaigns.records import differences
from limber.campaigns.rows import STATUS, Shapes, UnitRows
from limber.campaigns.study import Study
from limber.errors import (
    ArgumentValueError,
    FileError,
    LimberError,
    MissingExtraError,
    warn,
)

#: What the group calls itself.
KIND = "limber campaign"
#: What an array is, among its attributes.
ROLE = "limber_role"
#: The arrays of a history and their axes behind that of the cases.
HISTORY = {"t": ("time",), "q": ("time", "coordinate"), "v": ("time", "speed")}


def library() -> Any:
    """Zarr, which is an extra."""
    try:
        import zarr  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'storing a campaign needs zarr: pip install "limber-dynamics[campaign]".'
        ) from error
    return zarr


class StoreError(LimberError, OSError):
    """Results that cannot be stored; what was stored before is kept."""


class Store:
    """A campaign on disk, which this process alone may write."""

    def __init__(self, path: Path, group: Any, study: Study):
        self.path, self._group, self.study = path, group, study
        self._shapes: Shapes | None = None

    def load(self, table: Table) -> list[int]:
        """Put all finished rows into a table; returns their work units.

        Units whose results are damaged or gone are not among them, so that they run again.
        """
        status, lost = self._readable("status")
        finished = np.isin(status, [STATUS.index(x) for x in ("finished", "stopped")])
        if finished.any():
            self._shapes = self._stored_shapes()
            table.take_shapes(self._shapes)
            lost |= self._missing(finished)
        columns = {}
        for name in ("message", *table.values):
            columns[name], unreadable = self._readable(name)
            lost |= unreadable
        if lost:
            first = self.study.cases(min(lost))
            warn(
                f"{self.path}: the results of {len(lost)} work units are damaged or gone, those of cases {first.start} to "
                f"{first.stop - 1} for instance. They run again."
            )
        done = [
            unit
            for unit in range(self.study.units)
            if status[self.study.cases(unit).start] and unit not in lost
        ]
        if done:
            cases = np.concatenate([np.array(self.study.cases(unit)) for unit in done])
            messages = columns.pop("message").astype(object)[cases]
            values = {name: x[cases] for name, x in columns.items()}
            table.put_stored(cases, status[cases], messages, values)
        return done

    def _readable(self, name: str) -> tuple[np.ndarray, set[int]]:
        """An array, and the work units whose chunks of it cannot be read."""
        array = self._array(name)
        try:
            return array[:], set()
        except Exception:  # whatever the codecs find wrong; now chunk by chunk
            found, lost = np.full(array.shape, array.fill_value, array.dtype), set()
        for unit in range(self.study.units):
            cases = self.study.cases(unit)
            chosen = slice(cases.start, cases.stop)
            try:
                found[chosen] = array[chosen]
            except Exception:
                lost.add(unit)
        return found, lost

    def _missing(self, finished: np.ndarray) -> set[int]:
        """The work units with finished cases for which an array of results has no chunk."""
        assert self._shapes is not None
        arrays: dict[str, tuple[int, ...]] = {"message": (), **self._shapes.values}
        arrays |= {f"history_{name}": shape for name, shape in self._shapes.history.items()}
        lost = set()
        for unit in range(self.study.units):
            cases = self.study.cases(unit)
            if not finished[cases.start : cases.stop].any():
                continue
            for name, shape in arrays.items():
                chunk = self.path.joinpath(name, "c", str(unit), *("0" for _ in shape))
                if not chunk.exists():
                    lost.add(unit)
        return lost

    def _array(self, name: str) -> Any:
        try:
            return self._group[name]
        except (KeyError, ValueError) as error:
            raise _damaged(self.path, f"{name!r} cannot be opened") from error

    def write(self, done: UnitRows, table: Table) -> None:
        """Store the rows of a work unit; they count from the last of these lines on."""
        cases = self.study.cases(done.unit)
        chosen = slice(cases.start, cases.stop)
        try:
            if table.shapes is not None and self._shapes is None:
                self._make_arrays(table.shapes)
            # chunks of nothing but nan are written too, so that one that is gone is noticed
            with library().config.set({"array.write_empty_chunks": True}):
                for name, x in table.values.items():
                    self._group[name][chosen] = x[chosen]
                self._write_history(done)
                self._group["message"][chosen] = np.array(
                    [row.message for row in done.rows], dtype=object
                )
                self._group["status"][chosen] = np.array(
                    [STATUS.index(row.status) for row in done.rows], dtype=np.int8
                )
        except OSError as error:
            raise StoreError(
                f"{self.path}: the results of cases {cases.start} to {cases.stop - 1} cannot be stored: "
                f"{error.strerror or error}. All that was stored before is kept; the campaign goes on from there when it is "
                "run again."
            ) from error

    def _write_history(self, done: UnitRows) -> None:
        if self._shapes is None:
            return
        for name, shape in self._shapes.history.items():
            block = np.full((len(done.rows), *shape), np.nan)
            for i, row in enumerate(done.rows):
                if row.history is not None:
                    block[i] = row.history[name]
            first = done.rows[0].case
            self._group[f"history_{name}"][first : first + len(block)] = block

    def _make_arrays(self, shapes: Shapes) -> None:
        """Make the arrays of quantities and histories, anew if a campaign that was killed had begun to."""
        for i, (name, shape) in enumerate(shapes.values.items()):
            axes = (f"{name}_{k}" for k in range(len(shape)))
            _array(
                self._group,
                name,
                self.study,
                shape,
                axes,
                attributes={ROLE: "quantity", "order": i},
            )
        for i, (name, shape) in enumerate(shapes.history.items()):
            marks = {ROLE: "history", "order": i}
            _array(
                self._group, f"history_{name}", self.study, shape, HISTORY[name], attributes=marks
            )
        self._shapes = shapes

    def _stored_shapes(self) -> Shapes:
        found: dict[str, list[tuple[int, str, tuple[int, ...]]]] = {"quantity": [], "history": []}
        for place in sorted(self.path.iterdir()):
            if not place.is_dir():
                continue
            array = self._array(place.name)
            if (role := array.attrs.get(ROLE)) in found:
                name = place.name.removeprefix("history_")
                found[role].append((array.attrs["order"], name, array.shape[1:]))
        return Shapes(
            *({name: shape for _, name, shape in sorted(part)} for part in found.values())
        )


def _array(
    group: Any, name: str, study: Study, shape: tuple[int, ...], axes: Any, data: Any = None,
    attributes: Any = None,
) -> None:  # fmt: skip
    """A new array over the cases, one chunk for each work unit."""
    kind = "f8" if data is None else ("string" if data.dtype == object else data.dtype)
    made = group.create_array(
        name,
        shape=(len(study), *shape),
        chunks=(study.unit, *(max(n, 1) for n in shape)),
        dtype=kind,
        fill_value=np.nan if kind == "f8" else ("" if kind == "string" else 0),
        compressors=library().codecs.ZstdCodec(checksum=True),
        dimension_names=("case", *axes),
        attributes=attributes,
        overwrite=True,
    )
    if data is not None and data.size:
        made[:] = data


@contextmanager
def opened(path: Path, study: Study, restart: bool) -> Iterator[Store]:
    """The store of a study at a path: made if there is none, gone on with if there is one of the same study."""
    zarr = library()
    if restart and path.exists():
        _refuse_strange(path)
        with _locked(path):
            shutil.rmtree(path)
    if not path.exists():
        _make(zarr, path, study)
    _refuse_strange(path)
    with _locked(path):
        group = zarr.open_group(str(path), mode="r+")
        changed = differences(group.attrs["study"], study.record)
        if changed:
            raise ArgumentValueError(
                f"{path} has results of another study, or of this one before it was changed: {'; '.join(changed[:8])}. Its "
                "cases would not fit to new ones. Give another place, or start anew (restart=True, --restart), which removes "
                "them."
            )
        yield Store(path, group, study)


def _make(zarr: Any, path: Path, study: Study) -> None:
    """Make an empty store; it appears whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        group = zarr.open_group(str(part), mode="w")
        group.attrs.update({"kind": KIND, "study": dict(study.record)})
        seeds = np.array(study.seeds, dtype=np.int64)
        _array(group, "seed", study, (), (), seeds)
        for i, (name, x) in enumerate(study.columns.items()):
            axes = (f"{name}_{k}" for k in range(x.ndim - 1))
            _array(group, name, study, x.shape[1:], axes, x, {ROLE: "variable", "order": i})
        empty = np.array([""] * len(study), dtype=object)
        _array(group, "message", study, (), (), empty)
        _array(group, "status", study, (), (), np.zeros(len(study), dtype=np.int8))
        group["status"].attrs.update(
            {
                "flag_values": list(range(len(STATUS))),
                "flag_meanings": " ".join(s.replace(" ", "_") for s in STATUS),
            }
        )
        part.rename(path)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise StoreError(f"{path}: cannot be made: {error.strerror or error}.") from error


def _damaged(path: Path, what: str) -> FileError:
    return FileError(
        f"{path}: the store is damaged: {what}. Start anew (restart=True, --restart), which removes it, or give another place.",
        str(path),
    )


def _refuse_strange(path: Path) -> None:
    """Refuse a path that is not a campaign."""
    zarr = library()
    try:
        kind = zarr.open_group(str(path), mode="r").attrs.get("kind")
    except (OSError, ValueError, KeyError):
        kind = None
    if kind != KIND:
        raise FileError(f"{path}: this is not a campaign of Limber. Give another place.", str(path))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a store; a process that is killed lets go of it."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # not on Windows
        yield
        return
    # A file of its own: a process lets go of such a lock as soon as it closes the file in any place.
    try:
        (path / "seed").mkdir(exist_ok=True)
        lock = (path / "seed" / "lock").open("ab")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}.") from error
    with lock as file:
        try:
            fcntl.lockf(
                file, fcntl.LOCK_EX | fcntl.LOCK_NB
            )  # other than flock, forks do not share it
        except OSError:
            raise ArgumentValueError(
                f"{path}: another process is running this campaign. Wait for it, or give another place."
            ) from None
        yield
