"""The rows of a campaign on disk, in a Zarr group that any Zarr reader opens.

Every array has one chunk for each work unit. A chunk is written completely or not at all, and that of `status` is
written last: a work unit is finished if its status is there. A campaign that is killed at any moment therefore loses no
finished work, and resumes with the rest.
"""

from __future__ import annotations

import os
import shutil
import threading
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
    """Import Zarr, which is an extra."""
    try:
        import zarr  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'storing a campaign needs zarr: pip install "limber-dynamics[campaign]".'
        ) from error
    return zarr


class StoreError(LimberError, OSError):
    """Results cannot be stored; those stored before are kept."""


class Store:
    """A campaign on disk, which only this process may write."""

    def __init__(self, path: Path, group: Any, study: Study):
        self.path, self._group, self.study = path, group, study
        self._shapes: Shapes | None = None

    def load(self, table: Table) -> list[int]:
        """Put all finished rows into a table, and return their work units.

        Units whose results are damaged or missing are not returned, so they run again.
        """
        status, lost = self._readable("status")
        finished = np.isin(status, [STATUS.index(x) for x in ("finished", "stopped")])
        if finished.any():
            self._shapes = self._stored_shapes()
            table.take_shapes(self._shapes)
            lost |= self._missing(finished) | self._unreadable_histories(finished)
        self._restore_inputs()
        columns = {}
        for name in ("message", *table.values):
            columns[name], unreadable = self._readable(name)
            lost |= unreadable
        if lost:
            first = self.study.cases(min(lost))
            warn(
                f"{self.path}: the results of {len(lost)} work units are damaged or missing, for instance those of cases "
                f"{first.start} to {first.stop - 1}. These units run again."
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
        """The work units with finished cases for which an array of results has no chunk; arrays of nothing have none."""
        assert self._shapes is not None
        arrays: dict[str, tuple[int, ...]] = {"message": (), **self._shapes.values}
        arrays |= {f"history_{name}": shape for name, shape in self._shapes.history.items()}
        lost = set()
        for unit in self._units_with(finished):
            for name, shape in arrays.items():
                chunk = self.path.joinpath(name, "c", str(unit), *("0" for _ in shape))
                if 0 not in shape and not chunk.exists():
                    lost.add(unit)
        return lost

    def _unreadable_histories(self, finished: np.ndarray) -> set[int]:
        """The work units with finished cases whose histories are damaged; no more than one unit is in memory at once."""
        assert self._shapes is not None
        arrays = [self._array(f"history_{name}") for name in self._shapes.history]
        lost = set()
        for unit in self._units_with(finished):
            cases = self.study.cases(unit)
            try:
                for array in arrays:
                    array[cases.start : cases.stop]
            except Exception:  # whatever the codecs find wrong
                lost.add(unit)
        return lost

    def _units_with(self, finished: np.ndarray) -> list[int]:
        """The work units with finished cases."""
        units = range(self.study.units)
        return [n for n in units if finished[n * self.study.unit : (n + 1) * self.study.unit].any()]

    def _restore_inputs(self) -> None:
        """Write seeds and variables again where they are damaged: they follow from the study."""
        for name, x in _inputs(self.study).items():
            array = self._array(name)
            try:
                same = np.array_equal(np.asarray(array[:], dtype=x.dtype), x, x.dtype != object)
            except Exception:  # whatever the codecs find wrong
                same = False
            if not same:
                warn(f"{self.path}: {name!r} is damaged and is written again.")
                try:
                    array[:] = x
                except OSError as error:
                    raise _unwritten(self.path, error) from error

    def _array(self, name: str) -> Any:
        try:
            return self._group[name]
        except (
            KeyError,
            ValueError,
            TypeError,
            AttributeError,
        ) as error:  # what zarr.json may lead to
            raise _damaged(self.path, f"{name!r} cannot be opened") from error

    def write(self, done: UnitRows, table: Table) -> None:
        """Store the rows of a work unit; they count once the last write is complete."""
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
                f"{error.strerror or error}. Everything stored before is kept, and the campaign continues from there when "
                "it is run again."
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
        """Make the arrays of quantities and histories, replacing those that a killed campaign had begun."""
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
    """Open the store of a study at a path: create it if there is none, or continue one of the same study."""
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
                f"{path} contains results of another study, or of this study before it was changed: "
                f"{'; '.join(changed[:8])}. Its cases would not match new ones. Choose another folder, or start again "
                "(restart=True, --restart), which removes them."
            )
        yield Store(path, group, study)


def _inputs(study: Study) -> dict[str, np.ndarray]:
    """The entries of a store for every case before it runs: its seed, and the values of the variables."""
    return {"seed": np.array(study.seeds, dtype=np.int64), **study.columns}


def _make(zarr: Any, path: Path, study: Study) -> None:
    """Make an empty store atomically."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        group = zarr.open_group(str(part), mode="w")
        group.attrs.update({"kind": KIND, "study": dict(study.record)})
        for i, (name, x) in enumerate(_inputs(study).items()):
            axes = (f"{name}_{k}" for k in range(x.ndim - 1))
            marks = None if name == "seed" else {ROLE: "variable", "order": i - 1}
            _array(group, name, study, x.shape[1:], axes, x, marks)
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
        if path.exists():  # another campaign was faster to make it
            return
        raise StoreError(f"{path}: cannot be created: {error.strerror or error}.") from error


def _damaged(path: Path, what: str) -> FileError:
    return FileError(
        f"{path}: the store is damaged: {what}. Start again (restart=True, --restart), which removes it, or choose "
        "another folder.",
        str(path),
    )


def _refuse_strange(path: Path) -> None:
    """Reject a path that is not a campaign."""
    zarr = library()
    try:
        kind = zarr.open_group(str(path), mode="r").attrs.get("kind")
    except (OSError, ValueError, KeyError):
        kind = None
    if kind != KIND:
        raise FileError(
            f"{path}: this is not a campaign of Limber. Choose another folder.", str(path)
        )


#: The stores that campaigns of this process write, which its locks on files do not keep apart.
_held: set[Path] = set()
_holding = threading.Lock()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Prevent other campaigns from writing to a store; a killed process releases it."""
    place = path.resolve()
    with _holding:
        if place in _held:
            raise _written_by("another thread of this process", path)
        _held.add(place)
    try:
        with _locked_file(path):
            yield
    finally:
        _held.discard(place)


@contextmanager
def _locked_file(path: Path) -> Iterator[None]:
    """Prevent other processes from writing to a store."""
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
        raise _unwritten(path, error) from error
    with lock as file:
        try:
            fcntl.lockf(
                file, fcntl.LOCK_EX | fcntl.LOCK_NB
            )  # other than flock, forks do not share it
        except OSError:
            raise _written_by("another process", path) from None
        yield


def _written_by(whom: str, path: Path) -> ArgumentValueError:
    return ArgumentValueError(
        f"{path}: {whom} is running this campaign. Wait for it to finish, or choose another folder."
    )


def _unwritten(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path}: cannot be written: {error.strerror or error}.")
