"""MJCF: equal to MuJoCo where it is installed; hand-checked numbers otherwise; what is left out is said.

MuJoCo is in no extra: `pip install mujoco`.
"""

import importlib.util

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-9  # relative


def write(folder, body="", more="", name="model.xml"):
    path = folder / name
    path.write_text(f"<mujoco model='m'>{more}<worldbody>{body}</worldbody></mujoco>")
    return path


def read(path, **options):
    """The assembly and the words of its one warning."""
    with pytest.warns(lb.ModelWarning) as caught:
        made = lb.io.read_mjcf(path, **options)
    (warning,) = caught
    return made, str(warning.message)


BALL = '<geom size="0.1" mass="1" contype="0" conaffinity="0"/>'
TREES = {
    "shapes": (
        """
        <body name="a" pos="0.1 0.2 0.3" euler="30 -20 50">
          <joint axis="1 2 3" pos="0.05 0.1 -0.2" damping="0.3" armature="0.02"/>
          <geom type="capsule" size="0.05 0.2" pos="0.1 0 0.05" quat="1 2 -1 0.5"/>
          <geom type="cylinder" size="0.04" fromto="0 0 0 0.3 0.2 -0.1" density="700"/>
          <body pos="0.4 0 0" axisangle="1 1 0 40">
            <joint type="slide" axis="0 1 1" pos="9 9 9" stiffness="20" springref="0.1" damping="1"/>
            <geom type="box" size="0.1 0.2 0.3" mass="2" pos="0.1 0 0" xyaxes="1 1 0 -1 1 0.5"/>
            <geom type="ellipsoid" size="0.1 0.2 0.3" zaxis="1 -2 0.3"/>
            <geom type="box" size="0.02" fromto="0 0.1 0 0.2 0.2 0.4"/>
            <body pos="0 0 0.5"><geom size="0.2"/></body>
          </body>
        </body>
        """,
        "<option gravity='1 -2 -9'/>",
    ),
    "several joints in a body": (
        """
        <body name="hip" pos="0 0 1">
          <joint name="x" axis="1 0 0" pos="0 0 0.1"/>
          <joint name="slide" type="slide" axis="0 1 1"/>
          <joint name="y" axis="0 1 0" pos="0.1 0 0.2" stiffness="3" springref="20" ref="5"/>
          <joint name="z" axis="0 0 1" pos="0.1 0.05 0"/>
          <inertial pos="0.1 0.2 0" mass="3" diaginertia="0.1 0.2 0.25" euler="10 20 30"/>
          <body name="knee" pos="0 0 -0.5">
            <joint type="ball" pos="0 0.1 0" damping="0.2"/>
            <inertial pos="0 0 -0.2" mass="1" fullinertia="0.2 0.3 0.25 0.01 -0.02 0.03"/>
          </body>
        </body>
        """,
        "",
    ),
    "free, classes, frames, radians": (
        """
        <body name="ship" pos="1 2 3" euler="0.3 0.2 0.1" childclass="heavy">
          <freejoint/>
          <geom size="0.3"/>
          <frame pos="0.5 0 0" euler="0 0.4 0">
            <body name="arm">
              <joint axis="0 0 1"/>
              <joint class="soft" axis="1 0 0" pos="0.1 0 0"/>
              <geom size="0.1 0.3" type="capsule"/>
            </body>
            <geom size="0.05" pos="0 0 0.1"/>
          </frame>
          <body pos="0 1 0"><joint type="ball" pos="0 -0.1 0"/><geom class="main" size="0.2"/></body>
        </body>
        """,
        """<compiler angle="radian" eulerseq="zYx"/>
        <default><joint damping="0.1"/>
          <default class="heavy"><geom density="3000"/><joint armature="0"/>
            <default class="soft"><joint stiffness="4" springref="0.3" armature="0.1"/></default>
          </default>
        </default>""",
    ),
    "bounds and total mass": (
        """
        <body><joint/><inertial pos="0.3 0 0" mass="0.5" diaginertia="0.1 0.1 0.001"/>
          <body pos="1 0 0"><joint axis="0 1 0"/><inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.5"/></body>
          <body pos="0 1 0"><joint axis="1 0 0"/><geom size="0.1" group="3"/><geom size="0.2" group="1"/></body>
        </body>
        """,
        """<compiler boundmass="0.7" boundinertia="0.02" balanceinertia="true" settotalmass="5"
            inertiagrouprange="0 2"/>""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_equals_mujoco(name, tmp_path):
    if importlib.util.find_spec("mujoco") is None:
        pytest.skip("mujoco is not installed: trees are not compared with it")
    import mujoco

    from helpers.compare_mujoco import assert_equal_dynamics

    path = write(tmp_path, *TREES[name])
    with lb.errors.collected_warnings():
        system = lb.io.read_mjcf(path).build()
    assert_equal_dynamics(mujoco, path, system, np.random.default_rng(1), TOLERANCE)
