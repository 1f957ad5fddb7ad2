"""The controller of US 5,546,508 on 1,000 Canadarms that it does not know: payload, stiffness and noise differ.

The controller is that of part (c) of `limber demo`, with its servos, sensors, friction and limits.  It knows the arm of
Mohan & Saha.  In every case the arm is another one:

- the last link, 2 m and 95 kg including its payload, is heavier or lighter by up to 50 %;
- the bending stiffness EI of each link is off by up to 20 %, independently;
- sensors have other noise.

The first 16 cases are the corners of these ranges, where a linear loop is worst; all others are drawn at random.
Forces planned for another arm leave it swinging at the end of the slew.  The question is whether the loop damps this
swinging in every case, and how fast.

    python examples/robust_canadarm.py            # 1,000 cases, some minutes
    python examples/robust_canadarm.py --cases 50
"""

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import limber as lb
from limber import controlled_slew as slew
from limber.control.feedback import feedback_of

PATH = lb.trajectories.Cycloid(rate=(0.075, 0.05, 0.1), duration=(10.0, 5.0, 5.0))
PAYLOAD, STIFFNESS = 0.5, 0.2  # the largest changes, as parts
LATE = 15.0  # s; swings after this time are those that were not damped yet
QUIET = 0.05  # J; friction and noise move an arm of less energy than this, whatever the loop does


def factors(cases: int, seed: int = 0) -> dict[str, np.ndarray]:
    """What mass and stiffnesses are multiplied with in each case: the corners of the ranges first, then at random."""
    names = ("link3.mass", *(f"{link}.EI" for link in slew.LINKS))
    most = np.array([PAYLOAD, *[STIFFNESS] * len(slew.LINKS)])
    corners = np.array(list(itertools.product((1.0, -1.0), repeat=len(names))))
    drawn = np.random.default_rng(seed).uniform(
        -1.0, 1.0, (max(cases - len(corners), 0), len(names))
    )
    rows = 1.0 + most * np.concatenate([corners, drawn])[:cases]
    return dict(zip(names, rows.T))


# --- what is measured in each case ------------------------------------------------------------------------


def swings(result: lb.Result, since: float) -> np.ndarray:
    """Peak-to-peak tip deflection of each link from a time on, mm."""
    rows = result.t >= since
    return np.array([1e3 * np.ptp(result.deflection(link, "tip")[rows, 1]) for link in slew.LINKS])


def off_goal(result: lb.Result, goal: np.ndarray) -> np.ndarray:
    """The distance of the tip from the commanded point, mm, over time."""
    return 1e3 * np.linalg.norm(lb.pose(result.system, result.q, *slew.TIP)[1] - goal, axis=1)


def energy_left(result: lb.Result) -> float:
    """The largest energy of the last 2.5 s over that of the first 2.5 s after the slew; below 1 it was damped.

    Where nothing was left to damp, it is 0.
    """
    first, last = (
        result.energy[(result.t >= start) & (result.t <= start + 2.5)].max()
        for start in (slew.SLEW, slew.WATCHED - 2.5)
    )
    return last / first if last > QUIET else 0.0


def slowest_decay(result: lb.Result, controller: lb.control.FlexibleArmController) -> float:
    """How fast the slowest motion about the goal dies out, 1/s, by the poles of the sampled loop without friction.

    The springs and dampers of the loop act on hinges as they are read; the lag of the servos counts as delay.
    """
    own = {name: result.system.parameters[name].value for name in factors(0)}
    plant = controller.model.with_parameters(own)
    rest = np.zeros(plant.nv)
    linear = lb.control.linearize(
        plant,
        controller.motion.q[-1],
        rest,
        rest,
        inputs=[("torque", link) for link in slew.LINKS],
        outputs=[(what, link) for what in ("coordinate", "speed") for link in slew.LINKS],
    )
    law = controller.law
    K = np.hstack([np.diag(law.stiffness), np.diag(law.damping)])
    T = controller.sample_time
    poles = feedback_of(linear, K, T, 0.0015).poles()
    return -np.log(np.abs(poles).max()) / T


# --- all cases --------------------------------------------------------------------------------------------


@dataclass
class Robust:
    """All cases, the worst of them, the arm that the controller knows, and the worst arm with its joints locked."""

    study: lb.control.MonteCarlo
    worst: lb.Result
    known: lb.Result
    locked: lb.Result
    goal: np.ndarray


def run(cases: int = 1000, processes: int | None = None, t_end: float = slew.WATCHED) -> Robust:
    """Run the cases on all cores."""
    plant, controller = slew.arm(2), slew.design(PATH)
    goal = lb.pose(controller.model, controller.motion.q[-1], *slew.TIP)[1]
    loop = slew.loop(plant, controller)
    nominal = {name: plant.parameters[name].value.max() for name in factors(0)}
    study = lb.control.monte_carlo(
        loop,
        t_end,
        parameters={name: x * nominal[name] for name, x in factors(cases).items()},
        measures={
            "swing, mm": lambda r: swings(r, slew.SLEW).max(),
            "late swing, mm": lambda r: swings(r, LATE).max(),
            "largest tip error, mm": lambda r: off_goal(r, goal)[r.t >= slew.SLEW].max(),
            "last tip error, mm": lambda r: off_goal(r, goal)[-1],
            "energy left": energy_left,
            "slowest motion, s": lambda r: 1.0 / slowest_decay(r, controller),
            "largest part of torque limits": lambda r: torque_used(r, loop).max(),
        },
        processes=processes,
        every=0.02,
        method="tsit5",
    )
    case = study.worst("late swing, mm")
    worst = study.result(case)
    known = lb.simulate(plant, t_end, torque=loop.with_seed(0), every=0.02, method="tsit5")
    return Robust(study, worst, known, slew.locked_runs(worst.system, PATH)[1], goal)


def torque_used(result: lb.Result, loop: lb.control.Loop) -> np.ndarray:
    """The largest command of each servo over its limit."""
    return np.abs(result.signals["command"].y).max(axis=0) / loop.limits


def figure(made: Robust) -> Figure:
    """Distributions over the cases, and the worst case over time."""
    study = made.study
    with lb.plotting.style():
        drawn = Figure(figsize=(7.2, 6.0), layout="constrained")
        axes = drawn.subplot_mosaic([["late", "error"], ["payload", "energy"], ["tip", "links"]])
        for place, name, label in (
            ("late", "late swing, mm", "swing from 15 to 20 s (mm)"),
            ("error", "last tip error, mm", "tip error at 20 s (mm)"),
        ):
            values = study.measures[name]
            axes[place].hist(values[np.isfinite(values)], bins=40, color="C0")
            axes[place].axvline(values[study.worst("late swing, mm")], color="C3", lw=1)
            axes[place].set(xlabel=label, ylabel="cases")
        mass = study.parameters["link3.mass"]
        shade = np.mean([study.parameters[f"{link}.EI"] for link in slew.LINKS], axis=0)
        points = axes["payload"].scatter(
            mass, study.measures["late swing, mm"], c=1e-3 * shade, s=5, cmap="viridis"
        )
        axes["payload"].set(xlabel="mass of the last link (kg)", ylabel="swing from 15 s (mm)")
        drawn.colorbar(points, ax=axes["payload"], label="mean EI (kN m²)")
        axes["energy"].plot(np.sort(study.measures["energy left"]), np.arange(len(study)) + 1)
        axes["energy"].axvline(1.0, color="0.6", lw=1)
        axes["energy"].set(xlabel="energy left at 20 s, as a fraction", ylabel="cases up to this")
        for result, label, colour in (
            (made.worst, "worst case", "C3"),
            (made.known, "arm as known", "C0"),
        ):
            axes["tip"].semilogy(result.t, off_goal(result, made.goal), colour, label=label)
        axes["tip"].axvline(slew.SLEW, color="0.6", lw=1)
        axes["tip"].set(xlabel="time (s)", ylabel="tip to commanded point (mm)")
        axes["tip"].legend()
        for result, colour, label in (
            (made.locked, "0.6", "joints locked"),
            (made.worst, "C3", "controlled"),
        ):
            rows = result.t >= slew.SLEW
            y = 1e3 * result.deflection("link1", "tip")[rows, 1]
            axes["links"].plot(result.t[rows], y, colour, label=f"worst case, {label}")
        axes["links"].set(xlabel="time (s)", ylabel="tip deflection of link 1 (mm)")
        axes["links"].legend()
    return drawn


def main(out: str | Path = "out", cases: int = 1000, processes: int | None = None) -> None:
    """Run, print what came out, and write robust_canadarm.png and robust_canadarm.html to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    made = run(cases, processes)
    study = made.study
    print(study)
    stable = study.finished & (study.measures["energy left"] < 1.0)
    print(f"{int(stable.sum())} of {len(study)} cases are stable")
    case = study.worst("late swing, mm")
    print(f"the worst swing is that of case {case}; this runs it alone:\n  {study.line(case)}")
    controlled, locked = swings(made.worst, slew.SLEW), swings(made.locked, slew.SLEW)
    for link, a, b, c in zip(slew.LINKS, controlled, swings(made.worst, LATE), locked):
        print(
            f"  {link}: swing {a:.1f} mm from 10 s, {b:.1f} mm from 15 s; joints locked {c:.1f} mm"
        )
    figure(made).savefig(folder / "robust_canadarm.png", dpi=200)
    made.worst.report(folder / "robust_canadarm.html", title="The worst of the Canadarms")


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given.add_argument("--out", default="out", help="folder for the picture and the report")
    given.add_argument("--cases", type=int, default=1000)
    given.add_argument("--processes", type=int, default=None)
    main(**vars(given.parse_args()))
