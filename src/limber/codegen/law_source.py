"""Linear control laws as lines of a CUDA kernel; `simulation.laws` has their equations.

Arguments of the kernel, which all threads share except for the start:

    reference (samples, x)      start (x, states)       feed (samples, torques)
    gains (samples or 1, torques, x)                    memory: A (z, z), B (z, x) and C (torques, z), one after another
    limit (torques)             sample: steps of a sample time              varying: 1 if each sample has its gains, or 0

A law with a model calls the program "inverse_dynamics" of the model.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def declared(law: LawPlaces, real: str) -> list[str]:
    """The lines before the loop over steps."""
    x, u, z = (max(n, 1) for n in law.sizes)
    lines = [
        f"{real} e[{x}], asked[{u}], over[{u}], z[{z}], z_new[{z}];",
        f"for (int i = 0; i < {len(law.integrals)}; ++i) z[i] = 0;",
    ]
    if law.model is not None:
        n = max(len(law.model.v), 1)
        lines.append(
            f"{real} x_model[{max(len(law.model.q), 1)}], y_model[{n}], rates[{n}], needed[{n}];"
        )
    return lines


def evaluated(law: LawPlaces, held: str, real: str) -> list[str]:
    """The lines of the loop over steps k; `held` sets the torques u to which those of the law are added."""
    x, u, z = law.sizes
    f = "f" if real == "float" else ""
    read = [f"x[{i}]" for i in law.q] + [f"y[{i}]" for i in law.v]
    B, C = z * z, z * z + z * x
    lines = [held, "const long long row = k / sample;"]
    lines += [
        f"e[{i}] = reference[row * {x} + {i}] + start[{i} * states + t] - {value};"
        for i, value in enumerate(read)
    ]
    lines += [
        f"for (int j = 0; j < {u}; ++j) {{",
        f"    asked[j] = feed[row * {u} + j];",
        f"    for (int i = 0; i < {x}; ++i) asked[j] += gains[(row * varying * {u} + j) * {x} + i] * e[i];",
        f"    for (int i = 0; i < {z}; ++i) asked[j] += memory[{C} + j * {z} + i] * z[i];",
        "}",
    ]
    if law.model is not None:
        lines += _of_model(law.model)
    for j, place in enumerate(law.torques):
        lines += [
            "{",
            f"    const {real} torque = fmin{f}(fmax{f}(asked[{j}], -limit[{j}]), limit[{j}]);",
            f"    over[{j}] = asked[{j}] - torque;",
            f"    u[{place}] += torque;",
            "}",
        ]
    for j, torque in enumerate(law.integrals):
        stops = [f"    if (over[{torque}] * change > 0) change = 0;"] if torque >= 0 else []
        lines += [
            "{",
            f"    {real} change = 0;",
            f"    for (int i = 0; i < {x}; ++i) change += memory[{B + j * x} + i] * e[i];",
            *stops,
            f"    for (int i = 0; i < {z}; ++i) change += memory[{j * z} + i] * z[i];",
            f"    z_new[{j}] = change;",
            "}",
        ]
    lines.append(f"for (int i = 0; i < {z}; ++i) z[i] = z_new[i];")
    return ["    if (k % sample == 0) {", *(f"        {line}" for line in lines), "    }"]


def _of_model(model: ModelPlaces) -> list[str]:
    """The lines that turn the requested values into torques."""
    lines = [f"x_model[{i}] = x[{place}];" for i, place in enumerate(model.q)]
    for i, place in enumerate(model.v):
        speed = f"y[{place}]" if model.accelerates else "0"
        lines.append(f"y_model[{i}] = {speed}; rates[{i}] = 0;")
    if model.accelerates:
        lines += [f"rates[{place}] = asked[{j}];" for j, place in enumerate(model.torques)]
    lines.append("inverse_dynamics(x_model, y_model, rates, needed);")
    added = "=" if model.accelerates else "+="
    return lines + [f"asked[{j}] {added} needed[{i}];" for j, i in enumerate(model.torques)]
