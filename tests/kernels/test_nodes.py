"""What the sweeps ask of nodes is enough for nodes that do not move linearly: a term quadratic in eta goes into
`kernels.nodes` and nowhere else."""

import numpy as np

import limber as lb
from limber.kernels import layout as L
from limber.kernels import plain

#: Every node moves by this times (eta_1 + ... + eta_m)^2 / 2 more.
CURVE = np.array([0.1, 0.2, -0.3])
STEP, TOLERANCE = 1e-5, 1e-8


def total(topo, x, k, place):
    start = topo[k + place]
    return sum(x[start : start + topo[k + L.MODES]])


def curved_shape(kernel):
    def shape_at(topo, const, q, k, node, r):
        turn, shift = kernel(topo, const, q, k, node, r)
        return turn, shift + CURVE * total(topo, q, k, L.Q_MODES)

    return shape_at


def curved_place(kernel):
    def deformed(topo, const, q, k, node):
        x, l = kernel(topo, const, q, k, node)
        return x, l + CURVE * total(topo, q, k, L.Q_MODES) ** 2 / 2.0

    return deformed


def curved_rates(kernel):
    def rates(topo, const, q, v, k, node):
        xd, ld, drift = kernel(topo, const, q, v, k, node)
        eta, eta_dot = total(topo, q, k, L.Q_MODES), total(topo, v, k, L.V_MODES)
        return xd, ld + CURVE * eta * eta_dot, drift + CURVE * eta_dot**2

    return rates


def curved_accelerations(kernel):
    def accelerations(topo, const, q, v, vdot, k, node):
        xdd, ldd = kernel(topo, const, q, v, vdot, k, node)
        eta, eta_dd = total(topo, q, k, L.Q_MODES), total(topo, vdot, k, L.V_MODES)
        return xdd, ldd + CURVE * (eta * eta_dd + total(topo, v, k, L.V_MODES) ** 2)

    return accelerations


KERNELS = plain.load(
    instead={
        "nodes.shape_at": curved_shape,
        "nodes.deformed": curved_place,
        "nodes.rates": curved_rates,
        "nodes.accelerations": curved_accelerations,
    }
)


class Chain:
    """Three flexible bodies, the second with a deforming inboard node, on kernels with curved nodes."""

    def __init__(self, rng):
        kinds = {"bending": 1, "torsion": 1}
        beam = lb.beam(2.0, 30.0, EI=40.0, GJ=20.0, polar_inertia=5.0, modes=kinds)
        shapes = {name: 0.3 * rng.normal(size=(5, 3, 2)) for name in ("translation", "rotation")}
        free = lb.FlexibleBody.from_nodes(
            np.ones(5), rng.normal(size=(5, 3)), **shapes, stiffness=np.eye(2)
        )
        a = lb.Assembly("chain", gravity=(0.3, -0.2, -9.81))
        a.attach("one", beam, lb.Revolute("z"))
        a.attach("two", free, lb.Revolute("y"), to="one", at="tip", inboard="2")
        a.attach("three", beam, lb.Revolute("x"), to="two", at="4", offset=(0.1, 0.2, 0.3))
        self.system = a.build()
        packed = self.system.dynamics
        self.arrays = packed.topo, packed.const, np.zeros(packed.topo[L.WORK_SIZE])
        self.end = (
            3 * L.COLUMNS,
            packed.records[3][self.system.bodies["three"].nodes.names.index("tip")],
        )

    def place(self, q):
        out = np.zeros(12)
        KERNELS.observe.pose(*self.arrays, q, *self.end, out)
        return out[9:]

    def jacobian(self, q):
        out = np.zeros(6 * self.system.nv)
        KERNELS.observe.jacobian(*self.arrays, q, *self.end, out)
        return out.reshape(6, -1)

    def acceleration(self, q, v, vdot):
        out = np.zeros(6)
        KERNELS.observe.node_acceleration(*self.arrays, q, v, vdot, *self.end, out)
        return out

    def inverse_dynamics(self, q, v, vdot, wrenches):
        out, index = np.zeros(self.system.nv), np.array(self.end)
        count, flat = len(wrenches), np.ravel(wrenches)
        KERNELS.newton_euler.inverse_dynamics(*self.arrays, q, v, vdot, count, index, flat, out)
        return out


def slope(f, x, direction):
    return (f(x + STEP * direction) - f(x - STEP * direction)) / (2.0 * STEP)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=TOLERANCE * np.abs(expected).max())


def test_jacobian_is_the_derivative_of_the_place():
    rng = np.random.default_rng(0)
    chain = Chain(rng)
    q = 0.4 * rng.normal(size=chain.system.nq)
    columns = [slope(chain.place, q, e) for e in np.eye(chain.system.nv)]
    close(chain.jacobian(q)[3:], np.transpose(columns))


def test_acceleration_is_the_rate_of_the_velocity():
    rng = np.random.default_rng(1)
    chain = Chain(rng)
    q, v, vdot = 0.4 * rng.normal(size=(3, chain.system.nv))
    expected = chain.jacobian(q) @ vdot + slope(chain.jacobian, q, v) @ v
    close(chain.acceleration(q, v, vdot), expected)


def test_a_wrench_does_the_work_of_its_node():
    rng = np.random.default_rng(2)
    chain = Chain(rng)
    q, v, vdot = 0.4 * rng.normal(size=(3, chain.system.nv))
    wrench = rng.normal(size=6)
    without, given = (chain.inverse_dynamics(q, v, vdot, w) for w in ([], [wrench]))
    close(without - given, chain.jacobian(q).T @ wrench)
