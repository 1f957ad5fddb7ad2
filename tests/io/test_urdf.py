"""URDF: equal to Pinocchio's own reader; joints move as the file says; what is left out is said."""

import warnings

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import limber as lb
from helpers.compare_urdf import SWAP, relative, state

TOLERANCE = 1e-12  # relative, mass matrix and bias
SWING = 1e-9  # rad, and of the energy exchanged: what the tolerance of the integration leaves


def inertial(mass, xyz="0 0 0", rpy="0 0 0", moments="1 0.1 -0.2 1.5 0.05 0.8"):
    xx, xy, xz, yy, yz, zz = moments.split()
    return (
        f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/></inertial>'
    )


def link(name, *content):
    return f'<link name="{name}">{"".join(content)}</link>'


def joint(name, kind, parent, child, xyz="0 0 0", rpy="0 0 0", axis=None, more=""):
    axis = f'<axis xyz="{axis}"/>' if axis else ""
    limit = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
    limit = limit if kind in ("revolute", "prismatic") and "<limit" not in more else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{axis}{limit}{more}</joint>'
    )


def robot(*content, name="robot"):
    return f'<?xml version="1.0"?><robot name="{name}">{"".join(content)}</robot>'


ROBOTS = {
    "oblique chain": robot(
        link("base", inertial(3, "0.1 0.2 0.3")),
        link("zeta", inertial(2, "0.1 -0.2 0.3", "0.3 -0.2 1.1")),
        link("alpha", inertial(1.5, "0 0.2 0.3", "1 2 3")),
        link("mid", inertial(0.7, "0.3 0 0")),
        joint("j3", "prismatic", "alpha", "mid", "0.1 0.1 0", "0 0.4 0", "1 1 -0.5"),
        joint("j1", "revolute", "base", "zeta", "0.3 0 0.1", "0.1 0.2 0.3", "0.2 -0.5 1"),
        joint("j2", "continuous", "zeta", "alpha", "0 0.5 0", "-1 0.5 2", "0 0 1"),
    ),
    "tree with fixed joints": robot(
        link("world"),
        link("trunk", inertial(8)),
        link("flange", inertial(0.4, "0.05 0 0", "0.5 0 0")),
        link("right", inertial(1, "0 0 0.2")),
        link("left", inertial(2, "0 0.1 0.2", "0 0 1.5707963267948966")),
        link("tool frame"),
        joint("weld", "fixed", "world", "trunk", "0 0 1", "0.3 0 0"),
        joint("r", "revolute", "flange", "right", "0 -0.3 0", "0.2 0 0", "1 0 0"),
        joint("f", "fixed", "trunk", "flange", "0 0 0.7", "0.1 0.9 -0.4"),
        joint("l", "prismatic", "trunk", "left", "0 0.3 0", "0 0 0.2", "0 1 0"),
        joint("t", "fixed", "right", "tool frame", "0 0 0.3"),
        joint("default axis", "continuous", "left", "hand"),
        link("hand", inertial(0.3, "0 0.1 0")),
    ),
    "floating": robot(
        link("anchor", inertial(1)),
        link("drone", inertial(3, "0 0 0.1", "0.1 0.2 0.3")),
        link("arm", inertial(1, "0.2 0 0")),
        joint("fly", "floating", "anchor", "drone", "0.1 0.2 0.3", "0.4 0.1 0"),
        joint("turn", "revolute", "drone", "arm", "0.3 0 0", "0 0 0.4", "0 1 0"),
    ),
    "planar": robot(
        link("ground"),
        link("cart", inertial(3, "0 0 0.1", "0.1 0.2 0.3")),
        link("mast", inertial(1, "0.2 0 0.5")),
        joint("slide", "planar", "ground", "cart", "0.1 0.2 0.3", "0.4 0.1 0", "0 0 1"),
        joint("turn", "continuous", "cart", "mast", "0 0 0.2", "0 0 0.4", "0 -1 0"),
    ),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_equals_pinocchio(name, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOTS[name])
    model = pin.buildModelFromXML(ROBOTS[name])
    data = model.createData()
    # Pinocchio keeps limits to be read
    urdf, system = lb.io.parse_urdf(path), lb.io.read_urdf(path, stops=False).build()
    assert model.nv == system.nv
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, v, q_pin, B = state(model, urdf, system, rng)
        M = pin.crba(model, data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        assert relative(lb.mass_matrix(system, q), B.T @ M @ B) < TOLERANCE
        if name != "planar":  # its speeds turn with the body there: the bias differs by B_dot v
            h = pin.nonLinearEffects(model, data, q_pin, B @ v)
            assert relative(lb.bias(system, q, v), B.T @ h) < TOLERANCE
        pin.framesForwardKinematics(model, data, q_pin)
        for body in system.bodies:
            R, p = lb.pose(system, q, body)
            frame = data.oMf[model.getFrameId(body)]
            assert np.abs(frame.rotation - R).max() < 1e-12
            assert np.abs(frame.translation - p).max() < 1e-12


def test_free_root_equals_pinocchio(tmp_path):
    text = ROBOTS["oblique chain"]
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    system = lb.io.read_urdf(path, root="free").build()
    order = [
        *np.arange(6)[SWAP],
        *(6 + i for i in (0, 1, 2)),
    ]
    M = pin.crba(model, model.createData(), pin.neutral(model))
    M = np.triu(M) + np.triu(M, 1).T
    assert relative(lb.mass_matrix(system, system.neutral()), M[np.ix_(order, order)]) < TOLERANCE


def write(tmp_path, *content, name="robot.urdf"):
    path = tmp_path / name
    path.write_text(content[0] if content[0].startswith("<?xml") else robot(*content))
    return path


LINKS = link("a", inertial(1)) + link("b", inertial(1))


# --- dynamics and limits --------------------------------------------------------------------------


def one_joint(tmp_path, kind="revolute", more="", **options):
    """The joint of a model of one, the file's <limit> and <dynamics> being `more`."""
    path = write(tmp_path, LINKS, joint("j", kind, "a", "b", axis="0 0 1", more=more))
    return lb.io.read_urdf(path, **options).attachments["b"].joint


def limit(lower=-1.0, upper=1.5, effort=10.0, velocity=2.0):
    return (
        f'<limit lower="{lower!r}" upper="{upper!r}" effort="{effort!r}" velocity="{velocity!r}"/>'
    )


def test_dynamics_and_limits_are_those_of_the_joint(tmp_path):
    dynamics = '<dynamics damping="0.5" friction="0.1"/>'
    for kind, make in (("revolute", lb.Revolute), ("prismatic", lb.Prismatic)):
        made = one_joint(tmp_path, kind, dynamics + limit())
        expected = make(
            "z",
            damping=0.5,
            friction=0.1,
            limits=(-1.0, 1.5),
            stop_stiffness=10.0 / (0.01 * 2.5),
            effort_limit=10.0,
            speed_limit=2.0,
        )
        assert repr(made) == repr(expected)
    made = one_joint(tmp_path, "continuous", dynamics + '<limit effort="3" velocity="4"/>')
    expected = lb.Revolute("z", damping=0.5, friction=0.1, effort_limit=3, speed_limit=4)
    assert repr(made) == repr(expected)


def test_effort_limit_presses_the_joint_one_percent_into_its_stop(tmp_path):
    """To what the softness of the stop adds there, 3e-5 of it."""
    path = write(tmp_path, LINKS, joint("j", "revolute", "a", "b", axis="0 0 1", more=limit()))
    system = lb.io.read_urdf(path, gravity=(0, 0, 0)).build()
    assert lb.bias(system, [1.5 + 0.01 * 2.5], [0.0])[0] == pytest.approx(10.0, rel=1e-4)
    assert lb.bias(system, [-1.0 - 0.01 * 2.5], [0.0])[0] == pytest.approx(-10.0, rel=1e-4)


def test_stops_can_be_left_out(tmp_path):
    made = one_joint(tmp_path, more=limit(), stops=False)
    assert (made.physics.lower, made.physics.upper) == ([-1.0], [1.5])
    assert made.physics.stop_stiffness == [0.0] and made.physics.effort_limit == [10.0]
    model = tmp_path / "model.yaml"
    model.write_text("limber: 1\nurdf: {file: robot.urdf, stops: false}")
    assert repr(lb.load(model).attachments["b"].joint) == repr(made)
    model.write_text("limber: 1\nurdf: {file: robot.urdf}")
    assert lb.load(model).attachments["b"].joint.physics.stop_stiffness == [400.0]


def test_zero_effort_and_velocity_are_no_limits(tmp_path):
    with pytest.warns(
        lb.ModelWarning, match="joint 'j' has limits, but no finite effort"
    ) as caught:
        made = one_joint(tmp_path, more=limit(effort=0.0, velocity=0.0))
    assert len(caught) == 1
    assert repr(made) == repr(lb.Revolute("z", limits=(-1.0, 1.5), stop_stiffness=0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_joint(tmp_path, more=limit(effort=0.0), stops=False)


@pytest.mark.parametrize("bounds", [(0.0, 0.0), (1.0, -1.0)])
def test_joints_without_a_range_have_no_stops(bounds, tmp_path):
    with pytest.warns(
        lb.ModelWarning, match="joint 'j' has no range from lower to upper: its limits"
    ):
        made = one_joint(tmp_path, more=limit(*bounds))
    assert repr(made) == repr(lb.Revolute("z", effort_limit=10, speed_limit=2))


def test_limits_that_look_like_degrees_are_told(tmp_path):
    told = "joint 'j': its limits -120 and 120 look like degrees; URDF has radians"
    with pytest.warns(lb.ModelWarning, match=told):
        made = one_joint(tmp_path, more=limit(-120.0, 120.0))
    assert made.physics.upper == [120.0]  # as the file says
    for turns in (3.0, 1e6):  # a winch, and a file that means none
        one_joint(tmp_path, more=limit(-2.0 * np.pi * turns, 2.0 * np.pi * turns))


def test_lower_and_upper_are_zero_unless_given(tmp_path):
    made = one_joint(tmp_path, more='<limit upper="2" effort="1" velocity="1"/>')
    assert (made.physics.lower, made.physics.upper) == ([0.0], [2.0])
    made = one_joint(tmp_path, more='<limit effort="1" velocity="1"/>')
    assert repr(made) == repr(lb.Revolute("z", effort_limit=1, speed_limit=1))


def test_an_infinite_effort_gives_no_stiffness(tmp_path):
    for effort in (1e308, np.inf):
        with pytest.warns(lb.ModelWarning, match="joint 'j' has limits, but no finite effort"):
            made = one_joint(tmp_path, more=limit(effort=effort))
        expected = lb.Revolute("z", limits=(-1, 1.5), stop_stiffness=0, speed_limit=2)
        assert repr(made) == repr(expected)


def test_infinite_limits_are_none(tmp_path):
    made = one_joint(tmp_path, more=limit(-np.inf, np.inf, np.inf, np.inf))
    assert repr(made) == repr(lb.Revolute("z"))
    with pytest.warns(lb.ModelWarning, match="or only one limit"):
        made = one_joint(tmp_path, more=limit(-1.0, np.inf))
    assert (made.physics.lower, made.physics.upper) == ([-1.0], [np.inf])
    with pytest.raises(lb.FileError, match="lower of <limit> must be a finite number, got 'nan'"):
        one_joint(tmp_path, more=limit(np.nan, 1.0))


@pytest.mark.parametrize("stops", ["no", 0, None, np.array([True, False])])
def test_stops_are_true_or_false(stops, tmp_path):
    with pytest.raises(lb.LimberError, match="stops must be True or False, got"):
        one_joint(tmp_path, more=limit(), stops=stops)


def test_the_largest_numbers_are_no_limits(tmp_path):
    most = 1.7976931348623157e308
    made = one_joint(tmp_path, more=limit(-most, most, most, most))
    assert repr(made) == repr(lb.Revolute("z"))
    with pytest.warns(lb.ModelWarning, match="no finite effort or only one limit"):
        made = one_joint(tmp_path, more=limit(-1.0, most))
    assert (made.physics.lower, made.physics.upper) == ([-1.0], [np.inf])


def test_what_is_left_out_is_said_once(tmp_path):
    dynamics = '<dynamics damping="0.5" friction="0.1"/>'
    names = "abcdefgh"
    path = write(
        tmp_path,
        *(link(name, inertial(1)) for name in names),
        joint("ab", "revolute", "a", "b", axis="0 0 1", more=dynamics),
        joint("ac", "revolute", "a", "c", axis="0 0 1", more='<mimic joint="ab" multiplier="-2"/>'),
        joint("ad", "planar", "a", "d", axis="0 0 1", more=dynamics + limit()),
        joint("ae", "fixed", "a", "e", more=dynamics + limit()),
        joint("af", "continuous", "a", "f", more=limit()),
        joint("ag", "revolute", "a", "g", more=limit(effort=0.0)),
        joint("ah", "prismatic", "a", "h", more=limit(effort=-1.0)),
    )
    with pytest.warns(lb.ModelWarning) as caught:
        assembly = lb.io.read_urdf(path, mimic=False)
    (warning,) = caught
    text = str(warning.message)
    for words in (
        "joint 'ac' mimics 'ab', but here it moves independently",
        "joint 'ad' is planar and has several speeds: damping 0.5, friction 0.1, lower -1, upper 1.5, effort 10, "
        "velocity 2 left out",
        "joint 'ae' is fixed and does not move: damping 0.5, friction 0.1 left out",
        "joint 'af' is continuous: its limits -1 and 1.5 are left out",
        "joints 'ag', 'ah' have limits, but no finite effort",
        "joint 'ah': effort -1 is negative and is left out",
    ):
        assert text.count(words) == 1
    assert "'ab':" not in text.replace("mimics 'ab':", "")
    assert assembly.attachments["b"].joint.physics.damping == [0.5]
    joints = lb.io.parse_urdf(path).joints
    assert (joints["ab"].lower, joints["ab"].upper) == (-1.0, 1.0)
    assert (joints["ab"].effort, joints["ab"].velocity, joints["ab"].damping) == (10.0, 2.0, 0.5)
    assert joints["ac"].mimic == ("ab", -2.0, 0.0)


def mimic(other, multiplier=None, offset=None):
    numbers = {"multiplier": multiplier, "offset": offset}
    given = "".join(f' {name}="{x}"' for name, x in numbers.items() if x is not None)
    return f'<mimic joint="{other}"{given}/>'


def gripper(folder, more, kinds="revolute continuous prismatic fixed planar floating"):
    """Links a to f, each on the base by a joint ja to jf of its kind, of which some mimic others."""
    parts = [link("base", inertial(1))]
    for name, kind in zip("abcdef", kinds.split()):
        axis = "0 0 1" if kind != "floating" else None
        parts += [
            link(name, inertial(1)),
            joint(f"j{name}", kind, "base", name, axis=axis, more=more.get(name, "")),
        ]
    return write(folder, *parts)


def test_mimics_become_gears(tmp_path):
    more = {"b": mimic("jc", -2.0, 0.5), "c": mimic("ja", 3.0, 0.25), "a": ""}
    made = lb.io.read_urdf(gripper(tmp_path, more))
    assert list(made.closures) == ["jb", "jc"]
    assert dict(made.closures["jc"].terms) == {("c", 0): 1.0, ("a", 0): -3.0}
    assert made.closures["jc"].value == 0.25
    # jb = -2 jc + 0.5 = -2 (3 ja + 0.25) + 0.5
    assert dict(made.closures["jb"].terms) == {("b", 0): 1.0, ("a", 0): 6.0}
    assert made.closures["jb"].value == 0.0
    (tmp_path / "model.yaml").write_text("limber: 1\nurdf: {file: robot.urdf, mimic: true}\n")
    there = lb.load(tmp_path / "model.yaml")
    assert {name: dict(x.terms) for name, x in there.closures.items()} == {
        name: dict(x.terms) for name, x in made.closures.items()
    }


def test_mimics_are_alike_unless_numbers_say_otherwise(tmp_path):
    made = lb.io.read_urdf(gripper(tmp_path, {"b": mimic("ja")}))
    assert dict(made.closures["jb"].terms) == {("b", 0): 1.0, ("a", 0): -1.0}


def test_mimics_are_those_of_pinocchio(tmp_path):
    path = gripper(tmp_path, {"b": mimic("ja", 2.0, 0.1)}, "revolute revolute")
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    assert model.nv == 1  # of two joints
    ours = lb.io.read_urdf(path).build()
    data = model.createData()
    for angle in (0.3, -1.2):
        pin.forwardKinematics(model, data, np.array([angle]))
        q = np.array([angle, 2.0 * angle + 0.1])
        terms = ours.closures["jb"].terms
        assert abs(terms["b", 0] * q[1] + terms["a", 0] * q[0] - 0.1) < TOLERANCE
        turn = lb.pose(ours, q, "b")[0]
        assert np.abs(turn - data.oMi[model.getJointId("jb")].rotation).max() < TOLERANCE


def test_mimics_of_fixed_joints_are_left_out_with_a_word(tmp_path):
    with pytest.warns(lb.ModelWarning, match="'jd' is fixed and does not move: its mimic is left"):
        made = lb.io.read_urdf(gripper(tmp_path, {"d": mimic("ja")}))
    assert not made.closures


@pytest.mark.parametrize(
    "more, says",
    [
        ({"a": mimic("jbb")}, "mimic of joint 'ja': it mimics the unknown joint 'jbb'. Did you mean 'jb'"),
        ({"a": mimic("ja")}, "mimic of joint 'ja': it mimics itself. Name the joint"),
        ({"a": mimic("jb"), "b": mimic("ja")}, "mimic of joint 'jb': the joints 'ja', 'jb' mimic each other in a cycle"),
        ({"a": mimic("jb"), "b": mimic("jc"), "c": mimic("jb")}, "mimic of joint 'jc': the joints 'jb', 'jc' mimic"),
        ({"a": mimic("jd")}, "mimic of joint 'ja': 'jd' is fixed, so it has no position and cannot be"),
        ({"a": mimic("je")}, "'je' is planar, so it has several coordinates and cannot be mimicked"),
        ({"f": mimic("ja")}, "'jf' is floating, so it has several coordinates and cannot mimic"),
        ({"a": mimic("jb", "x")}, "multiplier of <mimic> must be a finite number, got 'x'"),
        ({"a": mimic("jb", 1e200), "b": mimic("jc", 1e200)}, "mimic of joint 'ja': ratio of 'ja' is inf"),
    ],
)  # fmt: skip
def test_mimics_that_cannot_work_are_refused_with_their_place(more, says, tmp_path):
    with pytest.raises(lb.FileError, match=says) as caught:
        lb.io.read_urdf(gripper(tmp_path, more))
    assert caught.value.line == 1 and caught.value.key == "mimic"


def test_negative_damping_is_refused(tmp_path):
    with pytest.raises(lb.FileError, match="joint 'j': damping must be at least 0, got -1"):
        one_joint(tmp_path, more='<dynamics damping="-1"/>')


def test_arm_with_damping_friction_and_stops_swings_as_written(tmp_path):
    """Against SciPy on the closed form of a pendulum that strikes its lower stop and comes to rest."""
    mass, length, about_com, g = 2.0, 0.5, 0.03, 9.81
    damping, friction, lower, upper, effort = 0.15, 0.4, -0.6, 1.9, 20.0
    path = write(
        tmp_path,
        link("base"),
        link(
            "arm", inertial(mass, f"0 0 {-length}", moments=f"{about_com} 0 0 {about_com} 0 0.01")
        ),
        joint(
            *("shoulder", "revolute", "base", "arm"),
            axis="0 1 0",
            more=f'<dynamics damping="{damping}" friction="{friction}"/>'
            + limit(lower, upper, effort, 3.0),
        ),
    )
    system = lb.io.read_urdf(path).build()
    stiffness = effort / (0.01 * (upper - lower))
    softness, inertia = 1e-4, about_com + mass * length**2

    def soft(x):
        return 0.5 * (x + np.hypot(x, softness))

    def rates(t, y):
        theta, omega = y
        moment = -mass * g * length * np.sin(theta) - damping * omega
        moment -= friction * omega / np.hypot(omega, 1e-3)
        moment -= stiffness * soft(theta - upper) * (omega + np.hypot(omega, 1.0))
        moment += stiffness * soft(lower - theta) * (-omega + np.hypot(omega, 1.0))
        return [omega, moment / inertia]

    times = np.linspace(0.0, 5.0, 501)
    start = [1.8, 0.0]
    exact = solve_ivp(rates, (0, 5), start, "DOP853", times, rtol=3e-14, atol=1e-14)
    for method in ("dop853", "sdirk4"):
        found = lb.simulate(
            *(system, 5.0),
            q0=start[:1],
            t_eval=times,
            method=method,
            rtol=1e-10,
            atol=1e-12,
        )
        assert np.abs(found.q[:, 0] - exact.y[0]).max() < SWING
        assert found.power_audit().accuracy < SWING
    assert exact.y[0].min() < lower - 0.01  # it did strike the stop
    assert abs(exact.y[1, -1]) < 1e-3  # and friction holds it


def test_unknown_tags_are_reported_with_their_line(tmp_path):
    path = write(tmp_path, LINKS + "\n<magnet/>" + joint("j", "fixed", "a", "b", more="<spring/>"))
    with pytest.warns(
        lb.ModelWarning, match=r"<magnet> in <robot> \(line 2\); <spring> in <joint>"
    ):
        lb.io.read_urdf(path)


J = joint("j", "revolute", "a", "b", axis="0 0 1")
BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
REFUSED = {
    "doctype": (f'<?xml version="1.0"?>{BOMB}<robot name="&b;"/>', r"1:\d+: a document type"),
    "not xml": ("<?xml version='1.0'?><robot><link</robot>", "not valid XML"),
    "not a robot": ("<?xml version='1.0'?><sdf/>", "starts with <robot>, got <sdf>"),
    "empty": ("<?xml version='1.0'?><robot/>", "has no links"),
    "encoding": ("<?xml version='1.0' encoding='utf-99'?><robot/>", "not valid XML"),
    "deep": ("<?xml version='1.0'?>" + "<robot>" * 200, "nested more than"),
    "xacro": (
        "<?xml version='1.0'?><robot xmlns:xacro='x'><xacro:macro/></robot>",
        "xacro file: expand it first",
    ),
    "no name": (robot("<link/>"), "attribute 'name' of <link> is missing"),
    "twice": (robot(LINKS, link("a")), "a second link 'a'"),
    "joint twice": (robot(LINKS, J, J), "a second joint 'j'|is the child of two joints"),
    "two roots": (robot(LINKS), "links 'a', 'b' have no joint to a parent"),
    "cycle": (
        robot(LINKS, link("c"), J, joint("k", "fixed", "b", "a")),
        "'[ab]' is its own ancestor",
    ),
    "two parents": (
        robot(LINKS, link("c"), J, joint("k", "fixed", "c", "b")),
        "'b' is the child of two joints, 'j' and 'k'",
    ),
    "unknown type": (robot(LINKS, J.replace("revolute", "revolut")), "Did you mean 'revolute'"),
    "unknown link": (robot(LINKS, J.replace('"b"', '"bb"')), "unknown link 'bb'. "),
    "no child": (
        robot(LINKS, J.replace('<child link="b"/>', "")),
        "<child> is missing in joint 'j'",
    ),
    "zero axis": (robot(LINKS, J.replace("0 0 1", "0 0 0")), "joint 'j': axis is the zero vector"),
    "short": (robot(LINKS, J.replace("0 0 1", "0 1")), "xyz of <axis> must be 3 finite numbers"),
    "nan": (robot(LINKS, J.replace("0 0 1", "0 nan 1")), "must be 3 finite numbers, got '0 nan 1'"),
    "no mass": (robot(link("a", "<inertial/>")), "<mass> is missing in <inertial> of link 'a'"),
    "negative mass": (robot(link("a", inertial(-1))), "link 'a': mass must be at least 0"),
    "bad inertia": (
        robot(link("a", inertial(1, moments="1 2 0 1 0 1"))),
        "link 'a': inertia must be positive semidefinite",
    ),
    "two inertials": (robot(link("a", inertial(1), inertial(1))), "a second <inertial> in <link>"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_bad_files_are_refused(what, tmp_path):
    text, message = REFUSED[what]
    path = tmp_path / "bad.urdf"
    path.write_text(text)
    with pytest.raises(lb.FileError, match=message) as caught:
        lb.io.read_urdf(path)
    assert str(caught.value).startswith(str(path))
    assert what == "encoding" or caught.value.line


# --- flexible links -------------------------------------------------------------------------------


def arm(tmp_path):
    return write(
        tmp_path,
        link("a", inertial(2, "0 0 0.5")),
        link("b", inertial(1, "0 0 0.1")),
        joint("root turn", "revolute", "base", "a", axis="0 1 0"),
        joint("j", "revolute", "a", "b", "0 0.03 1", axis="0 0 1"),
        link("base"),
    )


UP = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]  # x of the beam is z of the link


def test_flexible_link_keeps_the_geometry_and_bends(tmp_path):
    from limber.bodies.placed import placed

    bar = placed(lb.beam(1.0, 2.0, EI=100.0, modes=2), rotation=UP)
    rigid = lb.io.read_urdf(arm(tmp_path)).build()
    with pytest.warns(lb.ModelWarning, match="'j' is 0.03 m from the nearest node 'tip'"):
        lb.io.read_urdf(arm(tmp_path), {"a": bar})
    assembly = lb.io.read_urdf(arm(tmp_path), {"a": bar}, attach={"j": "tip"})
    s = assembly.build()
    q = s.neutral()
    for name in s.bodies:
        for ours, theirs in zip(lb.pose(s, q, name), lb.pose(rigid, rigid.neutral(), name)):
            assert np.allclose(ours, theirs, atol=1e-15)
    q[s.layout["a"].q_modes.start + 1] = 0.1  # beam z is minus link x
    assert lb.pose(s, q, "b")[1][0] < -0.01
    last = lb.mass_matrix(s, s.neutral())[-1, -1]
    assert last == pytest.approx(lb.mass_matrix(rigid, rigid.neutral())[-1, -1], rel=1e-12)


def test_flexible_names_are_checked(tmp_path):
    bar = lb.beam(1.0, 2.0, EI=100.0)
    with pytest.raises(lb.LimberError, match="unknown link 'aa'"):
        lb.io.read_urdf(arm(tmp_path), {"aa": bar})
    with pytest.raises(lb.LimberError, match="unknown joint 'jj'"):
        lb.io.read_urdf(arm(tmp_path), {"a": bar}, attach={"jj": "tip"})
    with pytest.raises(lb.LimberError, match=r"attach\['j'\]='end' is not a node of link 'a'"):
        lb.io.read_urdf(arm(tmp_path), {"a": bar}, attach={"j": "end"})
    with pytest.raises(lb.LimberError, match='root must be "fixed" or "free"'):
        lb.io.read_urdf(arm(tmp_path), root="loose")


def test_other_mass_is_reported(tmp_path):
    with pytest.warns(lb.ModelWarning, match="link 'b': mass 3 kg replaces 1 kg"):
        lb.io.read_urdf(arm(tmp_path), {"b": lb.beam(0.2, 3.0, EI=100.0)})
