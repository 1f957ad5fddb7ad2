"""Two flexible arms of a space station carry a flexible panel along a path with a controlled squeeze force.

Each arm has six joints and holds one end of the panel.  Together they have twice the motors that the motion of the panel
needs: six squeeze forces are free, of which the one along the panel is held at 20 N.  The controller has three
parts:

- Before the run, a rigid twin of the system is moved along the path, which gives the motion of all joints.
- At every sample, the torques are those that would give the twin's panel the desired acceleration and squeeze force, with
  the least sum of squares (`lb.share_load`).  The acceleration is that of the path, and the squeeze force is the desired
  one, corrected by integral feedback of the force that the grips measure (I).
- Feedback pulls each joint towards its position and speed on the path (PD).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import limber as lb
from limber.trajectories import Quintic

SHOULDERS = {"left": -3.0, "right": 3.0}  # x of the shoulders, m
START, END = (0.0, 2.6, 0.6), (0.6, 3.2, -0.2)  # places of the middle of the panel, m
TURN = 0.4  # by which the panel turns about its own length, rad
DURATION, SETTLE = 15.0, 3.0  # of the motion, and after it, s
SQUEEZE, RAMP = 20.0, 5.0  # N, and the time in which it is built up, s
CARRY = Quintic([*START, 0.0], [*END, TURN], duration=DURATION)
PRESS = Quintic(0.0, SQUEEZE, duration=RAMP)


def arm(x: float) -> lb.Assembly:
    """An arm with two flexible links of 2.5 m and a hand, whose shoulder is at x.

    The rotors of the motors, seen through their gears, are inertias of the joints (armature, kg m^2).
    """
    tube = lb.Section.tube(0.06, 0.003, lb.Material(70e9, 2700.0, nu=0.33)).slender()
    link = lb.beam(2.5, section=tube, modes={"bending": 1, "torsion": 1}, damping=0.01)
    hand = lb.RigidBody(4.0, (0.1, 0, 0), (0.03, 0.03, 0.03), nodes={"palm": (0.2, 0, 0)})
    wrist = lb.CompoundJoint([lb.Revolute(axis) for axis in "xyz"], armature=1.0)
    made = lb.Assembly("arm")
    made.attach("upper", link, lb.Universal("y", "z", armature=10.0), offset=(x, 0, 0))
    made.attach("fore", link, lb.Revolute("z", armature=10.0), to="upper", at="tip")
    made.attach("hand", hand, wrist, to="fore", at="tip")
    return made


def panel() -> lb.Assembly:
    """A panel of 4 m: a box in its middle, and two flexible wings that bend easily out of their plane."""
    wing = lb.beam(
        1.8,
        9.0,
        EI=(2000.0, 5e4),
        GJ=400.0,
        modes={"z": 2, "torsion": 1},
        polar_inertia=0.5,
        damping=0.01,
    )
    box = lb.RigidBody(
        15.0, inertia=(0.6, 0.6, 0.9), nodes={"left": (-0.2, 0, 0), "right": (0.2, 0, 0)}
    )
    made = lb.Assembly("panel")
    made.attach("box", box, lb.Free())
    made.attach("right", wing, lb.Fixed(), to="box", at="right")
    made.attach("left", wing, lb.Fixed(), to="box", at="left", rotation=np.diag([-1.0, -1.0, 1.0]))
    return made


def path(t):
    """The joint of the panel to the world over time: position and orientation, their speeds and accelerations.

    The place of the panel and its angle about the x axis move from start to end; `Free` takes the quaternion and the
    place, and its speeds are in the axes of the panel.
    """
    (p, angle), (v, rate), (a, spin) = ((x[:3], x[3]) for x in CARRY(t))
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    w, wdot = np.array([rate, 0, 0]), np.array([spin, 0, 0])
    q = [np.cos(angle / 2), np.sin(angle / 2), 0, 0, *p]
    return q, [*w, *(R.T @ v)], [*wdot, *(R.T @ a - np.cross(w, R.T @ v))]


def grasped() -> tuple[lb.System, lb.System, np.ndarray]:
    """The arms with the panel in their hands, its rigid twin, and the configuration q of the twin at the start."""
    arms = {side: arm(x) for side, x in SHOULDERS.items()}
    free = lb.couple({side: made.rigid() for side, made in arms.items()}, panel().rigid())
    q = free.neutral()
    q[free.layout["object/box"].q_joint] = path(0.0)[0]
    for side, shoulder, elbow in (("left", 2.2, -1.8), ("right", 0.9, 1.8)):  # a rough guess
        q[free.layout[f"{side}/upper"].q_joint] = -0.2, shoulder
        q[free.layout[f"{side}/fore"].q_joint] = elbow
    # bring the palms to the ends of the panel, and let them hold it as they are turned there
    ends = {side: ((f"{side}/hand", "palm"), (f"object/{side}", "tip")) for side in SHOULDERS}
    touching = free.closed_by([(*pair, lb.Spherical(), side) for side, pair in ends.items()])
    q = lb.assemble(touching, q, locked=["object/box"])
    twin = lb.constraints.Changed(free, q, np.zeros(free.nv))
    for side, pair in ends.items():
        hold = lb.attach((*pair, lb.RigidGrasp(), side), in_place=True)
        twin = hold(twin.system, twin.q, twin.v)
    system = lb.couple(arms, panel()).closed_by(list(twin.system.closures.values()))
    return system, twin.system, twin.q


def motors(system: lb.System) -> np.ndarray:
    """Where the twelve motors of the arms are in v and tau."""
    arms = [
        where.v_joint for body, where in system.layout.items() if not body.startswith("object/")
    ]
    return np.concatenate([np.arange(joint.start, joint.stop) for joint in arms])


class Controller:
    """Torques of the rigid twin that carry and squeeze the panel, with feedback of joints and squeeze force."""

    sample_time = 0.01  # s
    stiffness = np.tile([1500.0, 1500.0, 1500.0, 100.0, 100.0, 100.0], 2)  # of the joints, N m/rad
    damping = np.tile([400.0, 400.0, 400.0, 25.0, 25.0, 25.0], 2)  # of the joints, N m s/rad
    squeeze_gain = 1.5  # of the squeeze force, 1/s

    def __init__(self, system: lb.System, plan: lb.Result):
        """plan : the motion of the twin, a row for each sample."""
        self.system, self.plan = system, plan
        self.motors, self.twin_motors = motors(system), motors(plan.system)
        self.tau = np.zeros(system.nv)
        self.press = 0.0  # correction of the squeeze force, N

    def __call__(self, t, q, v):
        """The torques that are held until the next sample."""
        row = round(t / self.sample_time)
        twin, plan_q, plan_v = self.plan.system, self.plan.q[row], self.plan.v[row]
        acceleration = lb.acceleration(twin, plan_q, plan_v, self.plan.vdot[row], "object/box")
        force = wanted_squeeze(t)
        self.press += self.squeeze_gain * self.sample_time * (force - self.measured_squeeze(q, v))
        squeeze = {("left", "right"): force + self.press}
        share = lb.share_load(twin, plan_q, plan_v, acceleration, squeeze=squeeze)
        behind = plan_q[self.twin_motors] - q[self.motors]
        slower = plan_v[self.twin_motors] - v[self.motors]
        self.tau = np.zeros(self.system.nv)
        self.tau[self.motors] = (
            share.tau[self.twin_motors] + self.stiffness * behind + self.damping * slower
        )
        return self.tau

    def measured_squeeze(self, q, v) -> float:
        """What the grips measure just before the torques change."""
        return squeeze_force(self.system, q, lb.constraint_forces(self.system, q, v, self.tau))


def wanted_squeeze(t):
    """The squeeze force that is wanted, N."""
    return PRESS(t).position


def squeeze_force(system: lb.System, q: np.ndarray, forces: dict) -> np.ndarray:
    """The mean of the forces with which the grips press the panel, along the line from one to the other."""
    line = (
        lb.pose(system, q, "object/right", "tip")[1] - lb.pose(system, q, "object/left", "tip")[1]
    )
    line = line / np.linalg.norm(line, axis=-1, keepdims=True)
    return np.sum(line * (forces["left"][..., 3:] - forces["right"][..., 3:]), axis=-1) / 2


@dataclass
class Carried:
    """The run; the squeeze force, held and wanted, N; how far the middle of the panel is from its path, m."""

    result: lb.Result
    plan: lb.Result
    held: np.ndarray
    wanted: np.ndarray
    off_path: np.ndarray


def run(duration: float | None = None) -> Carried:
    """Carry the panel for `duration` s; by default along the whole path, and a little longer."""
    duration = duration or DURATION + SETTLE
    system, twin, q = grasped()
    every = Controller.sample_time
    plan = lb.simulate(twin, duration, q0=q, motion={"object/box": path}, every=every, rtol=1e-9)
    q0 = system.neutral()
    for body, where in system.layout.items():
        q0[where.q_joint] = q[twin.layout[body].q_joint]
    controller = Controller(system, plan)
    result = lb.simulate(system, duration, q0=q0, torque=controller, every=every)
    held = squeeze_force(system, result.q, result.constraint_forces())
    box, planned = (r.node("object/box").position for r in (result, plan))
    return Carried(
        result, plan, held, wanted_squeeze(result.t), np.linalg.norm(box - planned, axis=1)
    )


def figure(made: Carried) -> Figure:
    """The arms at three instants, the squeeze force and its error, the distance from the path and the torques."""
    result, t = made.result, made.result.t
    with lb.plotting.style():
        drawn = Figure(figsize=(7.2, 5.6), layout="constrained")
        layout = [["xy", "xz"], ["squeeze", "path"], ["error", "torques"]]
        axes = drawn.subplot_mosaic(layout, height_ratios=[1.2, 1, 1])
        draw_arms(axes["xy"], result, 1)
        draw_arms(axes["xz"], result, 2)

        axes["squeeze"].plot(t, made.wanted, color="0.7", lw=3, label="wanted")
        axes["squeeze"].plot(t, made.held, color="C0", label="held")
        axes["squeeze"].set(ylabel="squeeze force (N)")
        axes["squeeze"].legend(loc="lower right")
        axes["error"].plot(t, made.held - made.wanted, color="C0")
        axes["error"].set(xlabel="time (s)", ylabel="held less wanted (N)")
        axes["path"].plot(t, 1e3 * made.off_path, color="C1")
        axes["path"].set(ylabel="panel off its path (mm)", ylim=(0, None))
        for side, line in (("left", "-"), ("right", "--")):
            for link, colour, turn in (("upper", "C0", 1), ("fore", "C2", 0)):
                motor = result.system.layout[f"{side}/{link}"].v_joint.start + turn
                joint = {"upper": "shoulder", "fore": "elbow"}[link]
                axes["torques"].plot(
                    t, result.tau[:, motor], line, color=colour, label=f"{side} {joint}"
                )
        axes["torques"].set(xlabel="time (s)", ylabel="torque about z (N m)", ylim=(-42, 62))
        axes["torques"].legend(ncols=2, loc="upper left")
        for above, below in (("squeeze", "error"), ("path", "torques")):
            axes[above].sharex(axes[below])
            axes[above].tick_params(labelbottom=False)
    return drawn


def draw_arms(ax, result: lb.Result, up: int) -> None:
    """The arms and the panel in the plane of x and of axis `up`: at start, half-way (paler) and end of the path."""
    colours = {"left": "C0", "right": "C2", "object": "C1"}
    rows = np.searchsorted(result.t, np.minimum([0.0, DURATION / 2, DURATION], result.t[-1]))
    shape = lb.viewer.geometry(result.system, result.q[rows])
    for k, shade in enumerate((0.2, 0.45, 1.0)):
        for name in result.system.bodies:
            part = name.split("/")[0]
            lines, width = shape.segments(name)[k], 3 if part == "object" else 1.6
            ax.plot(
                lines[..., 0].T,
                lines[..., up].T,
                color=colours[part],
                alpha=shade,
                lw=width,
                solid_capstyle="butt",
            )
        place = lb.pose(result.system, result.q[rows[k]], "object/box")[1]
        ax.plot(place[0], place[up], "s", color=colours["object"], alpha=shade, ms=7)
    box = result.node("object/box").position
    ax.plot(box[:, 0], box[:, up], "k:", lw=1, label="path of the panel")
    ax.plot(list(SHOULDERS.values()), [0, 0], "k^", ms=6, label="shoulders")
    ax.set(xlabel="x (m)", ylabel=f"{'xyz'[up]} (m)", aspect="equal")
    if up == 1:
        ax.legend(loc="lower center")


def main(out: str | Path = "out") -> None:
    """Run, print what came out, and write carry_panel.png and carry_panel.html to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    made = run()
    holding = made.result.t > RAMP + 1.0
    error = np.abs(made.held - made.wanted)[holding].max() / SQUEEZE
    print(f"squeeze force held within {100 * error:.2f} % of {SQUEEZE:g} N")
    print(f"largest distance from the path: {1e3 * made.off_path.max():.1f} mm")
    print(f"largest torque: {np.abs(made.result.tau).max():.1f} N m")
    figure(made).savefig(folder / "carry_panel.png", dpi=200)
    made.result.report(
        folder / "carry_panel.html", title="Two flexible arms carry a flexible panel"
    )


if __name__ == "__main__":
    main()
