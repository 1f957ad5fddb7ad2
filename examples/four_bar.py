"""A four-bar linkage with a flexible coupler, run up from rest by its motor.

The example compares the stress in the middle of the coupler with a hand calculation, in which the linkage moves as if it
were rigid and the coupler is bent by its own inertia.  The calculation is right as long as the linkage turns slowly, if it
includes the axial force in the coupler, which soon is as large as the Euler load and makes the coupler stiffer or softer.
The coupler in the model therefore has `geometric_stiffening`.  The model is four_bar.yaml and the run is
four_bar_run_up.yaml, which `limber simulate` accepts as well.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import limber as lb

SCENARIO = Path(__file__).parent / "four_bar_run_up.yaml"
#: Lengths of the bars, thickness and height of the coupler, m; density, kg/m^3, and modulus, Pa, of aluminium.
CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.28, 0.26, 0.25
THICKNESS, HEIGHT, DENSITY, MODULUS = 0.0015, 0.025, 2700.0, 70e9


@dataclass
class RunUp:
    """The linkage with a flexible and with a rigid coupler, and stresses on the left side of mid-coupler, Pa.

    stress : of the flexible coupler.
    by_hand, beam_column : of a rigid linkage, without and with the force along the coupler.
    """

    flexible: lb.Result
    rigid: lb.Result
    stress: np.ndarray
    by_hand: np.ndarray
    beam_column: np.ndarray


def run(duration: float | None = None) -> RunUp:
    """Run the linkage up, for `duration` s; by default as long as the scenario says."""
    case = lb.io.load_scenario(SCENARIO)
    flexible = lb.simulate(case.system, duration or case.duration, **case.settings)
    stress = flexible.section_forces("coupler", COUPLER / 2).stress_at(THICKNESS / 2, 0.0)[:, 0]

    stiff = case.assembly.rigid().build()  # without modes; the joints have the same names
    joints = [case.system.layout[name].q_joint.start for name in stiff.layout]
    start = {"q0": case.q0[joints], "v0": case.v0[joints], "torque": case.torque[joints]}
    rigid = lb.simulate(stiff, duration or case.duration, **case.settings | start)
    return RunUp(flexible, rigid, stress, *rigid_stress(rigid))


def rigid_stress(rigid: lb.Result) -> tuple[np.ndarray, np.ndarray]:
    """The stress in the middle of a bar on two hinges under its own inertia, without and with its axial force.

    The acceleration across the bar varies linearly along it, so the moment is w L^2 / 8 with the load w in the middle.
    A bar that is accelerated to the left lags behind in the middle, which presses its left side.  A pull N divides the
    moment by 1 + N / (Euler load), and adds N / area.
    """
    root, tip = rigid.node("coupler"), rigid.node("coupler", "tip")
    along, across = root.R[:, :, 0], root.R[:, :, 1]
    acceleration = np.sum(across * (root.acceleration + tip.acceleration) / 2, axis=1)
    area, area_moment = THICKNESS * HEIGHT, HEIGHT * THICKNESS**3 / 12
    moment = DENSITY * area * acceleration * COUPLER**2 / 8
    bending = -moment * (THICKNESS / 2) / area_moment
    force = rigid.constraint_forces("pin")[
        :, 3:
    ]  # on the rocker; the coupler feels the opposite one
    pull = -np.sum(along * force, axis=1)
    euler = np.pi**2 * MODULUS * area_moment / COUPLER**2
    return bending, bending / (1 + pull / euler) + pull / area


def rocker_angle(crank: np.ndarray) -> np.ndarray:
    """The angle of the rocker that belongs to an angle of the crank in a rigid linkage, by the law of cosines."""
    x, y = CRANK * np.cos(crank) - GROUND, CRANK * np.sin(crank)  # from rocker pivot to crank pin
    diagonal = np.hypot(x, y)
    between = np.arccos((diagonal**2 + ROCKER**2 - COUPLER**2) / (2 * diagonal * ROCKER))
    return np.arctan2(y, x) % (2 * np.pi) - between


def figure(made: RunUp) -> Figure:
    """The linkage during its last turn, and the stress: of the whole run and of four turns."""
    with lb.plotting.style():
        drawn = Figure(figsize=(7.2, 3.8), layout="constrained")
        layout = [["linkage", "all"], ["linkage", "part"]]
        axes = drawn.subplot_mosaic(layout, width_ratios=[1, 1.4])
        draw_linkage(axes["linkage"], made.flexible)
        t = made.flexible.t
        for name, chosen in (("all", t >= 0), ("part", (t > 1.0) & (t < 1.5))):
            ax = axes[name]
            ax.plot(t[chosen], made.by_hand[chosen] / 1e6, color="0.6", label="by hand")
            ax.plot(
                t[chosen],
                made.beam_column[chosen] / 1e6,
                "--",
                color="C1",
                label="with axial force",
            )
            ax.plot(
                t[chosen], made.stress[chosen] / 1e6, color="C0", lw=0.9, label="flexible coupler"
            )
            ax.set(xlabel="time (s)", ylabel="stress in mid-coupler (MPa)")
        axes["all"].legend(loc="upper left")
        rpm = made.flexible.joint_speed("crank")[:, 0] * 30 / np.pi
        ends = [rpm[np.searchsorted(t, x)] for x in (1.0, 1.5)]
        axes["part"].set_title(f"{ends[0]:.0f} to {ends[1]:.0f} rpm", loc="left")
        axes["all"].set_title(f"0 to {rpm[-1]:.0f} rpm", loc="left")
    return drawn


def draw_linkage(ax, result: lb.Result) -> None:
    """The linkage at five angles of its last turn, the last one darkest, and the path of the middle of the coupler."""
    crank = result.joint("crank")[:, 0]
    turn = crank > crank[-1] - 2 * np.pi
    middle = result.node("coupler", "node5").position[turn]
    ax.plot(middle[:, 0], middle[:, 1], ":", color="0.4", lw=1, label="path of mid-coupler")
    angles = crank[-1] - 2 * np.pi * np.arange(5) / 5
    shape = lb.viewer.geometry(result.system, result.q[np.searchsorted(crank, angles) - 1])
    for k, shade in enumerate((1, 0.5, 0.4, 0.3, 0.2)):
        for name, colour in (("crank", "k"), ("coupler", "C0"), ("rocker", "C2")):
            lines = shape.segments(name)[k]
            ax.plot(
                lines[..., 0].T,
                lines[..., 1].T,
                color=colour,
                alpha=shade,
                lw=1.6,
                solid_capstyle="butt",
            )
    ax.plot([0, GROUND], [0, 0], "k^", ms=6)
    ax.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", title="the last turn")
    ax.legend(loc="lower right")


def main(out: str | Path = "out") -> None:
    """Run, print what came out, and write four_bar.png and four_bar.html to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    made = run()
    print(f"largest stress in mid-coupler: {np.abs(made.stress).max() / 1e6:.1f} MPa")
    print(f"as computed by hand: {np.abs(made.by_hand).max() / 1e6:.1f} MPa")
    print(f"with the force along the coupler: {np.abs(made.beam_column).max() / 1e6:.1f} MPa")
    figure(made).savefig(folder / "four_bar.png", dpi=200)
    made.flexible.report(folder / "four_bar.html", title="Four-bar linkage with a flexible coupler")


if __name__ == "__main__":
    main()
