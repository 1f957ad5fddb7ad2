"""What `compile` and `operation_count` refuse, and what they say."""

import numpy as np
import pytest

import limber as lb
from helpers.generated import arm, arm_assembly
from helpers.loops import for_each
from helpers.refusals import refused

V, T = ValueError, TypeError
BAD = {
    "target": ({"target": "fortran"}, V, "target='fortran' is unknown; choose one of c, c-package, casadi, cuda"),
    "no target": ({"target": None}, V, "target=None is unknown"),
    "function": ({"function": "dance"}, V, "function='dance' cannot be generated; choose one of forward_dynamics"),
    "function type": ({"function": 3}, T, "function must be a name, got 3"),
    "lanes 3": ({"lanes": 3}, V, "lanes=3 must be a power of two"),
    "lanes 0": ({"lanes": 0}, V, "lanes=0 must be a power of two"),
    "lanes True": ({"lanes": True}, V, "lanes=True must be a power of two"),
    "lanes 128": ({"lanes": 128}, V, "lanes=128 must be a power of two"),
    "lanes text": ({"lanes": "8"}, V, "lanes='8' must be a power of two"),
    "lanes casadi": ({"lanes": 4, "target": "casadi"}, V, 'lanes=4 is for target="c"'),
    "threads": ({"threads": 0}, V, "threads must be None or a whole number, at least 1, got 0"),
    "threads cuda": ({"threads": 2, "target": "cuda"}, V, 'threads=2 is for target="c"'),
    "dtype": ({"dtype": "int8"}, V, "dtype='int8' must be \"float64\" or \"float32\""),
    "dtype casadi": ({"dtype": "float32", "target": "casadi"}, V, "dtype='float32': CasADi computes in double"),
    "path": ({"path": "x"}, V, "path='x' is for target=\"c-package\""),
    "body": ({"body": "hand"}, V, "forward_dynamics applies to the entire system: leave out body and node"),
    "node": ({"node": "grip"}, V, "forward_dynamics applies to the entire system"),
    "no body": ({"function": "pose"}, V, "pose applies to a node: specify it with body=.*'base', 'link', 'hand'"),
    "unknown body": ({"function": "pose", "body": "foot"}, V, "body='foot' is not in the system 'arm'"),
    "unknown node": ({"function": "pose", "body": "hand", "node": "x"}, V, ".*'x'"),
    "external text": ({"external": "hand"}, T, "external must be a list, got 'hand'"),
    "external pair": ({"external": ["hand"]}, T, "external must be a list of \\(body, node\\) pairs"),
    "external triple": ({"external": [("hand", "grip", 1)]}, T, "external must be a list of \\(body, node\\) pairs"),
    "external body": ({"external": [("foot", "grip")]}, V, "body='foot' is not in the system"),
    "external node": ({"external": [("hand", "x")]}, V, ".*'x'"),
    "external twice": ({"external": [("hand", "grip")] * 2}, V, "external=.*names one of them twice"),
    "external of M": ({"function": "mass_matrix", "external": [("hand", "grip")]}, V, "external=.*mass_matrix does not accept external forces"),
    "external of step": ({"function": "step", "external": [("hand", "grip")]}, V, "external=.*step does not accept external forces"),
    "parameters text": ({"parameters": "gravity"}, T, "parameters must be a list, got 'gravity'"),
    "parameters dict": ({"parameters": {}}, T, "parameters must be a list"),
    "parameter type": ({"parameters": [3]}, T, "the name of a parameter must be a string, got 3"),
    "parameter list": ({"parameters": [["a"]]}, T, "the name of a parameter must be a string, got .'a'."),
    "parameter": ({"parameters": ["mass"]}, V, "parameter 'mass' is unknown: give \"gravity\" or"),
    "parameter body": ({"parameters": ["foot.mass"]}, V, "parameter 'foot.mass': body='foot' is not in"),
    "parameter quantity": ({"parameters": ["hand.colour"]}, V, "parameter 'hand.colour' is unknown: body 'hand' has mass, com, inertia, offset"),
    "flexible com": ({"parameters": ["link.com"]}, V, "parameter 'link.com' is unknown: body 'link' has mass, mass_scale, stiffness, stiffness_scale, damping"),
    "parameter twice": ({"parameters": ["gravity", "gravity"]}, V, "parameters=.*names one of them twice"),
    "wrt": ({"wrt": "x"}, V, "wrt='x' is not an input of forward_dynamics, which has q, v, tau"),
    "wrt vdot": ({"wrt": "vdot"}, V, "wrt='vdot' is not an input of forward_dynamics"),
    "wrt external": ({"wrt": "external"}, V, "wrt='external' is not an input"),
    "wrt type": ({"wrt": 3}, T, "wrt must be the name of an input or several, got 3"),
    "wrt none": ({"wrt": []}, T, "wrt must be the name of an input or several, got \\[\\]"),
    "wrt numbers": ({"wrt": [1]}, T, "wrt must be the name of an input or several"),
    "wrt twice": ({"wrt": ["q", "v", "q"]}, V, "wrt=.*names one of them twice"),
    "wrt body": ({"wrt": "foot.mass"}, V, "parameter 'foot.mass': body='foot' is not in"),
    "wrt function": ({"wrt": "q", "function": "dance"}, V, "function='dance' cannot be generated"),
    "assembly": ({"system": arm_assembly()}, T, "system must be a System, got .*an Assembly: build it first"),
    "no system": ({"system": None}, T, "system must be a System, got None"),
    "no system, wrt": ({"system": None, "wrt": "q"}, T, "system must be a System, got None"),
}  # fmt: skip


@for_each("options, kind, message", BAD)
def test_compile_refuses(options, kind, message):
    given = {"system": arm(), "function": "forward_dynamics", "target": "c"} | options
    with refused(kind, message):
        lb.compile(**given)


SHARED = ("system", "function", "body", "node", "external", "parameters", "wrt")


@for_each("options, kind, message", {k: x for k, x in BAD.items() if set(x[0]) <= set(SHARED)})
def test_operation_count_refuses(options, kind, message):
    with refused(kind, message):
        lb.operation_count(**({"system": arm(), "function": "forward_dynamics"} | options))


@pytest.mark.parametrize("dtype", ["float64", "double", np.float64, float, np.dtype("float64")])
def test_names_of_double_precision(dtype):
    assert lb.compile(arm(), "qdot", dtype=dtype)(np.zeros(5), np.zeros(5)).dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "single", np.float32, np.dtype("f4")])
def test_names_of_single_precision(dtype):
    assert lb.compile(arm(), "qdot", dtype=dtype)(np.zeros(5), np.zeros(5)).dtype == np.float32
