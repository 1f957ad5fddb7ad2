"""The robots of the package example-robot-data: all that Pinocchio loads are loaded, and are the same there.

The package is large and in no extra: `make test-all` installs it.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import limber as lb
from helpers.compare_urdf import relative, state

TOLERANCE = 1e-9  # relative; forward dynamics of the iCub loses six digits
FOLDER = Path("cmeel.prefix", "share", "example-robot-data", "robots")
FILES = [file for root in map(Path, sys.path) for file in sorted((root / FOLDER).rglob("*.urdf"))]


def test_there_are_robots_to_load():
    if not FILES:
        pytest.skip("example-robot-data is not installed: its robots are not compared")
    assert len(FILES) >= 68


def without_losses(assembly):
    """The same without damping and friction, which Pinocchio's dynamics leaves out."""
    for name, item in assembly.attachments.items():
        physics = item.joint.physics
        names = {"damping", "friction", "static_friction"} & set(physics.options)
        if "friction" in names:
            names |= {"static_friction"}
        if names:
            zero = {name: np.zeros(item.joint.dofs) for name in names}
            assembly = assembly.with_joint(name, item.joint.with_physics(zero))
    return assembly


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_equals_pinocchio(file):
    try:
        model = pin.buildModelFromUrdf(str(file))
    except ValueError:
        pytest.skip(f"Pinocchio does not load {file.name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        urdf = lb.io.parse_urdf(file)
        read = lb.io.read_urdf(file, stops=False, mimic=False, lenient=True)
        system = without_losses(read).build()
    assert model.nv == system.nv
    for name, item in urdf.joints.items():  # the armatures of joints that move no mass
        if item.kind in ("revolute", "prismatic", "continuous"):
            at = model.joints[model.getJointId(name)].idx_v
            model.armature[at] = system.joints[item.child].physics.armature[0]
    data, rng = model.createData(), np.random.default_rng(1)
    for _ in range(3 if system.nv else 0):
        q, v, q_pin, B = state(model, urdf, system, rng)
        M = pin.crba(model, data, q_pin)
        M = np.triu(M) + np.triu(M, 1).T
        assert relative(lb.mass_matrix(system, q), B.T @ M @ B) < TOLERANCE
        vdot = rng.normal(size=system.nv)
        tau = B.T @ pin.rnea(model, data, q_pin, B @ v, B @ vdot)
        assert relative(lb.inverse_dynamics(system, q, v, vdot), tau) < TOLERANCE
        there = np.linalg.solve(B, pin.aba(model, data, q_pin, B @ v, np.linalg.solve(B.T, tau)))
        assert relative(lb.forward_dynamics(system, q, v, tau), there) < TOLERANCE
