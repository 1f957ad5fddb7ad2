"""`limber bench`: measures the speed of Limber on this machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import limber as lb
from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, note, print_json, show, table
from limber.errors import CompileError

#: Seconds that one measurement takes, and states of a batch.
SECONDS, BATCH = 0.25, 4096


def bench(json: Json = False, debug: Debug = False) -> None:
    """Measure forward dynamics and simulation on this machine; takes about ten seconds once everything is compiled.

    The cases are: the flexible Canadarm (3 links, 12 modes, 15 degrees of freedom), one state at a time, in batches on
    all cores and in generated C; chains of flexible links, whose time per link should be constant; and the slew of the
    arm over 10 s, compared with real time.

      limber bench --json > bench.json
    """
    with guarded(json, debug):
        rows: list[dict[str, Any]] = []
        arm = lb.models.canadarm(modes=2).build()
        rows += _calls(arm)
        rows += _generated(arm)
        rows += _chains()
        rows += _simulations(arm)
        machine = {
            "cores": os.cpu_count(),
            "processor": platform.processor() or platform.machine(),
            "limber": lb.__version__,
        }
        if json:
            print_json({"machine": machine, "measurements": rows})
            return
        made = table(
            f"Limber {lb.__version__} on {machine['cores']} cores",
            "measurement",
            "value",
            "unit",
            left=1,
        )
        made.columns[2].justify = "left"
        for row in rows:
            value = "-" if row["value"] is None else f"{row['value']:.3g}"
            made.add_row(escape(row["what"]), value, row["unit"])
        show(made)


def _row(what: str, value: float | None, unit: str) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit}


def best(call: Callable[[], Any]) -> float:
    """Seconds a call: the least of repeated rounds."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, int(SECONDS / 10.0 / max(time.perf_counter() - start, 1e-7)))
    least, end = np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        least = min(least, (time.perf_counter() - start) / count)
    return float(least)


def _states(system: lb.System, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    q = system.neutral() + 0.1 * rng.standard_normal((rows, system.nq))
    return q, 0.1 * rng.standard_normal((rows, system.nv)), rng.standard_normal((rows, system.nv))


def _calls(arm: lb.System) -> list[dict[str, Any]]:
    Q, V, T = _states(arm, BATCH)
    q, v, tau = Q[0], V[0], T[0]
    one = best(lambda: lb.forward_dynamics(arm, q, v, tau))
    back = best(lambda: lb.inverse_dynamics(arm, q, v, tau))
    many = best(lambda: lb.forward_dynamics(arm, Q, V, T))
    return [
        _row("forward dynamics, one state", 1e6 * one, "µs"),
        _row("inverse dynamics, one state", 1e6 * back, "µs"),
        _row(f"forward dynamics, batch of {BATCH}", 1e6 * many / BATCH, "µs per state"),
    ]


def _generated(arm: lb.System) -> list[dict[str, Any]]:
    names = ("generated C, one state", f"generated C, 8 lanes, batch of {BATCH}")
    Q, V, T = _states(arm, BATCH)
    try:
        single = lb.compile(arm, "forward_dynamics")
        wide = lb.compile(arm, "forward_dynamics", lanes=8)
    except CompileError as error:
        note(str(error))
        return [_row(name, None, "needs a C compiler") for name in names]
    one = best(lambda: single(Q[0], V[0], T[0]))
    many = best(lambda: wide(Q, V, T))
    return [_row(names[0], 1e6 * one, "µs"), _row(names[1], 1e6 * many / BATCH, "µs per state")]


def _chains() -> list[dict[str, Any]]:
    rows = []
    link = lb.beam(1.0, 1.0, EI=100.0, modes=2)
    for links in (3, 10, 30, 100):
        chain = lb.Assembly("chain")
        for i in range(links):
            where: dict[str, Any] = {"to": f"link{i - 1}", "at": "tip"} if i else {}
            chain.attach(f"link{i}", link, lb.Revolute([0, 0, 1]), **where)
        s = chain.build()
        q, v, tau = (x[0] for x in _states(s, 1))
        seconds = best(partial(lb.forward_dynamics, s, q, v, tau))
        rows.append(
            _row(f"chain of {links} links, 4 modes each", 1e6 * seconds / links, "µs per link")
        )
    return rows


def _simulations(arm: lb.System) -> list[dict[str, Any]]:
    rigid = lb.models.canadarm(modes=0).build()
    slew = lb.trajectories.Cycloid(rate=[0.075, 0.05, 0.1], duration=[10, 5, 5])
    t = np.linspace(0.0, 10.0, 401)
    torque = lb.Table(t, lb.inverse_dynamics(rigid, *slew(t)), smooth=True)
    run = partial(lb.simulate, arm, 10.0, torque=torque, method="dop853", rtol=1e-6, progress=False)
    rows = []
    for engine in ("general", "generated"):
        what = f"10 s of the slew, {engine} engine"
        try:
            seconds = best(partial(run, engine=engine))
        except CompileError:
            rows.append(_row(what, None, "needs a C compiler"))
            continue
        rows.append(_row(what, seconds, "s"))
        rows.append(_row("", 10.0 / seconds, "times real time"))
    return rows
