"""The live view of 50 bodies: what a picture costs the server, and how many a browser shows.

`python benchmarks/viewing.py` measures and prints; with `--browser` it also opens a headless Chromium, which draws by
software where there is no GPU.  The budget is 60 pictures a second, 16.7 ms each.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import limber as lb
from limber.viewer.live.view import View

BODIES, PICTURES = 50, 300
BUDGET = 1000.0 / 60.0
SHAPES = lb.shapes
#: Pictures a second that a page draws, over five seconds.
COUNT = """(async () => {
  let frames = 0; const end = performance.now() + 5000;
  while (performance.now() < end) { await new Promise(requestAnimationFrame); frames++; }
  return frames / 5; })()"""


def chain(kind: str) -> lb.System:
    """A chain of 50 bodies with shapes."""
    a = lb.Assembly(f"{kind} chain")
    bar = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), nodes={"tip": (1, 0, 0)})
    box = SHAPES.Box((0.9, 0.1, 0.1), at=(0.5, 0, 0))
    beam = lb.beam(1.0, 1.0, EI=100.0, modes=2)
    body, look = (bar, box) if kind == "rigid" else (beam, SHAPES.Tube(0.04))
    for i in range(BODIES):
        where = {"to": f"b{i - 1}", "at": "tip"} if i else {}
        a.attach(f"b{i}", body, lb.Revolute("z"), **where, shapes=look)
    return a.build()


def states(s: lb.System) -> np.ndarray:
    """Configurations in which every joint and every mode moves."""
    t = np.linspace(0.0, 5.0, PICTURES)[:, None]
    return 0.05 * np.sin(t * np.linspace(1.0, 3.0, s.nq))


def cost(view: View, q: np.ndarray, scale: float) -> tuple[float, float]:
    """Medians of the processor time and of the wall time of one picture, ms."""
    view._scale = scale
    used, spent = [], []
    for row in q:
        start, begun = time.perf_counter(), time.thread_time()
        view.put(row)
        used.append(1e3 * (time.thread_time() - begun))
        spent.append(1e3 * (time.perf_counter() - start))
        time.sleep(0.002)  # the thread that sends has its turn
    return float(np.median(used)), float(np.median(spent))


def shown(view: View, q: np.ndarray) -> tuple[float, float, float, float]:
    """Of a headless browser while the view moves: pictures a second that it draws, milliseconds of its scripts a picture
    drawn, pictures a second that the server sends, and the processor time of the server, ms a picture."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from helpers import browser  # noqa: PLC0415

    page = browser.Browser(tempfile.mkdtemp(), seconds=300.0)
    try:
        size = {"width": 960, "height": 640, "deviceScaleFactor": 1, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", **size)
        page.call("Performance.enable")
        page.open(view.url)
        page.until("!!document.querySelector('canvas')", 60)
        time.sleep(10.0)  # it fades in
        k = 0

        def step(seconds: float) -> bool:
            nonlocal k
            k += 1
            view.put(q[k % len(q)])
            return True

        def scripts() -> float:
            found = page.call("Performance.getMetrics")["metrics"]
            return next(x["value"] for x in found if x["name"] == "ScriptDuration")

        view.run(step)
        time.sleep(1.0)
        used, begun, start, script = time.process_time(), k, time.perf_counter(), scripts()
        rate = page.run(COUNT)
        sent, spent = k - begun, time.perf_counter() - start
        each = 1e3 * (scripts() - script) / max(rate * 5.0, 1.0)
        view.stop()
        return rate, each, sent / spent, 1e3 * (time.process_time() - used) / max(sent, 1)
    finally:
        page.close()


def main(browser: bool) -> None:
    print(f"{BODIES} bodies, ms a picture on the server (budget {BUDGET:.1f}):")
    for kind in ("rigid", "flexible"):
        s = chain(kind)
        q = states(s)
        start = time.perf_counter()
        with lb.view(s, port=8400) as view:
            opened = time.perf_counter() - start
            cost(view, q[:20], 1.0)
            for scale in (1.0,) if kind == "rigid" else (1.0, 5.0):
                used, spent = cost(view, q, scale)
                print(
                    f"  {kind}, deformation x {scale:g}: {used:.2f} of processor time, {spent:.2f} of wall time"
                )
            print(f"  {kind}: opened in {opened:.2f} s")
            if browser:
                rate, script, sent, used = shown(view, q)
                print(
                    f"  {kind}, a browser connected: the server sends {sent:.1f} pictures/s at {used:.2f} ms of processor "
                    f"time each; the browser draws {rate:.1f}/s, its scripts take {script:.2f} ms each"
                )


if __name__ == "__main__":
    main("--browser" in sys.argv[1:])
