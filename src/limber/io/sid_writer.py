"""Writing Standard Input Data (SID); `io.sid` defines the data."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

import numpy as np

from limber.bodies import FlexibleBody
from limber.bodies.integrals import ModalIntegrals, dyad, full, tilde, upper
from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.io.files import file_path
from limber.io.sid import J_ORDER, centrifugal, derived
from limber.io.sid_blocks import write_taylor
from limber.version import __version__
from limber.whole import replacing


def write_sid(body: FlexibleBody, path: str | PathLike) -> None:
    """Write a flexible body as a file of Standard Input Data (SID), which SIMPACK and Modelica libraries read.

    body : a FlexibleBody or a beam.
    path : the path of the file; an existing file is replaced as a whole.

    Numbers are written so that `read_sid` restores the same bits.  SID numbers its nodes: names that are not numbers
    are replaced by 1, 2, ..., with a warning.
    """
    if getattr(body, "kind", None) != FlexibleBody.kind:
        raise ArgumentTypeError(f"body must be a FlexibleBody or a beam, got {shown(body)}.")
    if body.modes == 0 or body.free_symbols:
        raise ArgumentValueError(
            "body must have modes, and numbers instead of symbols: SID is for flexible bodies with numeric values."
        )
    target = file_path(path)
    text = _text(body)
    with replacing(target) as stream:
        stream.write(text.encode("ascii"))


def _text(body: FlexibleBody) -> str:
    """The whole file."""
    x = _first_orders(body.integrals)
    m, names = body.modes, _numbers(body.nodes.names)
    omega = np.sqrt(np.maximum(np.diag(body.stiffness) / np.diag(x.G0), 0.0))
    out = [
        f"{len(names):6d}{m:6d}  : number of nodes, number of modes : written by limber {__version__}",
        "part",
        "     new modal = limber",
        "          refmod",
        f"               mass = {_number(x.mass)}",
        f"               nelastq = {m}",
        *(
            f"               ielastq ({k + 1:4d}) = Mode {k + 1:4d} : {w / (2 * np.pi):.6g} Hz"
            for k, w in enumerate(omega)
        ),
        "          end refmod",
        "          frame",
    ]
    out += _nodes(body, names, m)
    out.append("          end frame")
    six = lambda J: np.stack([J[..., i, j] for i, j in J_ORDER])  # noqa: E731
    J1 = full(x.J1)
    J2, F1 = full(x.J2), x.F1
    derivative = derived(x)
    Gr1 = (J2 - tilde(F1)).transpose(2, 0, 1, 3)  # [i, k, s, j]
    blocks = {
        "mdCM": (x.S0[:, None], x.E0.T[:, :, None]),
        "J": (six(full(x.J0))[:, None], six(J1)[:, :, None]),
        "Ct": (x.E0, x.S2 if np.any(x.S2) else None),
        "Cr": (x.F0, F1),
        "Me": (x.G0, x.G1.transpose(0, 2, 1) if np.any(x.G1) else None),
        "Gr": (derivative["Gr"], Gr1.transpose(0, 2, 1, 3).reshape(3, m, 3 * m)),
        "Ge": (derivative["Ge"], None),
        "Oe": (derivative["Oe"], centrifugal(J2)),
        "ksigma": (np.zeros((m, 1)), None),
        "Ke": (body.stiffness, None),
        "De": (body.damping, None),
    }
    for name, (M0, M1) in blocks.items():
        write_taylor(out, name, M0, M1, m, 10)
    return "\n".join([*out, "     end modal", "end part", ""])


def _first_orders(x: ModalIntegrals) -> ModalIntegrals:
    """The integrals with the first orders of second-order shapes in S2, F1 and J2."""
    c = x.curved
    if c is None:
        return x
    warn(
        "SID cannot store products of two second-order shapes: they are left out of the file, which contains the usual "
        "truncated form of geometric stiffening.",
        ModelWarning,
    )
    B, l = np.moveaxis(c.second, 1, -1), c.position[:, None, None]  # (n, m, m, 3)
    return replace(
        x,
        S2=x.S2 + np.einsum("n,n,nrsi->rsi", c.weight, c.unit, B),
        F1=x.F1 + np.einsum("n,nrsi->rsi", c.weight, np.cross(l, B)),
        J2=x.J2 + upper(np.einsum("n,nrsij->rsij", c.weight, dyad(l, B))),
        curved=None,
    )


def _number(value: float) -> str:
    """All digits, in the notation of Fortran."""
    return repr(float(value)).replace("e", "D")


def _nodes(body: FlexibleBody, names: list[str], m: int) -> list[str]:
    """The blocks of the nodes."""
    out: list[str] = []
    shapes = body.nodes.shapes
    for j, name in enumerate(names):
        phi, psi = shapes.translation[j], shapes.rotation[j]
        out += [f"               new node = {name}", "                    rframe = body ref"]
        write_taylor(out, "origin", shapes.position[j][:, None], phi[:, :, None], m, 20)
        second = None if shapes.second is None else shapes.second[j].transpose(0, 2, 1)
        write_taylor(out, "phi", phi, second, m, 20)
        write_taylor(out, "psi", psi, None, m, 20)
        write_taylor(out, "AP", np.eye(3), tilde(psi.T).transpose(1, 0, 2), m, 20)
        out.append("               end node")
    return out


def _numbers(names: tuple[str, ...]) -> list[str]:
    """The numbers of the nodes."""
    if all(name.isdecimal() and name.isascii() for name in names):
        return list(names)
    numbers = [str(j + 1) for j in range(len(names))]
    told = ", ".join(f"{name!r}: {n}" for name, n in zip(names[:8], numbers))
    warn(
        f"nodes are numbered in SID: {told}{', ...' if len(names) > 8 else ''} in the file.",
        ModelWarning,
    )
    return numbers
