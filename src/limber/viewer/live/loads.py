"""A load that you drag: a handle pulls a node by a spring, and the system yields, statically or in motion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import Array
from limber.dynamics.equilibrium import equilibrium
from limber.dynamics.kinematics import jacobian, pose
from limber.errors import LimberError, collected_warnings
from limber.simulation import simulate

if TYPE_CHECKING:
    from limber.viewer.live.view import View

#: A body, and a node of it or None for its frame.
Node = tuple[str, int | None]
#: At most so many nodes are listed.
LISTED = 400
STATICS, MOTION = "statics, joints held", "motion, joints free"
FRAME = "body frame"
#: A pull by a fifth of the size of the system deflects the node by this part of its size.
DEFLECTION, PULL = 0.04, 0.2
#: What is left of all speeds after one second of motion.
KEPT = 0.3
#: Motion is computed in pieces of at most so many seconds.
PIECE = 1.0 / 30.0


class Loads:
    """A folder that puts a handle on a node, and responds to it."""

    def __init__(self, view: View):
        self.view = view
        system = view.system
        self._nodes: dict[str, Node] = {}
        for body, item in system.attachments.items():
            names = item.body.node_set.names
            for i in _chosen(names):
                self._nodes[f"{body}: {names[i]}"] = body, i
            if not names:
                self._nodes[f"{body}: {FRAME}"] = body, None
        labels = list(self._nodes)[-LISTED:]
        self._handle: Any = None
        self._line: Any = None
        self._rest: Array = view.q
        self._at = np.zeros(3)
        self._target = np.zeros(3)
        self._solved: np.ndarray | None = None
        self._v = np.zeros(system.nv)
        gui = view.server.gui
        with gui.add_folder("Load", expand_by_default=False):
            self._where = gui.add_dropdown("Node", labels, initial_value=labels[-1])
            self._answer = gui.add_dropdown("Answer", [STATICS, MOTION], initial_value=STATICS)
            self._stiffness = gui.add_number("N per metre of pull", 1.0, min=0.0, step=0.001)
            pull = gui.add_button("Pull here")
            go = gui.add_button("Let go")
            self._force = gui.add_markdown("")
        pull.on_click(lambda _: self.pull())
        go.on_click(lambda _: self.let_go())

    @property
    def node(self) -> Node:
        """The body and the node being pulled."""
        return self._nodes[self._where.value]

    def pull(self) -> None:
        """Put the handle on the node."""
        self.let_go()
        view = self.view
        view.stop()
        self._rest = view.q
        self._v = np.zeros(view.system.nv)
        body, node = self.node
        self._at = view.scene.node(body, node, self._rest, view.scale)
        self._target, self._solved = self._at.copy(), None
        self._stiffness.value = self._fitting()
        size = view.scene.size
        scene = view.server.scene
        self._handle = scene.add_transform_controls(
            "/load", scale=0.25 * size, disable_rotations=True, position=self._at
        )
        self._handle.on_update(lambda _: self.drag(np.array(self._handle.position)))
        self._line = scene.add_line_segments(
            "/pull", np.array([[self._at, self._at]]), (214, 39, 40), thickness=0.006 * size
        )
        self._tell(np.zeros(3))
        view.run(self._step)

    def drag(self, target: Array) -> None:
        """Pull the node towards a point (3,), as the handle does."""
        with self.view._lock:
            self._target = np.asarray(target, dtype=float)
            if self._handle is not None and not np.allclose(self._handle.position, target):
                self._handle.position = self._target
        if self._handle is not None and self.view.idle:
            self.view.run(self._step)

    def let_go(self) -> None:
        """Remove the handle: a static system returns, a moving one continues."""
        if self._handle is None:
            return
        with self.view._lock:
            self._handle.remove()
            self._line.remove()
            self._handle = self._line = None
            self._force.content = ""
            if self._answer.value == STATICS:
                self.view.stop()
                self.view.put(self._rest)
        if self._answer.value == STATICS:
            self.view.sync()

    def _fitting(self) -> float:
        """A stiffness for which a pull over a fifth of the system's size has a visible effect."""
        s, size = self.view.system, self.view.scene.size
        weight = sum(body.mass for body in s.bodies.values())
        body, node = self.node
        try:
            with collected_warnings():
                q = equilibrium(s, self._rest, locked=list(s.layout))
                J = jacobian(s, q, body, node)[3:]
                held = [
                    i for w in s.layout.values() for i in range(w.v_joint.start, w.v_joint.stop)
                ]
                J = np.delete(J, held, axis=1)
                K = [b.stiffness for b in s.bodies.values() if b.modes]
            soft = _flexibility(J, K)
        except LimberError:
            soft = 0.0
        if soft > 0.0:
            return _rounded(DEFLECTION / (PULL * soft))
        return _rounded(2.0 * weight / size)

    def _step(self, seconds: float) -> bool:
        if self._answer.value == STATICS:
            return self._settle()
        return self._move(seconds)

    def _settle(self) -> bool:
        """The equilibrium under the force, if the handle has moved."""
        view = self.view
        if self._handle is None:
            return False
        if self._solved is not None and np.array_equal(self._solved, self._target):
            return True
        self._solved = self._target.copy()
        body, node = self.node
        force = self._stiffness.value * (self._target - self._at)
        load: dict[Any, Any] = {(body, node): np.concatenate([np.zeros(3), force])}
        try:
            q = equilibrium(view.system, view.q, external=load, locked=list(view.system.layout))
        except LimberError as error:
            view.say(f"No equilibrium: {error}")
            return True
        view.say("")
        view.put(q)
        self._tell(force)
        return True

    def _move(self, seconds: float) -> bool:
        """A piece of the motion, with a spring pulling the node while there is a handle."""
        view, s = self.view, self.view.system
        external: dict[Any, Any] | None = None
        if self._handle is not None:
            body, node = self.node
            k, target = self._stiffness.value, self._target

            def wrench(t: float, q: Array, v: Array) -> Array:
                _, p = pose(s, q, body, node)
                return np.concatenate([np.zeros(3), k * (target - p)])

            external = {(body, node): wrench}
        span = min(seconds, PIECE)
        done = simulate(s, span, q0=view.q, v0=self._v, external=external, t_eval=[0.0, span])
        self._v = done.v[-1] * KEPT**span
        view.put(done.q[-1])
        if self._handle is not None:
            at = view.scene.node(*self.node, view.q, view.scale)
            self._tell(self._stiffness.value * (self._target - at))
        return True

    def _tell(self, force: Array) -> None:
        """Show the pull as a line, and its force in words."""
        if self._line is None:
            return
        at = self.view.scene.node(*self.node, self.view.q, self.view.scale)
        self._line.points = np.array([[at, self._target]], dtype=np.float32)
        self._force.content = f"{np.linalg.norm(force):.4g} N"


def _chosen(names: tuple[str, ...]) -> list[int]:
    """The numbers of at most 40 nodes of a body, including the first and the last."""
    every = max(1, math.ceil(len(names) / 40))
    return sorted({*range(0, len(names), every), *([len(names) - 1] if names else [])})


def _flexibility(J: Array, stiffness: list[Array]) -> float:
    """The displacement of a node per newton, m/N, due to its modes alone: the largest over all directions."""
    if not stiffness or not J.size:
        return 0.0
    from scipy.linalg import block_diag  # noqa: PLC0415 (slow to import)

    return float(np.linalg.norm(J @ np.linalg.pinv(block_diag(*stiffness)) @ J.T, 2))


def _rounded(value: float) -> float:
    """A number rounded to two digits."""
    if not value > 0.0 or not math.isfinite(value):
        return 1.0
    digits = 1 - math.floor(math.log10(value))
    return round(value, digits)
