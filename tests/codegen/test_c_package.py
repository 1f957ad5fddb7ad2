"""The folder to take away: complete, clean for a strict compiler, the same every time, right."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import arm, evaluated, mixed, pendulum, program
from limber.codegen import statements

STRICT = "-std=c99 -pedantic -Wall -Wextra -Werror -Wshadow -Wconversion"
needs_make = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="needs make and cc"
)


def ran(folder, flags=STRICT):
    """Numbers that the example prints, by name, built with `flags`."""
    build = subprocess.run(
        ["make", f"CFLAGS=-O1 {flags}"], check=False, cwd=folder, capture_output=True, text=True
    )
    assert build.returncode == 0, build.stderr[:2000]
    out = subprocess.run(
        ["./example"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, list[float]] = {}
    for name, i, x in re.findall(r"^(\w+)\[(\d+)\] = (\S+)$", out, flags=re.M):
        assert int(i) == len(found.setdefault(name, []))
        found[name].append(float(x))
    return found


def check(folder, p, tolerance=1e-12, flags=STRICT):
    found = ran(folder, flags)
    expected = evaluated(p, [np.reshape(x, a.shape) for a, x in zip(p.inputs, p.example)])
    assert list(found) == [a.name for a in p.outputs]
    for a, y in zip(p.outputs, expected):
        assert_close(found[a.name], y.ravel(), tolerance, a.name)


@needs_make
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 3e-4)])
def test_package_compiles_strictly_and_prints_the_result(tmp_path, dtype, tolerance):
    keys = {"parameters": ["hand.mass", "gravity"], "external": [("hand", "grip")]}
    folder = lb.compile(arm(), "forward_dynamics", "c-package", path=tmp_path / "a" / "b", dtype=dtype, **keys)  # fmt: skip
    assert sorted(x.name for x in folder.iterdir()) == ["Makefile", "arm_forward_dynamics.c", "arm_forward_dynamics.h", "main.c"]  # fmt: skip
    flags = STRICT if dtype == "float64" else f"{STRICT} -Wdouble-promotion"
    check(folder, program(arm(), "forward_dynamics", **keys), tolerance, flags)


@needs_make
@pytest.mark.parametrize("function, wrt", [("step", None), ("step", "tau"), ("pose", "q")])
def test_packages_of_functions_with_callees_pieces_and_derivatives(
    tmp_path, monkeypatch, function, wrt
):
    monkeypatch.setattr(statements, "PIECE", 300)
    options = {"body": "hand", "node": "grip"} if function == "pose" else {}
    folder = lb.compile(
        arm(), function, "c-package", path=tmp_path, wrt=wrt, name="my_arm", **options
    )
    check(folder, program(arm(), function, wrt=wrt, **options))
    assert "_1(" in next(folder.glob("my_arm*.c")).read_text()  # it was cut


def test_example_of_the_engine(tmp_path):
    """The example's own inputs: the neutral configuration, moving a little."""
    s = mixed()
    if shutil.which("make") is None:
        pytest.skip("needs make")
    folder = lb.compile(s, "inverse_dynamics", "c-package", path=tmp_path)
    expected = lb.inverse_dynamics(s, s.neutral(), np.full(s.nv, 0.1), np.zeros(s.nv))
    assert_close(ran(folder)["tau"], expected, 1e-12)


def test_output_is_deterministic(tmp_path):
    """Byte for byte, also from another system of the same content."""
    one = lb.compile(mixed(), "step", "c-package", path=tmp_path / "1")
    mixed.cache_clear()
    two = lb.compile(mixed(), "step", "c-package", path=tmp_path / "2")
    for file in one.iterdir():
        assert file.read_bytes() == (two / file.name).read_bytes()


def test_source_has_no_heap_no_globals_and_no_macros(tmp_path):
    folder = lb.compile(mixed(), "step", "c-package", path=tmp_path)
    source = (folder / "mixed_step.c").read_text()
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca|setjmp|goto|extern)\b", source)
    assert set(re.findall(r"#include <(.+)>", source)) <= {"math.h", "stddef.h"}
    # at file scope there are only functions: no line outside a body is a definition of data
    outside = re.sub(r"^\{.*?^\}", "", source, flags=re.M | re.S)
    outside = re.sub(r"/\*.*?\*/|^#.*$", "", outside, flags=re.M | re.S)
    for statement in re.split(r"\n\s*\n", outside):
        assert not statement.strip() or "(" in statement, statement
        assert "=" not in statement
    assert not re.search(r"^[ \t]+static\b", source, flags=re.M)  # no static data inside functions
    called = set(re.findall(r"\b([a-z_0-9]+)\(", source)) - {"void", "if"}
    assert {x for x in called if not x.startswith("mixed_")} <= {"sin", "cos", "sqrt", "__attribute__", "defined"}  # fmt: skip


def test_header_names_every_argument_and_element(tmp_path):
    s = mixed()
    folder = lb.compile(
        s, "forward_dynamics", "c-package", path=tmp_path, parameters=["ball.inertia"]
    )
    header = (folder / "mixed_forward_dynamics.h").read_text()
    assert f"in  q[{s.nq}]: coordinates" in header
    for i in range(s.nq):
        assert f"q[{i}]: {s.describe_q(i)}" in header
    for name in ("v", "tau", "vdot"):
        for i in range(s.nv):
            assert f"{name}[{i}]: {s.describe_v(i)}" in header
    assert "ball_inertia[3][3], row-major: inertia of body 'ball'" in header
    assert f"#define MIXED_FORWARD_DYNAMICS_TAU_SIZE {s.nv}" in header
    count = lb.operation_count(s, "forward_dynamics", parameters=["ball.inertia"])
    assert f"{count.mul} multiplications, {count.add} additions" in header


def test_header_says_what_kinds_of_coordinates_joints_have(tmp_path):
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(9.0, inertia=(1, 2, 2.5)), lb.Free())
    a.attach("boom", lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)), lb.Revolute("z"), "hub")
    folder = lb.compile(a.build(), "bias", "c-package", path=tmp_path)
    header = (folder / "craft_bias.h").read_text()
    for words in (
        "q[0]: joint coordinate 0 of body 'hub' (quaternion w)",
        "q[6]: joint coordinate 6 of body 'hub' (displacement z)",
        "q[7]: joint coordinate 0 of body 'boom' (angle)",
        "v[2]: joint speed 2 of body 'hub' (rotation z)",
        "v[3]: joint speed 3 of body 'hub' (translation x)",
    ):
        assert words in header


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_header_is_cpp(tmp_path):
    folder = lb.compile(pendulum(), "bias", "c-package", path=tmp_path)
    (folder / "x.cpp").write_text(
        '#include "pendulum_bias.h"\n#include "pendulum_bias.h"\n'
        "int main() { double q[1] = {0.0}, v[1] = {0.0}, b[1]; pendulum_bias(q, v, b); return b[0] > 0.0; }\n"
    )
    done = subprocess.run(
        "cc -std=c99 -c pendulum_bias.c && g++ -std=c++11 -pedantic -Wall -Wextra -Werror x.cpp pendulum_bias.o -lm && ./a.out",
        shell=True, check=False, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_make
@pytest.mark.parametrize("name", ["a/*b*/ é\n", "2D arm", "int", "class", "", "??/", "x\\"])
def test_systems_and_bodies_of_any_name(tmp_path, name):
    """In identifiers and in comments."""
    body = lb.RigidBody(1.0, (0.1, 0, 0), np.eye(3))
    s = lb.Assembly(name).attach(name or "b", body, lb.Revolute([0, 0, 1])).build()
    folder = lb.compile(s, "bias", "c-package", path=tmp_path, parameters=[f"{name or 'b'}.mass"])
    check(folder, program(s, "bias", parameters=[f"{name or 'b'}.mass"]))


def test_bad_paths_and_names(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    s = pendulum()
    with pytest.raises(lb.LimberError, match=r"needs path=\.\.\."):
        lb.compile(s, "bias", "c-package")
    with pytest.raises(lb.LimberError, match="is a file: give a folder"):
        lb.compile(s, "bias", "c-package", path=file)
    for name in ("a b", "1a", "a-b", "é", ""):
        with pytest.raises(ValueError, match="must be a C identifier"):
            lb.compile(s, "bias", "c-package", path=tmp_path, name=name)
    with pytest.raises(TypeError, match="name must be a C identifier, got 3"):
        lb.compile(s, "bias", "c-package", path=tmp_path, name=3)
    assert [x.name for x in tmp_path.iterdir()] == ["file"]
