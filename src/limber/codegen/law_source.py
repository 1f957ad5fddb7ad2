"""Linear control laws as lines of generated code, for the CPU and the GPU; `simulation.laws` has their equations.

Arguments of the code, which all states share except for the start:

    reference (samples, x)      start (x)               feed (samples, torques)
    gains (samples or 1, torques, x)                    memory: A (z, z), B (z, x) and C (torques, z), one after another
    limit (torques)             row: the sample         varying: 1 if each sample has its gains, or 0

The state is in x and y, and the torques are added to u.  A law with a model calls the program "inverse_dynamics" of the
model.
"""

from __future__ import annotations

from dataclasses import dataclass

from limber.codegen.statements import Dialect

#: The names of the arrays, in the order of the kernel's arguments.
ARRAYS = ("reference", "start", "feed", "gains", "memory", "limit")


@dataclass(frozen=True)
class ModelPlaces:
    """The places in the plant's q and v of the coordinates and speeds of a model, and those of the torques in its own
    speeds; `accelerates` says whether what the law asks for are accelerations.
    """

    q: tuple[int, ...]
    v: tuple[int, ...]
    torques: tuple[int, ...]
    accelerates: bool


@dataclass(frozen=True)
class LawPlaces:
    """The places in q and v that a law reads and of its torques in v, and for each entry of its memory the number of
    the torque that it is the integral of, or -1.
    """

    q: tuple[int, ...]
    v: tuple[int, ...]
    torques: tuple[int, ...]
    integrals: tuple[int, ...]
    model: ModelPlaces | None = None

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many numbers x, the torques and the memory have."""
        return len(self.q) + len(self.v), len(self.torques), len(self.integrals)

    def shapes(self) -> dict[str, tuple[int | None, ...]]:
        """The shapes of the arrays; None is any number."""
        x, u, z = self.sizes
        shapes = ((None, x), (x, None), (None, u), (None, u, x), (z * z + z * x + u * z,), (u,))
        return dict(zip(ARRAYS, shapes))


def helpers(real: str, qualifier: str) -> str:
    """The functions that the lines of a law call, for numbers."""
    return f"""\
{qualifier} {real} limited({real} x, {real} limit)
{{
    return x > limit ? limit : x < -limit ? -limit : x;
}}

{qualifier} {real} unless_beyond({real} change, {real} over)
{{
    return over * change > 0 ? 0 : change;
}}
"""


def declared(law: LawPlaces, d: Dialect) -> list[str]:
    """The lines before the loop over steps."""
    u, z = (max(n, 1) for n in law.sizes[1:])
    lines = [f"{d.real} z[{z}];", *(f"z[{i}] = {_zero(d)};" for i in range(len(law.integrals)))]
    lines.append(f"{d.real} e[{max(law.sizes[0], 1)}], asked[{u}], over[{u}], z_new[{z}];")
    if law.model is not None:
        q, n = max(len(law.model.q), 1), max(len(law.model.v), 1)
        lines.append(f"{d.real} x_model[{q}], y_model[{n}], rates[{n}], needed[{n}];")
    return lines


def _zero(d: Dialect) -> str:
    return d.constant.format(x=d.number(0.0))


def evaluated(law: LawPlaces, d: Dialect, start: str) -> list[str]:
    """The lines that add the torques of a sample to u, and renew the memory.

    start : element i of the start of a state, as a format.
    """
    x, u, z = law.sizes
    read = [f"x[{i}]" for i in law.q] + [f"y[{i}]" for i in law.v]
    B, C = z * z, z * z + z * x
    lines = [
        f"e[{i}] = reference[row * {x} + {i}] + {start.format(i=i)} - {value};"
        for i, value in enumerate(read)
    ]
    lines += [
        f"for (int j = 0; j < {u}; ++j) {{",
        f"    asked[j] = {_zero(d)} + feed[row * {u} + j];",
        f"    for (int i = 0; i < {x}; ++i) asked[j] += gains[(row * varying * {u} + j) * {x} + i] * e[i];",
        f"    for (int i = 0; i < {z}; ++i) asked[j] += memory[{C} + j * {z} + i] * z[i];",
        "}",
    ]
    if law.model is not None:
        lines += _of_model(law.model, d)
    for j, place in enumerate(law.torques):
        lines += [
            "{",
            f"    const {d.real} torque = limited(asked[{j}], limit[{j}]);",
            f"    over[{j}] = asked[{j}] - torque;",
            f"    u[{place}] += torque;",
            "}",
        ]
    for j, torque in enumerate(law.integrals):
        stops = [f"    change = unless_beyond(change, over[{torque}]);"] if torque >= 0 else []
        lines += [
            "{",
            f"    {d.real} change = {_zero(d)};",
            f"    for (int i = 0; i < {x}; ++i) change += memory[{B + j * x} + i] * e[i];",
            *stops,
            f"    for (int i = 0; i < {z}; ++i) change += memory[{j * z} + i] * z[i];",
            f"    z_new[{j}] = change;",
            "}",
        ]
    if z:
        lines.append(f"for (int i = 0; i < {z}; ++i) z[i] = z_new[i];")
    return lines


def _of_model(model: ModelPlaces, d: Dialect) -> list[str]:
    """The lines that turn the requested values into torques."""
    lines = [f"x_model[{i}] = x[{place}];" for i, place in enumerate(model.q)]
    for i, place in enumerate(model.v):
        speed = f"y[{place}]" if model.accelerates else _zero(d)
        lines.append(f"y_model[{i}] = {speed}; rates[{i}] = {_zero(d)};")
    if model.accelerates:
        lines += [f"rates[{place}] = asked[{j}];" for j, place in enumerate(model.torques)]
    call = d.callee.format(name="inverse_dynamics")
    lines.append(f"{call}(x_model, y_model, rates, needed);")
    added = "=" if model.accelerates else "+="
    return lines + [f"asked[{j}] {added} needed[{i}];" for j, i in enumerate(model.torques)]
