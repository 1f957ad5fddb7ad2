"""Monte-Carlo slews of the Canadarm under a PD controller: on one GPU, in SIMD lanes of the CPU, and one by one.

    python benchmarks/gpu_slews.py [cases]

Payload, bending stiffnesses and friction differ from case to case.  Needs CuPy and an NVIDIA GPU for the first figure.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import limber as lb
from limber.models.canadarm import BENDING_STIFFNESS, LENGTHS, MASSES

CASES = 10_000
ALONE = 4
#: Rotor inertias as reflected through the gears (kg m^2), and friction (N m).
ROTORS, FRICTION = (100.0, 50.0, 10.0), (4.0, 2.0, 0.5)
OPTIONS = {"every": 0.1, "method": "rk4", "step": 1e-3, "progress": False}


def arm():
    a = lb.Assembly("canadarm with payload")
    to, at = "world", None
    for i, (length, mass) in enumerate(zip(LENGTHS, MASSES)):
        beam = lb.beam(length, mass, EI=BENDING_STIFFNESS, modes={"y": 2}, damping=0.005)
        joint = lb.Revolute([0, 0, 1], armature=ROTORS[i], friction=FRICTION[i])
        a.attach(f"link{i + 1}", beam, joint, to=to, at=at)
        to, at = f"link{i + 1}", "tip"
    a.attach("payload", lb.RigidBody(100.0, (0, 0, 0), 10.0 * np.eye(3)), lb.Fixed(), to=to, at=at)
    return a.build()


def controller():
    path = lb.trajectories.Cycloid((0.5, 0.4, -0.3), 10.0)
    return lb.control.PD((6e3, 4e3, 1e3), (6e3, 3e3, 600.0), sample_time=0.002, reference=path)


def parameters(cases, seed=1):
    rng = np.random.default_rng(seed)
    given = {"payload.mass": rng.uniform(50.0, 150.0, cases)}
    for i, friction in enumerate(FRICTION):
        given[f"link{i + 1}.EI"] = BENDING_STIFFNESS * rng.uniform(0.8, 1.2, cases)
        given[f"link{i + 1}.joint_friction"] = friction * rng.uniform(0.5, 1.5, cases)
    return given


def timed(what, run):
    start = time.perf_counter()
    found = run()
    print(f"{what:60s} {time.perf_counter() - start:9.3f} s", flush=True)
    return found


def main():
    s, pd, cases = arm(), controller(), int((sys.argv[1:] or [CASES])[0])
    given = parameters(cases)

    def batch(engine, n=cases):
        chosen = {name: x[:n] for name, x in given.items()}
        return lb.simulate(s, 12.0, torque=pd, parameters=chosen, engine=engine, **OPTIONS)

    def alone():
        return [
            lb.simulate(s.with_parameters({k: x[i] for k, x in given.items()}), 12.0, torque=pd, **OPTIONS)
            for i in range(ALONE)
        ]  # fmt: skip

    alone()
    runs = timed(f"{ALONE} slews one by one, lb.simulate", alone)
    results = {}
    for engine in ("cuda", "generated"):
        try:
            timed(f"2 slews, engine={engine!r}, with compilation", lambda e=engine: batch(e, 2))
        except lb.LimberError as error:
            print(f"engine={engine!r}: {error}")
            continue
        results[engine] = timed(f"{cases} slews, engine={engine!r}", lambda e=engine: batch(e))
        own = max(np.abs(x.q - y).max() for x, y in zip(runs, results[engine].q))
        print(f"  finished {results[engine].finished.sum()}, difference from single runs {own:.1e}")
    if len(results) == 2:
        print(
            f"  difference of both {np.abs(results['cuda'].q - results['generated'].q).max():.1e}"
        )


if __name__ == "__main__":
    main()
