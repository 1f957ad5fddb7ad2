"""Linear models for python-control."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError

if TYPE_CHECKING:
    from limber.control.linear_model import LinearModel


def to_control(model: LinearModel) -> Any:
    """Convert a model to a `control.StateSpace` with the same names; its sample time is `dt`.

    python-control reads a dot in a name as "system.signal", so dots become underscores.
    """
    try:
        import control  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'to_control needs python-control: pip install "limber-dynamics[control]".'
        ) from error

    def named(names: tuple[str, ...]) -> list[str]:
        return [name.replace(".", "_") for name in names]

    return control.ss(
        model.A, model.B, model.C, model.D, model.dt,
        states=named(model.states), inputs=named(model.inputs), outputs=named(model.outputs),
        name=model.name.replace(".", "_"), remove_useless_states=False,
    )  # fmt: skip


def from_control(system: Any) -> LinearModel:
    """Convert a `control.StateSpace` to a LinearModel."""
    from limber.control.linear_model import LinearModel  # noqa: PLC0415

    if not all(hasattr(system, name) for name in ("A", "B", "C", "D", "dt", "input_labels")):
        raise ArgumentTypeError(
            f"system must be a control.StateSpace of python-control, got {shown(system)}. control.ss converts transfer "
            "functions."
        )
    if system.dt is True:
        raise ArgumentValueError(
            f"{system.name!r} is sampled, but its sample time is not known: give it as dt of control.ss."
        )
    dt = 0.0 if system.dt is None else float(system.dt)
    return LinearModel.of(
        system.A, system.B, system.C, system.D,
        inputs=list(system.input_labels), outputs=list(system.output_labels), name=system.name or "model", dt=dt,
    )  # fmt: skip
