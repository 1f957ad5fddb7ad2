"""A plant in C at the other end of the wire: the format is what wire.h says."""

import contextlib
import shutil
import subprocess

import numpy as np
import pytest

import limber as lb
from helpers.files import EXAMPLES

rt = lb.control.realtime
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def arm():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.RigidBody(2.0, (0.5, 0, 0), inertia=[0.1] * 3, nodes={"tip": (1, 0, 0)})
    a.attach("upper", link, lb.Revolute("z", armature=0.2))
    a.attach("fore", link, lb.Revolute("z", armature=0.2), "upper", "tip")
    return a.build()


@needs_compiler
@pytest.mark.filterwarnings("ignore:safe stop")
def test_a_plant_in_c_is_held_by_a_controller_in_python(tmp_path):
    system = arm()
    package = lb.compile(system, "step", target="c-package", path=tmp_path / "arm", name="arm")
    plant = tmp_path / "plant"
    subprocess.run(
        ["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{package}", f"-I{rt.INCLUDE}",
         str(EXAMPLES / "c" / "realtime_plant.c"), str(package / "arm_step.c"), "-lm", "-o", str(plant)],
        check=True,
    )  # fmt: skip
    address = rt.links.free_address("udp")
    port = address.rpartition(":")[2]
    pd = lb.control.PD(400.0, 60.0, sample_time=0.01, gravity=True, reference=[0.3, -0.2])
    patient = rt.Watch(give_up=20.0)  # a machine may pause for a second
    side = rt.ControllerSide(
        lb.control.Loop(system, pd), patient, log=str(tmp_path / "c.log"), duration=1.0
    )
    with (
        subprocess.Popen([plant, port, "0.01", "1.0"], stdout=subprocess.PIPE, text=True) as child,
        contextlib.closing(rt.opened(address, "controller")) as link,
    ):
        message, _ = side.run(link)
        said = child.communicate()[0]
    assert message == "" and child.returncode == 0
    assert "late commands" in said
    log = rt.read_log(tmp_path / "c.log")
    assert log["sample"].shape[1] == 6
    # The torques are those of the controller for what the plant sent; on a busy machine some samples are held.
    sound = log["state"] == 0
    q, v, command = log["sample"][:, :2], log["sample"][:, 2:4], log["command"]
    weight = lb.inverse_dynamics(system, q[sound], 0 * v[sound], 0 * v[sound])
    expected = 400.0 * ([0.3, -0.2] - q[sound]) - 60.0 * v[sound] + weight
    assert sound.any() and np.allclose(command[sound], expected, rtol=1e-9, atol=1e-9)
