"""A free-flying servicer with a flexible arm grasps a tumbling satellite.

An event closes the hand in a rigid grasp.  An impulse makes the speeds of hand and handle jump to a common value, and
linear and angular momentum are conserved.  Dampers in the joints then bring satellite and servicer to a common spin.  The
scenario is grasp_tumbling.yaml, which `limber simulate` accepts as well.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import limber as lb

SCENARIO = Path(__file__).parent / "grasp_tumbling.yaml"
#: Half the lengths of the edges of servicer and satellite, for the picture, m.
BOXES = {"servicer": (0.6, 0.5, 0.5), "satellite": (0.45, 0.4, 0.35)}


@dataclass
class Grasp:
    """The run, the change of topology in it, and momenta less those at the start over the largest: (times, 2).

    drift : of the angular and of the linear momentum.
    """

    result: lb.Result
    change: object
    drift: np.ndarray


def run(duration: float | None = None) -> Grasp:
    """Grasp the satellite, and go on until `duration` s; by default as long as the scenario says."""
    case = lb.io.load_scenario(SCENARIO)
    result = lb.simulate(case.system, duration or case.duration, **case.settings)
    momentum = result.momentum.reshape(-1, 2, 3)  # angular, linear
    size = np.linalg.norm(momentum, axis=2).max(axis=0)
    drift = np.linalg.norm(momentum - momentum[0], axis=2) / size
    (change,) = result.changes
    return Grasp(result, change, drift)


def figure(made: Grasp) -> Figure:
    """The scene before, at and after the grasp, the spins, the bending of the arm, and the drift of momentum."""
    result, t = made.result, made.result.t
    with lb.plotting.style():
        drawn = Figure(figsize=(7.2, 3.9), layout="constrained")
        layout = [["scene"] * 3, ["spin", "bend", "momentum"]]
        axes = drawn.subplot_mosaic(layout, height_ratios=[1, 1.3])
        draw_scene(axes["scene"], made)
        for name, colour in (("servicer", "C0"), ("satellite", "C1")):
            spin = np.linalg.norm(result.node(name).angular_velocity, axis=1)
            axes["spin"].plot(t, np.degrees(spin), color=colour, label=name)
        axes["spin"].set(xlabel="time (s)", ylabel="spin (degrees/s)", ylim=(0, None))
        axes["spin"].legend(loc="upper right")
        for name, colour in (("upper arm", "C2"), ("forearm", "C3")):
            bend = np.linalg.norm(result.deflection(name, "tip"), axis=1)
            axes["bend"].plot(t, 1e3 * bend, color=colour, lw=0.7, label=name)
        axes["bend"].set(xlabel="time (s)", ylabel="tip deflection (mm)")
        axes["bend"].legend(loc="upper right")
        for k, (name, colour) in enumerate((("angular", "C4"), ("linear", "k"))):
            axes["momentum"].semilogy(t[1:], made.drift[1:, k], color=colour, lw=0.7, label=name)
        axes["momentum"].set(xlabel="time (s)", ylabel="drift of momentum, relative")
        axes["momentum"].legend(loc="lower right")
        for name in ("spin", "bend", "momentum"):
            axes[name].axvline(made.change.t, color="0.5", ls=":", lw=1)
    return drawn


def draw_scene(ax, made: Grasp) -> None:
    """Servicer, arm and satellite in the x-y plane at three instants, side by side."""
    result = made.result
    instants = ((0.0, "before"), (made.change.t, "the hand closes"), (result.t[-1], "after"))
    for k, (when, label) in enumerate(instants):
        q = result.q[min(np.searchsorted(result.t, when), len(result) - 1)]
        shift = 5.3 * k
        for name, half in BOXES.items():
            R, p = lb.pose(result.system, q, name)
            corners = (
                np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
            )
            places = corners @ R.T + p
            for i in range(8):
                for j in (i ^ 1, i ^ 2, i ^ 4):  # edges connect corners that differ in one sign
                    if i < j:
                        x, y = places[[i, j], 0] + shift, places[[i, j], 1]
                        ax.plot(x, y, color="C0" if name == "servicer" else "C1", lw=1)
        shape = lb.viewer.geometry(result.system, q[None])
        for name, colour in (("upper arm", "C2"), ("forearm", "C3"), ("hand", "k")):
            lines = shape.segments(name)[0]
            ax.plot(lines[..., 0].T + shift, lines[..., 1].T, color=colour, lw=2)
        handle = lb.pose(result.system, q, "satellite", "handle")[1]
        ax.plot(handle[0] + shift, handle[1], "k.", ms=6)
        ax.text(shift + 1.6, -1.0, f"{when:.3g} s, {label}", ha="center")
    ax.set(aspect="equal", xticks=[], yticks=[], ylim=(-1.3, 1.4))
    ax.grid(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def main(out: str | Path = "out") -> None:
    """Run, print what came out, and write grasp_tumbling.png and grasp_tumbling.html to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    made = run()
    print(made.change)
    change = np.abs(made.change.momentum_after - made.change.momentum_before).max()
    print(f"change of momentum by the impulse: {change:.1e} N m s or N s")
    print(f"drift of momentum in the whole run, relative: {made.drift.max():.1e}")
    figure(made).savefig(folder / "grasp_tumbling.png", dpi=200)
    made.result.report(folder / "grasp_tumbling.html", title="Grasp of a tumbling satellite")


if __name__ == "__main__":
    main()
