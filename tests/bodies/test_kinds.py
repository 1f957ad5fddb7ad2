"""A body kind is one file: whoever uses bodies goes by what `Body` has, never by the class."""

import re
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from limber.bodies import Body
from limber.bodies.base import Drawing, Quantity
from limber.bodies.constants import BodyConstants
from limber.bodies.nodes import Nodes
from limber.bodies.shapes import Shapes
from limber.io.bodies import WRITERS

SOURCE = Path(lb.__file__).parent
TOLERANCE = 1e-14


class Particle(Body):
    """A point mass at `place`, which is its only node."""

    kind = "particle"

    def __init__(self, mass, place):
        self.mass, self.place = float(mass), np.array(place, dtype=float)
        self.stiffness = self.damping = np.zeros((0, 0))
        self._freeze()

    modal_mass = property(lambda self: np.zeros((0, 0)))
    end_node = property(lambda self: "point")
    free_symbols = property(lambda self: frozenset())

    @property
    def node_set(self):
        return Nodes(("point",), Shapes.still(self.place[None]))

    def constants(self, inboard, ruthless):
        nodes = self.node_set.with_body_frame()
        shift = np.zeros(3) if inboard is None else self.place
        c = self.place - shift
        J = self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        moved = Nodes(nodes.names, Shapes.still(nodes.position - shift))
        return BodyConstants(moved, self.mass, self.mass * c, J[np.triu_indices(3)])

    def parameters(self):
        return {"mass": Quantity(np.array(self.mass), ", kg")}

    def parameter_constants(self, given, inboard):
        if "mass" not in given:
            return {}
        (m,) = given["mass"]
        x, y, z = self.place.tolist() if inboard is None else (0.0, 0.0, 0.0)
        J = [y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y]
        return {"mass": [m], "moment": [m * x, m * y, m * z], "inertia": [m * j for j in J]}

    def with_parameters(self, given):
        return Particle(given["mass"], self.place)

    def without_modes(self):
        return self

    def extent(self):
        return float(np.linalg.norm(self.place))

    def largest_motion(self):
        return np.zeros(0), np.zeros(0)

    def drawing(self):
        return Drawing(False, Shapes.still(np.zeros((0, 3))), self.place)


def arm(tip):
    """A flexible link and a body that swings at its tip."""
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach("link", lb.beam(1.0, 2.0, EI=50.0, modes=1, elements=2), lb.Revolute([0, 1, 0]))
    a.attach("load", tip, lb.Universal([0, 1, 0], [0, 0, 1]), "link", "tip", offset=(0.05, 0, 0))
    return a


def both():
    place = (0.1, 0.2, -0.3)
    return arm(Particle(0.7, place)), arm(lb.RigidBody(0.7, place, nodes={"point": place}))


def state(system, seed=3):
    rng = np.random.default_rng(seed)
    q = lb.integrate(system, system.neutral(), 0.3 * rng.standard_normal(system.nv), 1.0)
    return q, rng.standard_normal(system.nv), rng.standard_normal(system.nv)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_a_new_kind_has_the_dynamics_of_its_constants(fidelity):
    new, known = (a.build(fidelity) for a in both())
    q, v, tau = state(new)
    for method in ("articulated", "composite"):
        expected = lb.forward_dynamics(known, q, v, tau, method=method)
        found = lb.forward_dynamics(new, q, v, tau, method=method)
        assert np.allclose(found, expected, rtol=1e3 * TOLERANCE, atol=0.0)
    found, expected = (lb.pose(s, q, "load", "point")[1] for s in (new, known))
    assert np.array_equal(found, expected)
    assert repr(lb.modes(new, new.neutral())) == repr(lb.modes(known, known.neutral()))


def test_a_new_kind_has_parameters_in_generated_code():
    new, known = (a.build() for a in both())
    q, *_ = state(new)
    f = lb.compile(new, "mass_matrix", target="casadi", parameters=["load.mass"])
    heavier = arm(Particle(1.9, (0.1, 0.2, -0.3))).build()
    for mass, system in ((0.7, known), (1.9, heavier)):
        M = np.array(f(q, [mass])).reshape(system.nv, system.nv)
        assert np.allclose(M, lb.mass_matrix(system, q), rtol=1e3 * TOLERANCE, atol=TOLERANCE)
    with pytest.raises(lb.LimberError, match="'load' has mass, offset"):
        lb.compile(new, "mass_matrix", target="casadi", parameters=["load.com"])


def test_a_new_kind_has_symbolic_equations():
    new, known = (lb.symbolic.equations(a, order=1) for a in both())
    assert new.M == known.M


def test_a_new_kind_is_simulated_and_drawn(tmp_path):
    new, known = (a.build() for a in both())
    results = [lb.simulate(s, 0.05, t_eval=[0.0, 0.05]) for s in (new, known)]
    assert np.allclose(results[0].q, results[1].q, rtol=0.0, atol=1e-9)
    results[0].report(tmp_path / "run.html")
    results[0].plot("energy")
    assert both()[0].rigid().build().nv == 3


def test_a_new_kind_is_written_by_its_writer(tmp_path, monkeypatch):
    new, known = both()
    with pytest.raises(lb.LimberError, match="kind 'particle' cannot be written to a file"):
        lb.save(new, tmp_path / "new.yaml")

    def written(body, expand):
        nodes = {"point": body.place}
        return {"rigid": {"mass": body.mass, "com": body.place, "nodes": nodes}}

    monkeypatch.setitem(WRITERS, Particle.kind, written)
    for assembly, name in ((new, "new"), (known, "known")):
        lb.save(assembly, tmp_path / f"{name}.yaml")
    texts = [(tmp_path / f"{name}.yaml").read_text() for name in ("new", "known")]
    assert texts[0].replace("new.yaml", "known.yaml") == texts[1]


def test_what_is_no_body_is_refused():
    with pytest.raises(lb.LimberError, match="must be a RigidBody, a FlexibleBody or a beam"):
        lb.Assembly("a").attach("b", object(), lb.Fixed())
    with pytest.raises(TypeError, match="abstract"):
        Body()


def test_no_caller_asks_for_the_class_of_a_body():
    asked = re.compile(r"isinstance\([^()]*(RigidBody|FlexibleBody)|type\(\w*body\)")
    found = [path for path in SOURCE.rglob("*.py") if asked.search(path.read_text())]
    assert not found
