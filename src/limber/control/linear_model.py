"""Linear models: A, B, C, D with names, and the methods that work on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, listed, number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import read_only
from limber.notebook import as_text
from limber.whole import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """xdot = A x + B u, y = C x + D u; with a sample time dt, x[k + 1] = A x[k] + B u[k]. It prints as a table of its
    poles.

    A, B, C, D : (..., n, n), (..., n, m), (..., p, n), (..., p, m); the leading dimensions are those of the states that
        were linearized, and model[i] is one of the models.
    states, inputs, outputs : names.
    name : of the model.
    dt : sample time, s; zero for continuous time.
    t : (...) the times of a motion along which the system was linearized, otherwise None.
    T : (..., 2 nv, n): [dq, dv] of all degrees of freedom is T x. None if the model was not made from a system.
    hankel, error_bound : for a balanced model, the Hankel singular values of the stable part before truncation, and the
        bound on the error of the frequency response.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str = "model"
    dt: float = 0.0
    t: Any = None
    T: Array | None = None
    hankel: Array | None = None
    error_bound: float | None = None

    def __post_init__(self) -> None:
        read_only(self)

    @staticmethod
    def of(
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        D: ArrayLike | None = None,
        *,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        name: str = "model",
        dt: float = 0.0,
    ) -> LinearModel:
        """Make a model from matrices. D is zero by default, and the names are u0, ..., y0, ... by default."""
        A = array("A", A, ("n", "n"))
        n = len(A)
        if A.shape != (n, n):
            raise ArgumentValueError(f"A must be square, got shape {A.shape}.")
        B, C = array("B", B, (n, "m")), array("C", C, ("p", n))
        m, p = B.shape[1], C.shape[0]
        D = np.zeros((p, m)) if D is None else array("D", D, (p, m))
        return LinearModel(
            A, B, C, D,
            tuple(f"x{i}" for i in range(n)),
            _names("inputs", inputs, m, "u"),
            _names("outputs", outputs, p, "y"),
            name,
            number("dt", dt, minimum=0.0),
        )  # fmt: skip

    # --- parts ------------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """The number of states, n."""
        return self.A.shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading dimensions."""
        return self.A.shape[:-2]

    def __len__(self) -> int:
        if not self.batch:
            raise ArgumentTypeError("this is a single model, not one of several states.")
        return self.batch[0]

    def __getitem__(self, i: Any) -> LinearModel:
        """Some of the models of several states."""
        if not self.batch:
            raise ArgumentTypeError("this is a single model, which has no parts to index.")
        return replace(
            self, A=self.A[i], B=self.B[i], C=self.C[i], D=self.D[i],
            t=None if self.t is None else self.t[i], T=None if self.T is None else self.T[i],
        )  # fmt: skip

    def reshaped(self, batch: tuple[int, ...], times: Any = None) -> LinearModel:
        """The same models with other leading dimensions, at these times."""
        matrices = {
            key: None if x is None else x.reshape(*batch, *x.shape[-2:])
            for key, x in (
                ("A", self.A),
                ("B", self.B),
                ("C", self.C),
                ("D", self.D),
                ("T", self.T),
            )
        }
        return replace(self, **matrices, t=times)  # type: ignore[arg-type]

    def select(
        self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
    ) -> LinearModel:
        """The model with some of its inputs and outputs, by name, in the given order."""
        columns = _found("inputs", inputs, self.inputs)
        rows = _found("outputs", outputs, self.outputs)
        return replace(
            self, B=self.B[..., columns], C=self.C[..., rows, :],
            D=self.D[..., rows, :][..., columns],
            inputs=tuple(self.inputs[i] for i in columns),
            outputs=tuple(self.outputs[i] for i in rows),
        )  # fmt: skip

    def single(self, what: str) -> LinearModel:
        """Return this model, or raise an error if it has several states; `what` names the operation for the message."""
        if self.batch:
            raise ArgumentValueError(
                f"{what} is for one model, but this one has the leading dimensions {self.batch}: select one model, as in "
                "model[0]."
            )
        return self

    # --- poles ------------------------------------------------------------------------------------

    @property
    def poles(self) -> np.ndarray:
        """(..., n) eigenvalues of A."""
        return np.linalg.eigvals(self.A)

    @property
    def rates(self) -> np.ndarray:
        """(..., n) the poles in continuous time, 1/s: log(z) / dt for a sampled model."""
        poles = self.poles.astype(complex)
        if self.dt == 0.0:
            return poles
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(poles) / self.dt

    @property
    def stable(self) -> bool:
        """Whether all poles decay. Poles on the stability limit, up to rounding, do not (rigid-body modes, no
        damping)."""
        poles = self.poles
        if self.dt:
            return bool((np.abs(poles) < 1.0).all())
        return bool((poles.real < 0.0).all())

    @property
    def sizes(self) -> str:
        """The numbers of states, inputs and outputs, in words."""
        counts = (self.order, "state"), (len(self.inputs), "input"), (len(self.outputs), "output")
        return ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts)

    def __repr__(self) -> str:
        kind = f"sampled every {self.dt:g} s, " if self.dt else ""
        sizes = self.sizes
        batch = f", {self.batch} of them" if self.batch else ""
        return f"LinearModel({self.name!r}, {kind}{sizes}{batch}; print it for its poles)"

    _repr_html_ = as_text

    def __str__(self) -> str:
        from limber.control.poles import described_poles  # noqa: PLC0415

        if self.batch:
            return repr(self)
        lines = [repr(self).replace("; print it for its poles)", ")"), described_poles(self)]
        if self.error_bound is not None:
            lines.append(f"error of the frequency response: at most {self.error_bound:.4g}")
        return "\n".join(lines)

    # --- what is done with it: one file each -------------------------------------------------------

    def response(self, omega: ArrayLike) -> np.ndarray:
        """The complex frequency response (len(omega), outputs, inputs) at omega in rad/s, exact at each frequency.

        One Schur decomposition serves all frequencies. See `limber.control.frequency`.
        """
        from limber.control.frequency import response  # noqa: PLC0415

        return response(self.single("response"), omega)

    def sampled(self, sample_time: float, delay: ArrayLike = 0.0) -> LinearModel:
        """The exact model at sample times. Inputs are held in between and arrive `delay` s late (one number, or one per
        input).
        """
        from limber.control.sampled import sampled  # noqa: PLC0415

        return sampled(self.single("sampled"), sample_time, delay)

    def modal(self, keep: Any, *, static: bool = True) -> LinearModel:
        """The model with some of its modes; see `limber.control.reduction.modal`."""
        from limber.control.reduction import modal  # noqa: PLC0415

        return modal(self.single("modal"), keep, static=static)

    def balanced(self, order: int) -> LinearModel:
        """The balanced model of a given order; see `limber.control.reduction.balanced`."""
        from limber.control.reduction import balanced  # noqa: PLC0415

        return balanced(self.single("balanced"), order)

    def to_control(self) -> Any:
        """Convert to a `control.StateSpace` of python-control, with its names. Needs the extra `control`."""
        from limber.control.python_control import to_control  # noqa: PLC0415

        return to_control(self.single("to_control"))

    def bode(self, omega: ArrayLike | None = None, **options: Any) -> Figure:
        """Plot magnitude and phase over frequency; see `limber.control.linear_plots.bode`."""
        from limber.control.linear_plots import bode  # noqa: PLC0415

        return bode(self.single("bode"), omega, **options)

    def pole_zero(self, **options: Any) -> Figure:
        """Plot poles and transmission zeros in the complex plane; see `limber.control.linear_plots.pole_zero`."""
        from limber.control.linear_plots import pole_zero  # noqa: PLC0415

        return pole_zero(self.single("pole_zero"), **options)

    def root_locus(self, controller: Any = None, **options: Any) -> Figure:
        """Plot the poles of the loop over its gain; see `limber.control.linear_plots.root_locus`."""
        from limber.control.linear_plots import root_locus  # noqa: PLC0415

        return root_locus(self.single("root_locus"), controller, **options)

    def singular_values(self, omega: ArrayLike | None = None, **options: Any) -> Figure:
        """Plot singular values over frequency; see `limber.control.linear_plots.singular_values`."""
        from limber.control.linear_plots import singular_values  # noqa: PLC0415

        return singular_values(self.single("singular_values"), omega, **options)

    def zeros(self) -> np.ndarray:
        """Transmission zeros: the finite generalized eigenvalues of [A, B; C, D], for as many inputs as outputs."""
        from limber.control.poles import transmission_zeros  # noqa: PLC0415

        return transmission_zeros(self.single("zeros"))

    def save(self, path: Any) -> Path:
        """Write A, B, C, D, T, dt and names to a file (.npz) that `numpy.load` reads."""
        file = Path(path)
        if file.suffix != ".npz":
            raise ArgumentValueError(f"path={str(file)!r} must end in .npz.")
        arrays: dict[str, Any] = {key: getattr(self, key) for key in ("A", "B", "C", "D", "dt")}
        arrays |= {key: np.array(getattr(self, key)) for key in ("states", "inputs", "outputs")}
        arrays |= {key: x for key, x in (("T", self.T), ("t", self.t)) if x is not None}
        with replacing(file) as stream:
            np.savez(stream, **arrays)
        return file


def _names(argument: str, given: Sequence[str] | None, count: int, letter: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{letter}{i}" for i in range(count))
    if isinstance(given, str) or np.ndim(given) != 1 or len(given) != count:
        raise ArgumentValueError(f"{argument} must be {count} names, got {shown(given)}.")
    return tuple(map(str, given))


def _found(argument: str, given: Sequence[str] | None, known: tuple[str, ...]) -> list[int]:
    """The numbers of named inputs or outputs."""
    if given is None:
        return list(range(len(known)))
    if isinstance(given, str):
        raise ArgumentTypeError(
            f"{argument} must be a list of names, got {given!r}: use [{given!r}]."
        )
    if np.ndim(given) != 1 or not all(isinstance(name, str) for name in given):
        raise ArgumentTypeError(f"{argument} must be a list of names, got {shown(given)}.")
    missing = [name for name in given if name not in known]
    if missing:
        raise ArgumentValueError(
            f"{argument}: the model has no {listed(missing)}; it has: {listed(known)}."
        )
    return [known.index(name) for name in given]
