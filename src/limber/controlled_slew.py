"""Part (c) of the demo: the loop of US 5,546,508 on the flexible Canadarm, with realistic servos and sensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table as Columns

import limber as lb
from limber.checks import Array

LINKS = ("link1", "link2", "link3")
TIP = ("link3", "tip")
#: The slew, and the time for which its end is watched, s.
SLEW, WATCHED = 10.0, 20.0
#: Rotor inertia (kg m^2, gear 500), friction (N m) and limit (N m) of the servos.
SERVOS = ((4e-4, 4.0, 2500.0), (2e-4, 2.0, 1500.0), (4e-5, 0.5, 400.0))
#: Friction as the controller knows it, N m.
KNOWN_FRICTION = (3.0, 1.5, 0.4)
#: The springs (N m/rad) and dampers (N m s/rad) by which the loop corrects the hinges.  Of all such gains they damp the slowest
#: motion best, over all corners of a payload that is off by 50 % and stiffnesses that are off by 20 %.
LAW = lb.control.Impedance((6e3, 3e5, 1e4), (2.4e4, 3e3, 450.0))


@dataclass
class ControlledSlew:
    """The arm under the loop, and with its joints locked at the end of the open-loop slew."""

    motion: lb.control.DesiredMotion
    controlled: lb.Result
    open_loop: lb.Result
    locked: lb.Result
    goal: Array

    @property
    def swings(self) -> tuple[Array, Array]:
        """Peak-to-peak tip deflections (m) of the links in the observation interval: controlled, and locked."""
        return peak_to_peak(self.controlled), peak_to_peak(self.locked)

    @property
    def tip_errors(self) -> Array:
        """The distance of the tip from the commanded point at the times after the slew, m."""
        after = self.controlled.t >= SLEW
        tip = lb.pose(self.controlled.system, self.controlled.q[after], *TIP)[1]
        return np.linalg.norm(tip - self.goal, axis=1)


def servos() -> list[lb.control.Servo]:
    """The servos of the joints."""
    return [
        lb.control.Servo(
            link, ratio=500, rotor_inertia=J, friction=f, limit=most, current_time=1e-3
        )
        for link, (J, f, most) in zip(LINKS, SERVOS)
    ]


def loop(plant: lb.System, controller: lb.control.Controller, seed: int = 7) -> lb.control.Loop:
    """The controller with 20-bit encoders, noisy tachometers, servos, and a delay of half a millisecond."""
    return lb.control.Loop(
        plant,
        controller,
        sensors=[
            lb.control.Encoder(rate=500.0, counts=2**20, noise=2e-6),
            lb.control.Tachometer(rate=500.0, noise=2e-4),
        ],
        actuators=servos(),
        delay=0.0005,
        seed=seed,
    )


def arm(modes: int | dict[str, int]) -> lb.System:
    """The Canadarm with its servos."""
    return lb.control.fit(lb.models.canadarm(modes=modes), *servos()).build()


def design(path: lb.trajectories.Trajectory) -> lb.control.FlexibleArmController:
    """The controller, designed for the arm in its plane and the path."""
    model = lb.control.without_friction(arm({"y": 2}))
    motion = lb.control.rest_to_rest(model, path, SLEW, tip=TIP, tracking=0.1)
    return lb.control.FlexibleArmController(
        model, motion, law=LAW, friction=KNOWN_FRICTION, compiled=True
    )


def locked_runs(plant: lb.System, path: lb.trajectories.Trajectory) -> tuple[lb.Result, lb.Result]:
    """The slew under the torques of the rigid arm, and the motion after it if the joints are locked at its end."""
    open_loop = lb.simulate(plant, SLEW, torque=_rigid_torque(path), every=0.02)
    locked = lb.simulate(
        plant, WATCHED, t0=SLEW, q0=open_loop.q[-1], v0=open_loop.v[-1], every=0.02,
        events=[lb.Event(SLEW, lb.lock(link)) for link in LINKS],
    )  # fmt: skip
    return open_loop, locked


def compute(path: lb.trajectories.Trajectory) -> ControlledSlew:
    """The slew along joint paths that end at rest after 10 s, observed until 20 s."""
    plant, controller = arm(2), design(path)
    motion = controller.motion
    controlled = lb.simulate(plant, WATCHED, torque=loop(plant, controller), every=0.02)
    goal = lb.pose(controller.model, motion.q[-1], *TIP)[1]
    return ControlledSlew(motion, controlled, *locked_runs(plant, path), np.array(goal))


def _rigid_torque(path: lb.trajectories.Trajectory) -> lb.Table:
    """The torques of the rigid arm with its rotors, as in part (a)."""
    t = np.linspace(0.0, SLEW, 4001)
    desired = path(t)
    smooth = lb.control.without_friction(arm(0))
    torque = lb.inverse_dynamics(smooth, desired.position, desired.velocity, desired.acceleration)
    return lb.Table(t, torque, smooth=True)


def peak_to_peak(result: lb.Result) -> Array:
    """Peak-to-peak tip deflection of each link after the end of the slew, m."""
    after = result.t >= SLEW
    return np.array([np.ptp(result.deflection(link, "tip")[after, 1]) for link in LINKS])


def table(slew: ControlledSlew) -> Columns:
    """The figures of part (c)."""
    found = Columns(
        title="(c) The loop of US 5,546,508, Figs. 4 and 6: encoders, tachometers, friction, torque limits"
    )
    heads = (
        "link",
        "joints locked at 10 s, mm",
        "controlled, mm",
        "%",
        "largest torque N m",
        "limit N m",
    )
    for head in heads:
        found.add_column(head, justify="left" if head == "link" else "right")
    controlled, locked = slew.swings
    torque = np.abs(slew.controlled.signals["command"].y).max(axis=0)
    for i, link in enumerate(LINKS):
        found.add_row(
            link,
            f"{1e3 * locked[i]:.2f}",
            f"{1e3 * controlled[i]:.2f}",
            f"{100 * controlled[i] / locked[i]:.1f}",
            f"{torque[i]:.0f}",
            f"{SERVOS[i][2]:.0f}",
        )
    return found


def verdict(slew: ControlledSlew) -> str:
    """The meaning of the table."""
    errors = 1e3 * slew.tip_errors
    return (
        "Peak-to-peak tip deflections are taken from 10 to 20 s. Under the loop, the tip stays within "
        f"{errors.max():.1f} mm of the commanded point throughout, and is {errors[-1]:.1f} mm from it at the "
        "end."
    )


def figure(slew: ControlledSlew):
    """Tip deflections of the links: open loop then locked, and controlled; below, the end alone."""
    from limber.plotting.style import new_figure  # noqa: PLC0415

    drawn = new_figure(7.2, 4.4)
    axes = drawn.subplots(2, 3)
    for i, link in enumerate(LINKS):
        for row, first in ((0, 0.0), (1, SLEW)):
            ax = axes[row, i]
            runs = (
                (slew.open_loop, "C0", None),
                (slew.locked, "C0", "rigid torques, then locked"),
                (slew.controlled, "C1", "controlled"),
            )
            for result, colour, label in runs:
                shown = result.t >= first
                if shown.sum() > 1:
                    y = 1e3 * result.deflection(link, "tip")[shown, 1]
                    ax.plot(result.t[shown], y, colour, label=label)
        axes[0, i].axvline(SLEW, color="0.7", linewidth=0.8)
        axes[0, i].set_title(f"tip deflection of link {i + 1}, mm")
        axes[1, i].set_xlabel("time, s")
    drawn.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return drawn


def draw(slew: ControlledSlew, folder: Path) -> Path:
    """The picture of part (c)."""
    from limber.plotting.style import save, style  # noqa: PLC0415

    with style():
        save(figure(slew), folder / "controlled.png", dpi=200)
    return folder / "controlled.png"
