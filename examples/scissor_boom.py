"""The slider at the base of a scissor boom extends its ten cells of flexible bars.

The motion of the slider is prescribed (`motion`), and the rest follows: the payload, which swings because the bars bend,
and the forces in the hinges, which are largest at the base.  The scenario is scissor_boom.yaml, which `limber simulate`
accepts as well; the boom itself is `lb.models.scissor_boom`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import limber as lb

SCENARIO = Path(__file__).parent / "scissor_boom.yaml"
CELLS, BAR = 10, 1.0  # number of cells, length of a bar in m


@dataclass
class Deployment:
    """The run, the place of the payload along the boom and that of a rigid boom, m, and forces in the hinges, N.

    forces : (times, cells), from the base to the tip.
    """

    result: lb.Result
    payload: np.ndarray
    rigid: np.ndarray
    forces: np.ndarray


def run(duration: float | None = None) -> Deployment:
    """Stretch the boom out, for `duration` s; by default as long as the scenario says."""
    case = lb.io.load_scenario(SCENARIO)
    result = lb.simulate(case.system, duration or case.duration, **case.settings)
    payload = result.node("payload").position[:, 0]
    height = result.joint("slider")[:, 0]
    hinges = result.constraint_forces()  # [moment, force] on end b of every closure, base first
    forces = np.column_stack([np.linalg.norm(wrench[:, 3:], axis=1) for wrench in hinges.values()])
    return Deployment(result, payload, rigid_payload(height), forces)


def rigid_payload(height: np.ndarray) -> np.ndarray:
    """Where the payload, at the crossing of the last cell, is on a boom of rigid bars: by Pythagoras."""
    return (CELLS - 0.5) * np.sqrt(BAR**2 - height**2)


def figure(made: Deployment) -> Figure:
    """The boom at four instants, the payload against that of a rigid boom, and the forces along the boom."""
    result = made.result
    instants = np.searchsorted(result.t, [0.0, 4.0, 8.0, 12.0])
    with lb.plotting.style():
        drawn = Figure(figsize=(7.2, 5.2), layout="constrained")
        layout = [["boom", "boom"], ["payload", "forces"], ["error", "forces"]]
        axes = drawn.subplot_mosaic(layout, height_ratios=[1.5, 1, 0.8])
        draw_boom(axes["boom"], result, instants)

        axes["payload"].plot(result.t, made.rigid, color="0.6", label="rigid boom")
        axes["payload"].plot(result.t, made.payload, "--", color="C0", label="flexible boom")
        axes["payload"].set(ylabel="payload at (m)")
        axes["payload"].sharex(axes["error"])
        axes["payload"].tick_params(labelbottom=False)
        axes["payload"].legend(loc="lower right")
        axes["error"].plot(result.t, 1e3 * (made.payload - made.rigid), color="C0")
        axes["error"].set(xlabel="time (s)", ylabel="ahead (mm)")

        ax, cell = axes["forces"], np.arange(1, CELLS + 1)
        for k, colour in zip(
            np.searchsorted(result.t, [2.0, 4.0, 6.0, 8.0]), ("C0", "C1", "C2", "C3")
        ):
            ax.plot(cell, made.forces[k], "o-", ms=3, color=colour, label=f"{result.t[k]:g} s")
        ax.plot(cell, made.forces.max(axis=0), "k_", ms=9, label="largest")
        ax.set(xlabel="cell, from the base", ylabel="force in its hinge (N)", ylim=(0, None))
        ax.legend()
    return drawn


def draw_boom(ax, result: lb.Result, instants: np.ndarray) -> None:
    """The boom at some instants, one above the other."""
    shape = lb.viewer.geometry(result.system, result.q[instants])
    for k, row in enumerate(instants):
        up = -1.15 * k
        for name in result.system.bodies:
            if name[0] in "AB":
                x, y = np.moveaxis(shape.segments(name)[k], -1, 0)[:2]
                ax.plot(x.T, y.T + up, color="C0" if name[0] == "A" else "C2", lw=1.2)
        payload = lb.pose(result.system, result.q[row], "payload")[1]
        ax.plot(payload[0], payload[1] + up, "ks", ms=5)
        ax.plot([0, 0], [up, up + result.joint("slider")[row, 0]], "k.", ms=6)
        ax.annotate(f"{result.t[row]:g} s", (-0.15, up + 0.4), ha="right")
    ax.set(aspect="equal", xlabel="x (m)", yticks=[], xlim=(-0.9, None))
    ax.grid(False)
    ax.spines["left"].set_visible(False)


def main(out: str | Path = "out") -> None:
    """Run, print what came out, and write scissor_boom.png and scissor_boom.html to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    made = run()
    print(f"payload from {made.payload[0]:.2f} m to {made.payload[-1]:.2f} m")
    print(
        f"largest distance from a rigid boom: {1e3 * np.abs(made.payload - made.rigid).max():.0f} mm"
    )
    print(f"largest force of the drive: {np.abs(made.result.driving['slider']).max():.0f} N")
    print(f"largest force in a hinge: {made.forces.max():.0f} N")
    figure(made).savefig(folder / "scissor_boom.png", dpi=200)
    made.result.report(folder / "scissor_boom.html", title="A scissor boom is stretched out")


if __name__ == "__main__":
    main()
