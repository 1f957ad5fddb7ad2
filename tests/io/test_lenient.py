"""The lenient reader of URDF files: what it takes beyond the strict one, and what it says about it."""

import numpy as np
import pinocchio as pin
import pytest

import limber as lb

TOLERANCE = 1e-12


def inertial(mass, moments, xyz="0 0 0"):
    xx, yy, zz, xz = moments
    return (
        f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="{xz}" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
    )


GOOD = inertial(2.0, (0.1, 0.1, 0.1, 0.0), "0.1 0 0.2")
NEGATIVE = inertial(5.0, (0.056, 0.052, 0.021, -0.0575), "0.03 0 -0.17")  # lowest moment -0.0216


def joint(name, parent, child, kind="revolute", axis="0 0 1", more="", rpy="0 0 0"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 0.2 0.3" rpy="{rpy}"/><axis xyz="{axis}"/>'
        f'<limit effort="1" velocity="1"/>{more}</joint>'
    )


def write(folder, links, *joints):
    path = folder / "robot.urdf"
    content = "".join(f'<link name="{name}">{text}</link>' for name, text in links.items())
    path.write_text(f'<robot name="r">{content}{"".join(joints)}</robot>')
    return path


def read(path, **options):
    """The model, and the one warning about it."""
    with pytest.warns(lb.ModelWarning) as caught:
        made = lb.io.read_urdf(path, lenient=True, **options)
    (warning,) = caught
    return made, str(warning.message)


def test_negative_moments_are_kept_and_the_dynamics_is_that_of_pinocchio(tmp_path):
    path = write(
        tmp_path,
        {"base": "", "body": NEGATIVE, "arm": GOOD},
        joint("waist", "base", "body", axis="0 1 0"),
        joint("shoulder", "body", "arm"),
    )
    with pytest.raises(lb.FileError, match=r"link 'body': inertia must be positive .*lenient=True"):
        lb.io.read_urdf(path)
    made, text = read(path)
    assert text.count("lenient:") == 1
    assert "negative principal moments of inertia, which no body has, are kept" in text
    assert "'body' -0.02" in text and "'arm'" not in text
    system, model = made.build(), pin.buildModelFromUrdf(str(path))
    q = np.array([0.4, -0.7])
    M = pin.crba(model, model.createData(), q)
    M = np.triu(M) + np.triu(M, 1).T
    assert np.abs(lb.mass_matrix(system, q) - M).max() < TOLERANCE


def test_a_mass_matrix_that_is_not_positive_definite_is_still_refused(tmp_path):
    tip = inertial(1.0, (0.1, 0.1, -0.01, 0.0))
    path = write(tmp_path, {"base": GOOD, "tip": tip}, joint("j", "base", "tip"))
    made, _ = read(path)
    with pytest.raises(lb.LimberError, match="body 'tip'"):
        made.build()


def test_negative_masses_are_refused_by_both(tmp_path):
    path = write(tmp_path, {"base": inertial(-1.0, (1, 1, 1, 0))})
    for lenient in (False, True):
        with pytest.raises(lb.FileError, match="link 'base': mass must be at least 0") as caught:
            lb.io.read_urdf(path, lenient=lenient)
        assert "lenient" not in str(caught.value)


def test_negative_moments_stay_in_files(tmp_path):
    made, _ = read(write(tmp_path, {"base": NEGATIVE}))
    lb.save(made, tmp_path / "model.yaml")
    again = lb.load(tmp_path / "model.yaml").attachments["base"].body
    assert again.check_inertia == "indefinite"
    assert np.array_equal(again.inertia, made.attachments["base"].body.inertia)


def test_a_word_for_the_check_of_an_inertia_must_be_known(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text(
        "limber: 1\nbodies: {a: {rigid: {mass: 1, check_inertia: no way}, joint: free}}"
    )
    with pytest.raises(lb.FileError, match="must be true, false or indefinite"):
        lb.load(path)


LEAVES = {"base": GOOD, "arm": GOOD, "finger": "", "tip": "", "rail": "", "nail": ""}


def hand(folder, tip=""):
    """An arm with two massless joints in a row, of which the last carries a fixed link, and a massless slide."""
    return write(
        folder,
        LEAVES | {"nail": tip},
        joint("shoulder", "base", "arm"),
        joint("bend", "arm", "finger", axis="1 0 0", rpy="0 0 0.5"),
        joint("curl", "finger", "tip", axis="1 0 0"),
        joint("weld", "tip", "nail", "fixed"),
        joint("slide", "arm", "rail", "prismatic"),
    )


def test_joints_that_move_no_mass_have_an_armature(tmp_path):
    path = hand(tmp_path)
    with pytest.raises(lb.LimberError, match=r"moves no mass.*lenient=True"):
        lb.io.read_urdf(path).build()
    made, text = read(path)
    assert text.count("lenient:") == 1
    assert (
        "lenient: joints 'bend', 'curl', 'slide' move no mass and are given armatures of 1e-06"
        in text
    )
    for name in ("finger", "tip", "rail"):
        assert made.attachments[name].joint.physics.armature == [1e-6]
    assert made.attachments["arm"].joint.physics.armature == [0.0]
    system, model = made.build(), pin.buildModelFromUrdf(str(path))
    q, zero = np.zeros(4), np.zeros(4)
    order = [model.joints[model.getJointId(n)].idx_v for n in ("shoulder", "bend", "curl", "slide")]
    M = pin.crba(model, model.createData(), q)[np.ix_(order, order)]
    assert np.abs(lb.mass_matrix(system, q) - np.diag([0, 1e-6, 1e-6, 1e-6]) - M).max() < TOLERANCE
    assert np.isfinite(lb.forward_dynamics(system, q, zero, zero)).all()


def test_mass_on_the_axis_is_not_moved_and_mass_beside_it_is(tmp_path):
    """A point mass at the end of the chain, on the axis of the last joint and beside it."""
    on_axis = joint("a", "base", "tip", axis="1 1 0")
    for place, said in (("1 1 0", True), ("1 0 0", False)):
        tip = inertial(1.0, (0, 0, 0, 0), place)
        path = write(tmp_path, {"base": GOOD, "tip": tip}, on_axis)
        if said:
            _, text = read(path)
            assert "lenient: joint 'a' moves no mass and is given an armature" in text
        else:
            lb.io.read_urdf(path, lenient=True).build()


def test_mass_on_a_fixed_link_counts(tmp_path):
    made, text = read(hand(tmp_path, tip=GOOD))
    assert "lenient: joint 'slide' moves no mass" in text
    made.build()


def test_model_files_are_lenient_where_they_say_so(tmp_path):
    hand(tmp_path)
    path = tmp_path / "model.yaml"
    path.write_text("limber: 1\nurdf: {file: robot.urdf, lenient: true}")
    with pytest.warns(lb.ModelWarning, match="lenient: joints 'bend', 'curl', 'slide'"):
        lb.load(path).build()


def test_lenient_is_true_or_false(tmp_path):
    with pytest.raises(lb.LimberError, match="lenient must be True or False, got 'yes'"):
        lb.io.read_urdf(hand(tmp_path), lenient="yes")


@pytest.mark.parametrize(
    "text, message",
    [
        ('<mass value="${m}"/>', r"value='\$\{m\}' of <mass> is a xacro expression: .*expand it"),
        ('<mass value="$(arg m)"/>', "of <mass> is a xacro expression"),
        ("<xacro:thing/>", "<xacro:thing>: this is a xacro file: expand it first"),
    ],
)
def test_xacro_is_recognized(text, message, tmp_path):
    path = write(tmp_path, {"base": f"<inertial>{text}</inertial>"})
    with pytest.raises(lb.FileError, match=message):
        lb.io.read_urdf(path)
    with pytest.raises(lb.FileError, match=message):
        lb.load(path.rename(tmp_path / "arm.urdf.xacro"))


def test_expressions_in_geometry_do_not_stop_a_robot(tmp_path):
    mesh = '<visual><geometry><mesh filename="$(find r)/a.dae"/></geometry></visual>'
    path = write(tmp_path, {"base": GOOD + mesh})
    with pytest.warns(lb.ModelWarning, match=r"leave out the mesh file '\$\(find r\)/a.dae'"):
        lb.io.read_urdf(path)
    lb.io.read_urdf(path, visuals=False)
