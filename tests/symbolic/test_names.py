"""Names of the numbers of a body: each label is that of the value beside it."""

import itertools

import numpy as np
import pytest

import limber as lb
from limber.symbolic.parameters import name_constants

AXES = "xyz"


def flexible(modes, rotary):
    """A body whose integrals are all different, and none of them zero."""
    rng = np.random.default_rng(modes)
    n = modes + 3
    K = rng.normal(size=(modes, modes))
    D = rng.normal(size=(modes, modes))
    extra = {}
    if rotary:
        I = 0.5 * rng.normal(size=(n, 3, 3))
        extra = {"inertia": I @ np.swapaxes(I, 1, 2), "com": rng.normal(size=(n, 3)) * 0.1}
        extra["inertia"] += 10.0 * np.eye(3)
    return lb.FlexibleBody.from_nodes(
        mass=rng.uniform(1.0, 2.0, n),
        position=rng.normal(size=(n, 3)),
        translation=rng.normal(size=(n, 3, modes)),
        rotation=rng.normal(size=(n, 3, modes)),
        stiffness=K @ K.T,
        damping=D @ D.T,
        names=[f"node{i}" for i in range(n)],
        **extra,
    )


def expected(body, second):
    """The value of every label, from the integrals of the body."""
    i, m = body.integrals, body.modes
    between = "" if m < 10 else "_"
    kinds = {"G": i.G0, "K": body.stiffness, "D": body.damping, "F": i.F0, "E": i.E0, "N": i.N0, "F1": i.F1, "N1": i.N1}  # fmt: skip
    if second:
        kinds |= {"S2": i.S2, "G1": i.G1}
    values = {"m": i.mass}
    values |= {f"S_{a}": x for a, x in zip(AXES, i.S0)}
    values |= {f"J_{a}": x for a, x in zip(("xx", "xy", "xz", "yy", "yz", "zz"), i.J0)}
    for kind, x in kinds.items():
        modal = {"F": 1, "E": 1, "N": 1, "G1": 3}.get(kind, 2)
        for place in itertools.product(*map(range, x.shape)):
            modes = between.join(str(r + 1) for r in place[:modal])
            values[f"{kind}_{modes}{''.join(AXES[a] for a in place[modal:])}"] = x[place]
    nodes = body.node_set
    for j, node in enumerate(nodes.names):
        for a, axis in enumerate(AXES):
            values[f"{axis}_{node}"] = nodes.position[j, a]
            for r in range(m):
                values[f"phi{r + 1}{axis}_{node}"] = nodes.rotation[j, a, r]
                values[f"u{r + 1}{axis}_{node}"] = nodes.translation[j, a, r]
    return {f"{label}_link": x for label, x in values.items()}


@pytest.mark.parametrize("rotary", [False, True], ids=["points", "rotary"])
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("modes", range(1, 13))
def test_every_label_is_that_of_its_value(modes, fidelity, rotary):
    body = flexible(modes, rotary)
    s = lb.Assembly("one").attach("link", body, lb.Revolute([0, 0, 1])).build(fidelity=fidelity)
    const, values = name_constants(s.dynamics, list(s.attachments.values()), ["link"])
    want = expected(body, second=rotary and fidelity == "full")
    assert {str(symbol) for symbol in values} <= set(want)
    for symbol, value in values.items():
        assert value == pytest.approx(want[str(symbol)], rel=1e-12), symbol
    # with them, every number stands where the kernels read it
    numbers = {x: value for symbol, value in values.items() for x, value in ((symbol, value), (-symbol, -value))}  # fmt: skip
    given = np.array([numbers.get(x, x) for x in const], dtype=float)
    np.testing.assert_allclose(given, s.dynamics.const, rtol=1e-11, atol=1e-11)


def test_numbers_that_would_share_a_name_are_refused():
    def body(node):
        return lb.RigidBody(1.0, inertia=np.eye(3), nodes={node: (1.0, 2.0, 3.0)})

    a = lb.Assembly("two").attach("b_c", body("a"), lb.Revolute([0, 0, 1]))
    a.attach("c", body("a_b"), lb.Revolute([0, 0, 1]), to="b_c")
    with pytest.raises(lb.LimberError, match="two numbers would be named 'x_a_b_c': give"):
        lb.symbolic.equations(a, named=True)
