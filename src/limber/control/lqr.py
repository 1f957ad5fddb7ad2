r"""Linear quadratic regulators: gains from a model and weights, at one state or along a motion.

About a nominal motion q0, v0 with the torques u0, and with x = [dq, dv] as in `lb.linearize`,

    u = u0 - K x,    K = (R + B^T X B)^-1 B^T X A,    X = A^T X A - A^T X B (R + B^T X B)^-1 B^T X A + Q

minimizes the sum of x^T Q x + u^T R u over all samples. A and B are those of the sampled plant; with a delay, x
includes the commands that have not yet taken effect (Astrom & Wittenmark, Computer-Controlled Systems, 11). With an
observer such as `Kalman`, this is LQG.

The linear model of a closed system has independent coordinates y, and [dq, dv] = T y. Its weights are T^T Q T, and its
gains act on as many coordinates of the mechanism as it has degrees of freedom: u = u0 - K T_c^-1 x_c, where T_c has the
rows of T of these coordinates. Where closures hold, it makes no difference which ones they are. Torques within an open
system that floats keep its momenta: the gains are those of a smaller model (`reach`).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, listed, number, numbers, shown
from limber.constraints import project
from limber.control.closed_joints import BALANCED, at_rest, holding_torques
from limber.control.closed_motions import refuse_broken
from limber.control.controller import Controller, Measured, check_observer
from limber.control.fed_coordinates import fed_coordinates
from limber.control.joint_controller import driven_channels
from limber.control.joints import JointPlaces, not_plain, same_layout, torque_places
from limber.control.late_readings import samples_late, with_late_inputs
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize
from limber.control.loop import Loop
from limber.control.reach import reach
from limber.control.riccati import discrete_riccati
from limber.dynamics.difference import displacement
from limber.dynamics.evaluate import check_system
from limber.dynamics.inverse import inverse_dynamics, mass_matrix
from limber.dynamics.kinematics import integrate
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError, ModelWarning, warn
from limber.simulation.laws import SampledLaw, no_memory
from limber.simulation.result import Result

#: Weights count as negative below this fraction of the largest one.
ROUNDING = 1e-12


def lqr_gain(model: LinearModel, Q: ArrayLike, R: ArrayLike, sample_time: float = 0.0, delay: float = 0.0) -> Array:  # fmt: skip
    """Return the gains K (inputs, states) of u = -K x.

    Parameters
    ----------
    model : a LinearModel, sampled, or continuous with a sample_time; with sample_time 0 the gains are those of
        continuous time.
    Q : weights of the states: one number, one for each, or a matrix (n, n).
    R : weights of the inputs, in the same way, positive.
    sample_time, delay : s, as for `LinearModel.sampled`.
    """
    if not isinstance(model, LinearModel):
        raise ArgumentTypeError(
            f"model must be a LinearModel, as lb.linearize returns, got {shown(model)}."
        )
    model.single("lqr_gain")
    n, m = model.order, len(model.inputs)
    weights, costs = _weights("Q", Q, n), _weights("R", R, m)
    if number("sample_time", sample_time, minimum=0.0):
        model = model.sampled(sample_time, delay)
        weights = scipy.linalg.block_diag(weights, np.zeros((model.order - n,) * 2))
    A, B = model.A, model.B
    solve = discrete_riccati if model.dt else scipy.linalg.solve_continuous_are
    try:
        X = solve(A, B, weights, costs)
        K = np.linalg.solve(costs + B.T @ X @ B, B.T @ X @ A) if model.dt else np.linalg.solve(costs, B.T @ X)  # fmt: skip
        poles = np.linalg.eigvals(A - B @ K)
        stable = bool((np.abs(poles) < 1.0).all() if model.dt else (poles.real < 0.0).all())
    except (np.linalg.LinAlgError, ValueError):
        stable = False
    if not stable:
        raise DynamicsError(
            f"no gains stabilize {model.name!r} with these weights: some of its motions do not decay and are not moved by the inputs "
            f"{', '.join(model.inputs)}, or cost nothing. Give bodies damping, leave out modes that the joints cannot reach "
            '(modes={"y": ...} of a beam in a plane), add inputs, or weight all states. Torques within a system that floats '
            "do not change its momentum: of an open one, LQR(..., free=[...]) finds the gains without what they cannot hold; "
            "the base of a closed one must be attached to the world."
        )
    return np.array(K, dtype=np.float64)


class LQR(Controller):
    """State feedback about a state or along a motion; the head of this file has the equations.

    Parameters
    ----------
    Q, R : weights of [dq, dv] and of the torques; one number, one for each, or a matrix. In a closed system too, Q is for
        all coordinates and speeds, also those that follow from others.
    sample_time : s.
    bodies : the bodies whose joints have torques; None for all joints without quaternions. A joint with a quaternion has
        torques only if it is named: those of a motor with three axes, or six that push a floating body against the world.
    about : (nq,) the configuration to hold, including the modes (`lb.equilibrium`); or a Result, the motion to follow,
        for example from lb.simulate(s, ..., motion={...}), at its own times. In a closed system, a configuration must be
        an equilibrium that the torques can hold: lb.equilibrium(s, q, locked=bodies). In an open one, a ModelWarning says if
        modes, or joints without torques, are out of balance there.
    free : what may end anywhere, although torques could move it: names of bodies for all speeds of their joints, or of
        single speeds, such as "base[3]". Their coordinates and speeds cost nothing, whatever Q says. See below.
    points : for a motion, the number of equidistant times at which gains are computed; they are interpolated in
        between.
    delay : the delay from a sample to the effect of its command that the gains account for, s; by default that of the
        loop.
    observer : if the state is not fully measured, an object that estimates it, such as `Kalman`.
    system : the model used to compute the gains, if it is not the system of the loop.

    Without an observer, sensors must read the positions and speeds of all coordinates on which gains act: all joints of
    an open system without modes and quaternions; in a closed system, joints that determine everything else, for example
    those with motors if the bodies are rigid. Degrees of freedom that the torques do not move, such as bending out of the
    plane of a planar arm, get no gains.
    Errors of q are `lb.difference(system, about, q)`: rotation vectors for joints with quaternions, of up to half a turn.
    Torques between bodies do not change the momentum of a system that floats: not everything in it can be held. Of what
    costs nothing, by zeros in Q or by `free`, gains leave as much free as necessary. Where that is not enough, the
    position of what floats is left free as well, then rotors such as reaction wheels, then its attitude, and a
    ModelWarning says which. `reached` is the plant without them, for margins.
    Along a motion, a command has the torques of the motion at the middle of the time for which it is held, after the
    delay. After the end of a motion the joints are held at their final positions, with the modes in equilibrium. `gains` is
    (points, torques, states), with states [dq, dv] and then the pending commands; in a closed system the columns of
    coordinates on which no gains act are zero. `times` is (points,).
    """

    def __init__(
        self,
        Q: ArrayLike,
        R: ArrayLike,
        *,
        sample_time: float,
        about: Any,
        bodies: Any = None,
        free: Any = None,
        points: int = 11,
        delay: float | None = None,
        observer: Any = None,
        system: System | None = None,
    ):
        self.sample_time = number("sample_time", sample_time, above=0.0)
        self.delay = None if delay is None else number("delay", delay, minimum=0.0)
        check_observer(observer)
        self.Q, self.R, self.bodies, self.free, self.observer = Q, R, bodies, free, observer
        if system is not None:
            check_system(system)
        self.system = system
        if not isinstance(about, Result):
            about = numbers("about", about, "(nq,)")
        self.about = about
        if isinstance(points, bool) or not isinstance(points, int) or points < 2:
            raise ArgumentTypeError(
                f"points must be a whole number of at least 2, got {shown(points)}."
            )
        self.points = points
        self._places: JointPlaces | None = None

    def __repr__(self) -> str:
        return f"LQR({self.sample_time:g} s)"

    def prepare(self, loop: Any) -> None:
        """Compute the gains."""
        s: System = loop.system
        self._system = s
        places = self._places = torque_places(s, self.bodies, "LQR")
        if loop.actuators:  # before R is compared with the number of joints
            driven_channels(self, loop, places.labels)
        self._nominal(s, places)
        q, v, tau = self._knots
        design = s if self.system is None else self.system
        if not same_layout(design, s) or set(design.closures) != set(s.closures):
            raise ArgumentValueError(
                f"system: the model {design.name!r} must have the bodies, joints, modes and closures of {s.name!r}."
            )
        self._delay = loop.delay if self.delay is None else self.delay
        self._width, self._out = s.nv, places.v
        if loop.actuators:
            self._width, self._out = (
                len(loop.channels),
                driven_channels(self, loop, places.labels),
            )
        models = linearize(design, q, v, tau, inputs=torque_inputs(s, places))
        weights = _weights("Q", self.Q, 2 * s.nv)
        self._reach = reach(design, models, (q, v), places, weights, self.free)
        everything = np.arange(s.nv)
        acting = np.unique(np.concatenate(self._reach.kept) % s.nv) if self._reach.reduced else everything  # fmt: skip
        self._fed = fed_coordinates(s, q[0], places, loop, self.observer is not None, acting)
        self._small = [self._gains_of(models[i], i) for i in range(len(self.times))]
        self.gains = np.array([self._fed.gains(K, models[i]) for i, K in enumerate(self._small)])
        self._acting = self._fed.acting(self.gains)
        self._read = [x for x in loop.sensors if x.name in self._fed.sensors]
        self._names = models.states
        self._past = (self.gains.shape[2] - 2 * s.nv) // len(places)
        self.uses: tuple[str, ...] = self._fed.sensors
        if self.observer is not None:
            self.observer.prepare(loop)
            self._observe_about(self._first(s))
            self.uses = self.observer.uses

    def _gains_of(self, model: LinearModel, i: int) -> Array:
        """The gains at one point, of the states of the model; those of states that the torques do not move are zero."""
        places, found = self._prepared, self._reach
        kept, n = found.kept[i], model.order
        if not len(kept):
            locks = "the closures of {} lock these joints here" if self._system.closures else "nothing in {} that costs moves"  # fmt: skip
            raise ArgumentValueError(
                f"LQR: the torques of {listed(places.labels)} move nothing: {locks.format(repr(model.name))}. Name other "
                "joints, bodies=[...]."
            )
        T = np.eye(n) if model.T is None else model.T
        Q = (T.T @ found.weights @ T)[np.ix_(kept, kept)]
        gains = lqr_gain(found.inner(i, model), Q, self.R, self.sample_time, self._delay)
        K = np.zeros((len(gains), n + gains.shape[1] - len(kept)))
        K[:, kept], K[:, n:] = gains[:, : len(kept)], gains[:, len(kept) :]
        return K

    def _nominal(self, s: System, places: JointPlaces) -> None:
        """The nominal motion at samples, and at the points of the gains."""
        if isinstance(self.about, Result):
            r = self.about
            if not same_layout(r.system, s):
                raise ArgumentValueError(
                    f"about: the motion belongs to {r.system.name!r}, which differs from {s.name!r}."
                )
            first, last = float(r.t[0]), float(r.t[-1])
            self.times = np.linspace(first, last, self.points)
            at = r.resample(self.times)
            knots = project(s, at.q, at.v) if s.closures else (at.q, at.v)
            count = max(2, round((last - first) / self.sample_time) + 1)
            path = r.resample(np.linspace(first, last, count))
            self._knots = *knots, at.tau
            self._path = path.t, path.q, path.v, path.tau[:, places.v]
            self._end = _held(s, places, at_rest(s, path.q[-1], places.v), "the end of about")
            return
        q = self.about
        if q.shape != (s.nq,):
            raise ArgumentValueError(f"about must have shape ({s.nq},), got {q.shape}.")
        if s.closures:
            refuse_broken(s, q[None], np.zeros((1, s.nv)))
        _, rest, torque = self._end = _held(s, places, q, "about")
        tau = np.zeros(s.nv)
        tau[places.v] = torque
        self.times = np.array([-np.inf])
        self._knots = q[None], rest[None], tau[None]
        self._path = self.times, q[None], rest[None], torque[None]

    def _first(self, s: System) -> Array:
        """The configuration to hold, or the first one of the motion with its modes in equilibrium."""
        if isinstance(self.about, Result):
            return at_rest(s, self._path[1][0], self._prepared.v)
        return self.about

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller."""
        places = self._prepared
        self._sent = np.zeros((self._past, len(places)))
        if self.observer is not None:
            self.observer.start(t, measured)

    def command(self, t: float, measured: Measured) -> Array:
        """The torques."""
        q, v = measured.q, measured.v
        if self.observer is not None:
            q, v = self.observer.update(t, measured)
        wanted, speed, torque = self._nominal_at(t)
        x = self._fed.off(displacement(self._system, wanted, q), v - speed)
        change = -self._gain(t) @ np.append(x, self._sent)
        if self._past:
            self._sent = np.vstack([change, self._sent[:-1]])
        command = np.zeros(self._width)
        command[self._out] = torque + change - self._load(self._prepared.v)
        return command

    def sampled_law(self, system: System) -> SampledLaw | str:
        """The control law for batches of generated code, or a text that names the obstacle."""
        if type(self) is not LQR:
            return type(self).__name__
        if self.observer is not None:
            return "LQR with an observer"
        made = copy.copy(self)  # this one may be prepared for another loop
        Loop(system, made)
        if made._past:
            return "LQR with a delay"
        places, fed, at = made._prepared.v, made._fed, made._fed.q
        if at is None:
            return "LQR of joints with quaternions, or of several axes that turn each other"

        def reference(t: float, start: Array) -> tuple[Array, Array]:
            position, speed, torque = made._nominal_at(t)
            return np.append(position[at], speed[fed.v]), torque

        gains = made._acting[0] if len(made.times) == 1 else made._gain
        limit, memory = np.full(len(places), np.inf), no_memory(len(places), 2 * len(fed.v))
        return SampledLaw(self.sample_time, at, fed.v, places, limit, reference, gains, memory)

    def _nominal_at(self, t: float) -> tuple[Array, Array, Array]:
        """Coordinates and speeds of the motion at a sample, and the mean torques while its command is held."""
        position, speed, _ = self._at(t)
        return position, speed, self._at(t + self._delay + 0.5 * self.sample_time)[2]

    def _at(self, t: float) -> tuple[Array, Array, Array]:
        """The nominal motion at a time; after its end it is at rest."""
        times, q, v, torque = self._path
        if t >= times[-1]:
            return self._end
        part = (t - times[0]) / (times[-1] - times[0]) * (len(times) - 1)
        i = min(max(int(part), 0), len(times) - 2)
        f = min(max(part - i, 0.0), 1.0)
        between = [(1.0 - f) * x[i] + f * x[i + 1] for x in (q, v, torque)]
        if not_plain(self._system):
            step = displacement(self._system, q[i], q[i + 1])
            between[0] = integrate(self._system, q[i], step, f)
        return between[0], between[1], between[2]

    def _gain(self, t: float) -> Array:
        """The gains at a time, of the coordinates on which they act."""
        times, gains = self.times, self._acting
        if len(times) == 1:
            return gains[0]
        part = (t - times[0]) / (times[-1] - times[0]) * (len(times) - 1)
        part = min(max(part, 0.0), len(times) - 1.0)
        i = min(int(part), len(times) - 2)
        return (1.0 - (part - i)) * gains[i] + (part - i) * gains[i + 1]

    @property
    def torque_places(self) -> np.ndarray:
        """The places in v of the torques that the controller commands."""
        return self._prepared.v

    @property
    def _prepared(self) -> JointPlaces:
        if self._places is None:
            raise ArgumentTypeError(
                "LQR is not in a loop yet: pass it to lb.control.Loop or lb.simulate."
            )
        return self._places

    def reached(self, plant: LinearModel) -> LinearModel:
        """A plant about the first point, with only the states that matter to the loop: for `margins` and `spillover`.

        It is for what floats: momenta that no torque changes keep their values, and the speeds that are left free follow
        from the others. What the gains and the readings do not depend on, such as the position of a spacecraft, is left
        out; the full plant has poles at rest there, which nothing controls. What sensors show remains: if they read four
        wheels that are all free, so does the motion of these that leaves the attitude alone.

        plant : with the states of `lb.linearize`, and the outputs that `linear` takes: all states, or `Kalman.seen(plant)`.
            Put the controller in a loop first.
        """
        law = self.linear()
        if plant.outputs != law.inputs or plant.states != self._names or plant.dt:
            raise ArgumentValueError(
                f"plant must be continuous, with the states {listed(self._names[:3])}, ... of lb.linearize(system, ...), and the "
                f"outputs {listed(law.inputs[:3])}, ...; got {plant.name!r} with the outputs {listed(plant.outputs[:3])}, ..."
            )
        used = np.vstack([law.B, law.D]) != 0.0
        return self._reach.seen(plant, np.flatnonzero(used.any(axis=0)))

    def linear(self) -> LinearModel:
        """Return the gains at the first point as a discrete model from the states of `lb.linearize` to the torques.

        With an observer, its inputs are the sensor readings (`Kalman.seen`). Without one, all of them are as late as the
        latest readings (`late_readings`).
        """
        labels = tuple(f"torque {label}" for label in self._prepared.labels)
        gains = state_feedback(self._small[0], self._names, labels, self.sample_time, repr(self))
        late = max((samples_late("LQR", x, self.sample_time) for x in self._read), default=0)
        gains = with_late_inputs(gains, [late] * len(gains.inputs))
        return self._with_observer(gains, self._prepared.v)


def state_feedback(
    K: Array, states: tuple[str, ...], inputs: tuple[str, ...], sample_time: float, name: str
) -> LinearModel:
    """u = -K x as a discrete model from the states to the inputs; it stores past commands if K has gains for them."""
    m, n = len(inputs), len(states)
    past = K.shape[1] - n
    A, B = np.zeros((past, past)), np.zeros((past, n))
    if past:
        A[:m], B[:m] = -K[:, n:], -K[:, :n]
        A[m:, : past - m] = np.eye(past - m)
    ago = tuple(f"{label} {i} ago" for i in range(1, past // m + 1) for label in inputs)
    return LinearModel(A, B, -K[:, n:], -K[:, :n], ago, states, inputs, name, sample_time)


def _held(
    system: System, places: JointPlaces, q: Array, argument: str
) -> tuple[Array, Array, Array]:
    """A configuration at rest, with the torques that hold the joints there."""
    rest = np.zeros(system.nv)
    if system.closures:
        return q, rest, holding_torques(system, q, places.v, argument)
    tau = inverse_dynamics(system, q, rest, rest)
    _warn_of_imbalance(system, places, q, tau, argument)
    return q, rest, tau[places.v]


def _warn_of_imbalance(
    system: System, places: JointPlaces, q: Array, tau: Array, argument: str
) -> None:
    """Warn if modes, or joints without torques, would not stay at rest; `tau` (nv,) would hold everything."""
    free = np.setdiff1d(np.arange(system.nv), places.v)
    if not tau[free].any():
        return
    M = mass_matrix(system, q)
    off = np.linalg.solve(M[np.ix_(free, free)], -tau[free])
    if np.sqrt(-off @ tau[free]) > BALANCED * np.sqrt(tau @ np.linalg.solve(M, tau)):
        worst = int(np.abs(off).argmax())
        warn(
            f"LQR: {argument} is not an equilibrium of {system.name!r} that the torques of {listed(places.labels)} could "
            "hold: "
            f"{system.describe_v(int(free[worst]))} would accelerate by {abs(off[worst]):.3g}. lb.equilibrium(system, q, locked=[...]), with "
            "these bodies locked, finds one.",
            ModelWarning,
        )


def torque_inputs(system: System, places: JointPlaces) -> list[tuple]:
    """The torques of these joint speeds, as inputs for `linearize`."""
    found: list[tuple] = []
    for body, where in system.layout.items():
        here = range(where.v_joint.start, where.v_joint.stop)
        found += [("torque", body, i - here.start) for i in places.v.tolist() if i in here]
    order = {i: k for k, i in enumerate(places.v.tolist())}
    return sorted(found, key=lambda x: order[system.layout[x[1]].v_joint.start + x[2]])


def _weights(name: str, given: ArrayLike, n: int) -> Array:
    """Weights as a matrix."""
    x = finite_numbers(name, given, f"(), ({n},) or ({n}, {n})")
    if x.shape == (n, n) and n > 1:
        matrix = 0.5 * (x + x.T)
    elif x.shape in ((), (n,), (1, 1)):
        matrix = np.diag(np.broadcast_to(x.reshape(-1) if x.size == 1 else x, (n,)).astype(float))
    else:
        raise ArgumentValueError(
            f"{name} must be one number, {n} of them or a matrix ({n}, {n}), got shape {x.shape}."
        )
    values = np.linalg.eigvalsh(matrix)
    least = float(values.min())
    if least < -ROUNDING * float(np.abs(values).max()) or (name == "R" and least <= 0.0):
        raise ArgumentValueError(
            f"{name} must {'be above zero' if name == 'R' else 'not be negative'}, got {shown(given)}."
        )
    return matrix
