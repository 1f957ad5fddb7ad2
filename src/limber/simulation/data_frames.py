"""Results with names for their columns, as data frames of pandas and datasets of xarray."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.system import System
from limber.errors import MissingExtraError

if TYPE_CHECKING:
    from limber.simulation.batch_result import BatchResult
    from limber.simulation.result import Result


def column_names(system: System) -> tuple[list[str], list[str]]:
    """The names of the elements of q, and those of v and tau: body.joint0, body.mode0, ..."""
    q, v = [""] * system.nq, [""] * system.nv
    for body, where in system.layout.items():
        for target, part, label in (
            (q, where.q_modes, "mode"),
            (q, where.q_joint, "joint"),
            (v, where.v_modes, "mode"),
            (v, where.v_joint, "joint"),
        ):
            for i in range(part.start, part.stop):
                target[i] = f"{body}.{label}{i - part.start}"
    return q, v


def data_frame(result: Result) -> Any:
    """A DataFrame of a result; see `Result.to_pandas`."""
    pd = _library("pandas", "to_pandas")
    q, v = column_names(result.system)
    columns = [*(f"q.{n}" for n in q), *(f"v.{n}" for n in v), *(f"tau.{n}" for n in v)]
    index = pd.Index(result.t, name="t")
    return pd.DataFrame(np.hstack([result.q, result.v, result.tau]), index=index, columns=columns)


def dataset(result: Result) -> Any:
    """A Dataset of a result; see `Result.to_xarray`."""
    xr = _library("xarray", "to_xarray")
    q, v = column_names(result.system)
    coords = {"t": result.t, "coordinate": q, "speed": v}
    return xr.Dataset(_variables(result, ("t",)), coords)


def dataset_of_batch(batch: BatchResult) -> Any:
    """A Dataset of a batch; see `BatchResult.to_xarray`."""
    xr = _library("xarray", "to_xarray")
    q, v = column_names(batch.system)
    coords: dict[str, Any] = {
        "case": np.arange(len(batch)),
        "time": batch.t,
        "coordinate": q,
        "speed": v,
        "status": ("case", batch.status),
        "message": ("case", np.array(batch.messages, dtype=object)),
    }
    for name, x in batch.parameters.items():
        coords[name] = (("case", *(f"{name}_{i}" for i in range(x.ndim - 1))), x)
    return xr.Dataset(_variables(batch, ("case", "time")), coords, {"system": batch.system.name})


def _variables(of: Result | BatchResult, dimensions: tuple[str, ...]) -> dict[str, tuple]:
    """q, v and tau with the names of their dimensions, of which the first are given."""
    last = {"q": "coordinate", "v": "speed", "tau": "speed"}
    return {name: ((*dimensions, along), getattr(of, name)) for name, along in last.items()}


def _library(name: str, method: str) -> Any:
    """A library that a method needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f'{method} needs {name}: pip install "limber-dynamics[data]".'
        ) from error
