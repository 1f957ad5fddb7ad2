"""A batch of slews of the Canadarm with random payload and stiffness, beside a loop that builds each case anew.

`python benchmarks/batch.py [cases]` measures and prints.  The slew is that of the demo: torques from the rigid arm, 10 s.  Batches in
lanes have constant torques, so theirs is another motion of the same length.  The loop runs as many cases as it takes to know its pace.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import limber as lb
from limber.demo import DURATIONS, END, RATES

#: Cases of the loop, and of the batches unless told otherwise.
LOOP, CASES = 20, 1000
OPTIONS = {"every": 0.1, "progress": False}


def arm(payload=100.0, EI=(1e5, 1e5, 1e5)):
    """The arm with a payload at its tip."""
    a = lb.Assembly("canadarm")
    to, at = "world", None
    for i, (length, mass) in enumerate(zip((6.0, 7.0, 2.0), (140.0, 85.0, 95.0))):
        body = lb.beam(length, mass, EI=EI[i], modes=2, damping=0.005)
        a.attach(f"link{i + 1}", body, lb.Revolute("z"), to=to, at=at)
        to, at = f"link{i + 1}", "tip"
    box = lb.RigidBody(payload, inertia=payload / 6.0 * np.eye(3))
    return a.attach("payload", box, lb.Fixed(), to=to, at=at).build()


def torque():
    """The torques that move the rigid arm along cycloids."""
    rigid = lb.models.canadarm(modes=0).build()
    t = np.linspace(0.0, END, 401)
    path = lb.trajectories.Cycloid(rate=RATES, duration=DURATIONS)(t)
    return lb.Table(t, lb.inverse_dynamics(rigid, path.position, path.velocity, path.acceleration))


def main(cases: int) -> None:
    warnings.simplefilter("ignore", lb.TheoryWarning)
    rng = np.random.default_rng(0)
    payload = rng.uniform(50.0, 150.0, cases)
    EI = rng.uniform(0.8e5, 1.2e5, (3, cases))
    given = {"payload.mass": payload, "payload.inertia": payload[:, None, None] / 6.0 * np.eye(3)}
    given |= {f"link{i + 1}.EI": x for i, x in enumerate(EI)}
    nominal, held = arm(), torque()

    def loop(i):
        return lb.simulate(arm(payload[i], EI[:, i]), END, torque=held, **OPTIONS)

    def timed(text, count, run):
        began, used = time.perf_counter(), time.process_time()
        result = run()
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        each, total = 1e3 * seconds / count, seconds / count * cases
        print(
            f"{text:52} {each:8.2f} ms a case ({1e3 * cpu / count:.2f} of a core), {total:7.1f} s for {cases}",
            flush=True,
        )
        return result

    loop(0)
    alone = timed("loop of simulate with rebuilds", LOOP, lambda: [loop(i) for i in range(LOOP)])
    batches = {
        "batch": {"torque": held},
        'batch, engine="generated"': {"torque": held, "engine": "generated"},
        'batch, engine="generated", rk4, constant torques': {
            "torque": np.array([20.0, -5.0, 1.0]),
            "engine": "generated",
            "method": "rk4",
            "step": 1e-3,
        },
    }
    few = {name: x[:2] for name, x in given.items()}
    for text, options in batches.items():
        lb.simulate(nominal, END, parameters=few, **OPTIONS, **options)  # compiles
        batch = timed(
            text, cases, lambda: lb.simulate(nominal, END, parameters=given, **OPTIONS, **options)
        )
        assert batch.finished.all(), batch.failures
        if options.get("method") is None:
            error = max(np.abs(r.q - batch.q[i]).max() for i, r in enumerate(alone))
            print(f"    largest difference of q from the loop {error:.1e}")
        else:
            exact = lb.simulate(
                batch[0].system, END, torque=options["torque"], rtol=1e-9, atol=1e-11, **OPTIONS
            )
            error = np.abs(exact.q - batch.q[0]).max()
            print(f"    largest error of q in the first case {error:.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CASES)
