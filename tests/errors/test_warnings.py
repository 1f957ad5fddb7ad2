"""Warnings name the line of the caller that led to them, however deep within Limber they arise."""

import ast
import inspect
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest

import limber as lb

SOURCE = Path(lb.__file__).parent

URDF = """<robot name="arm">
  <link name="base"><colour/><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
  </inertial></link>
  <link name="tip"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
  </inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>
  <dynamics damping="1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def nearly_singular():
    assembly, to = lb.Assembly("chain"), "world"
    for i in range(7):
        light = lb.RigidBody(1e-10, inertia=1e-10 * np.eye(3))
        body = lb.RigidBody(5.0, (0.1, 0, 0.3), 0.1 * np.eye(3)) if i == 6 else light
        joint = lb.Revolute([0, i % 2, 1 - i % 2])
        assembly.attach(f"{i}", body, joint, to=to, offset=(0, 0, 0.3))
        to = f"{i}"
    return assembly


def urdf(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    return path


CALLS = {
    "build": lambda path: nearly_singular().build(),
    "parse": lambda path: lb.io.parse_urdf(path),
    "read": lambda path: lb.io.read_urdf(path),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_warning_names_the_line_of_the_caller(call, tmp_path):
    path = urdf(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(path)
    assert caught
    line = inspect.getsourcelines(call)[1]
    for warning in caught:
        assert (Path(warning.filename), warning.lineno) == (Path(__file__), line)


def test_an_interrupted_simulation_names_the_line_of_the_caller():
    s = lb.Assembly("ball").attach("b", lb.RigidBody(1, inertia=np.eye(3)), lb.Free()).build()

    def torque(t, q, v):
        if t > 0.01:
            signal.raise_signal(signal.SIGINT)
        return np.zeros(s.nv)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lb.simulate(s, 1.0, v0=np.ones(6), torque=torque)
    assert [Path(w.filename) for w in caught] == [Path(__file__)]
    assert "interrupted" in str(caught[0].message)


def test_there_is_one_way_to_warn():
    """`limber.errors.warn`, which finds that line."""
    for file in SOURCE.rglob("*.py"):
        if file == SOURCE / "errors.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("warnings", "warn"), f"{file}:{node.lineno}"
