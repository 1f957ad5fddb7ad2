"""Groups of nodes: held as a whole, and as one node that moves with its nodes."""

import pickle

import numpy as np
import pytest

import limber as lb
from helpers.frames import brick
from helpers.meshes import sheet
from limber.structures.interface import NodeRows
from limber.structures.rigid import rigid_motions

METAL = lb.Material(E=70e9, nu=0.3, rho=2700.0)


def bar(**more):
    """A block of 4 x 2 x 2 elements along x; the middle of its last face is a node."""
    position, M, K = brick((4, 2, 2), (1.0, 0.2, 0.1))
    ends = {
        name: np.flatnonzero(position[:, 0] == x).tolist()
        for name, x in (("ROOT", 0.0), ("TIP", 1.0))
    }
    middle = int(np.argmin(np.linalg.norm(position - [1.0, 0.1, 0.05], axis=1)))
    groups = ends | {"LINE": [0, 1, 2], "MIDDLE": [middle], "HALF": [0, middle]}
    return lb.Structure(position, M, K, groups=groups | more), middle


def test_a_group_is_held_and_moves_as_its_nodes_by_number():
    s, middle = bar()
    by_number = s.reduce(
        clamped=s.group("ROOT"), interface=middle, patches={middle: s.group("TIP")},
        modes=4, method="static-correction", loads={middle: (3.0, 0.1)}, origin=(0.0, 0.1, 0.05),
    )  # fmt: skip
    by_name = s.reduce(
        clamped="ROOT", interface="TIP", modes=4, method="static-correction", loads={"TIP": (3.0, 0.1)}
    )  # fmt: skip
    assert by_name.nodes.names == ("ROOT", "TIP")  # the clamped group carries the joint
    np.testing.assert_allclose(by_name.nodes.position, [[0, 0, 0], [1, 0, 0]], atol=1e-15)
    assert not by_name.nodes.translation[0].any() and not by_name.nodes.rotation[0].any()
    np.testing.assert_allclose(by_name.stiffness, by_number.stiffness, rtol=1e-9, atol=1e-3)
    np.testing.assert_allclose(
        np.abs(by_name.nodes.rotation[1]), np.abs(by_number.nodes.rotation[0]), atol=1e-8
    )
    report = by_name.report()
    assert report.comparison.held == "clamped at 'ROOT', with the loads at 'TIP'"
    assert {x.node for x in report.static} == {"TIP"}
    assert max(abs(x.error) for x in report.static) < 1e-6
    assert {x.node for x in by_name.report(interface="MIDDLE").static} == {"MIDDLE"}


def test_a_group_of_one_node_is_that_node_by_another_name():
    s, middle = bar()
    rows = NodeRows(s, {})
    assert abs(rows.rows(s.places.number("MIDDLE", "node")) - rows.rows(middle)).max() == 0
    body = s.reduce(pinned="MIDDLE", interface="ROOT", modes=2)
    assert body.nodes.names == ("ROOT", "MIDDLE")


def test_several_groups_may_share_nodes():
    s, _ = bar()
    nodes = sorted({*s.group("ROOT"), *s.group("HALF")})
    omega = s.modes(3, clamped=["ROOT", "HALF"]).omega
    np.testing.assert_allclose(omega, s.modes(3, clamped=nodes).omega, rtol=1e-9)


def test_patches_may_be_groups():
    s, middle = bar()
    bodies = [
        s.reduce(clamped="ROOT", interface=middle, patches={middle: patch}, modes=3)
        for patch in ("TIP", s.group("TIP"))
    ]
    assert np.array_equal(bodies[0].nodes.rotation, bodies[1].nodes.rotation)


def test_the_edge_of_a_plate_turns_about_itself_too():
    """Its nodes are on a line, and have rotations: a rigid motion is met exactly, a twist is their mean."""
    plate = lb.structures.plate(sheet((4, 3), (1.0, 0.3)), METAL, 0.01)
    s = lb.Structure(plate.position, plate.M, plate.K, groups={"edge": plate.where(x=1.0)})
    rows = NodeRows(s, {}).rows(s.places.number("edge", "node"))
    motions = rows @ rigid_motions(s.position, 6, np.array([1.0, 0.15, 0.0]))
    expected = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    np.testing.assert_allclose(motions, expected, atol=1e-12)
    twist = np.zeros((len(s), 6))
    twist[s.group("edge"), 4] = [1.0, 2.0, 3.0, 6.0]
    np.testing.assert_allclose((rows @ twist.ravel())[4], 3.0)
    body = s.reduce(clamped=s.where(x=0.0), interface="edge", modes=2, method="static-correction")
    np.testing.assert_allclose(body.nodes.position[body.nodes.names.index("edge")], [1, 0.15, 0])


def test_named_faces_of_meshes_are_such_groups():
    pytest.importorskip("skfem")
    from helpers.meshes import bar as box

    s = lb.structures.solid(box((3, 1, 1), (1.0, 0.1, 0.1)), METAL)
    body = s.reduce(clamped="left", interface="right", modes=2)
    assert body.nodes.names == ("left", "right")
    np.testing.assert_allclose(body.nodes.position[1], [1, 0, 0], atol=1e-12)


def test_a_node_goes_before_a_group_of_its_name():
    with pytest.warns(
        lb.ModelWarning, match="the group '20' has the name of a node: .* means the node"
    ):
        s, _ = bar(**{"20": [0, 1]})
    body = s.reduce(clamped="ROOT", interface="20", modes=1)
    assert body.nodes.names == ("20", "ROOT") and s.group("20") == [0, 1]
    root = s.position[s.group("ROOT")].mean(axis=0)
    np.testing.assert_allclose(body.nodes.position[0], s.position[20] - root)


def test_groups_are_copied_with_their_structure():
    s, _ = bar()
    assert pickle.loads(pickle.dumps(s)).groups == s.groups
    assert s.nearest((1.0, 0.0, 0.0)) in s.group("TIP")
    assert sorted(s.group("TIP")) == s.where(x=1.0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"clamped": "RIP"}, r"clamped='RIP' is not a node .*its groups are: 'ROOT', 'TIP', .* Did you mean 'TIP'"),
        ({"clamped": "ROOT", "interface": "HALF"}, r"interface has the group 'HALF' with the node '0', which is held as well"),
        ({"clamped": ["ROOT", "ROOT"]}, r"clamped has the group 'ROOT' twice"),
        ({"clamped": "TIP", "interface": "LINE"},
         r"the rotation of the group 'LINE' cannot be determined: its nodes, '0', '1', '2', .*structure.group\('LINE'\)"),
        ({"clamped": "TIP", "patches": {"ROOT": [1]}}, r"patches='ROOT' is not a node"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(arguments, match):
    with pytest.raises(lb.LimberError, match=match):
        bar()[0].reduce(modes=1, **arguments)


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ([1, 2], "groups must be a dict of names to node numbers"),
        ({3: [1]}, "a name must be a non-empty string, got 3"),
        ({"A": []}, r"groups\['A'\] must have node numbers from 0 to 44, one or more"),
        ({"A": [45]}, r"groups\['A'\] must have node numbers from 0 to 44"),
        ({"A": 3}, r"groups\['A'\] must have node numbers"),
        ({"A": ["x"]}, r"groups\['A'\] must have node numbers"),
    ],
)
def test_bad_groups_are_refused(groups, match):
    s, _ = bar()
    with pytest.raises(lb.LimberError, match=match):
        lb.Structure(s.position, s.M, s.K, groups=groups)
