"""From source to a loaded library: compilers, caches, processes and threads at once."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from helpers.generated import arm, pendulum, program, values
from limber import cache as disk
from limber import native
from limber.codegen import c, call
from limber.errors import CacheWarning, CompileError
from limber.native import c_compiler, dispatcher

ONE = np.ones(1)


def share_engine(folder):
    """The compiled engine of the cache that is now used: it need not be compiled again."""
    native.load("states")  # makes the folder
    (folder / "kernels").symlink_to(disk.folders()[0] / "kernels")


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing remembered of compilers and folders, an empty cache; all restored afterwards."""
    caches = (c_compiler.compiler, c_compiler._identity, c_compiler._native, disk._warn)

    def forget():
        for known in caches:
            known.cache_clear()

    share_engine(tmp_path)
    monkeypatch.setenv("LIMBER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(call, "dispatcher", lambda: None)
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def generated(folder):
    return sorted((folder / "generated").iterdir())


def test_no_compiler_is_said(fresh, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(
        CompileError, match=r"^no C compiler was found: tried cc, gcc and clang\. Install"
    ):
        lb.compile(pendulum(), "bias")
    monkeypatch.setenv("CC", "my-cc -O3")
    with pytest.raises(CompileError, match=r"variable CC specifies 'my-cc -O3'.*set CC to its"):  # fmt: skip
        lb.compile(pendulum(), "bias")
    # these need none
    assert lb.operation_count(pendulum(), "bias").mul == 1
    assert float(lb.compile(pendulum(), "bias", "casadi")(0.0, 0.0)) == 0.0
    lb.compile(pendulum(), "bias", "c-package", path=fresh / "package")
    assert "__global__" in lb.compile(pendulum(), "bias", "cuda").source


def script(path, text):
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "text, message",
    {
        "fails": ("import sys\nsys.stderr.write('boom'); sys.exit(1)", "boom"),
        "does nothing": ("", "wrote no file: it is not a C compiler"),
    }.values(),
)
def test_compilers_that_do_not_compile(fresh, monkeypatch, text, message):
    monkeypatch.setenv("CC", script(fresh / "bad cc", text).replace(" ", "\\ "))
    with pytest.raises(CompileError, match=message):
        lb.compile(pendulum(), "bias")
    folder = fresh / "generated"
    assert not folder.exists() or list(folder.iterdir()) == []  # no scratch is left


def test_a_compiler_that_cannot_start(fresh, monkeypatch):
    broken = fresh / "cc"
    broken.write_text("#!/nonexistent/interpreter\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(CompileError, match=r"could not be started.*Check \$CC"):
        lb.compile(pendulum(), "bias")


def test_the_compiler_of_the_environment_with_options(fresh, monkeypatch):
    """$CC may carry options; another compiler is another entry of the cache."""
    monkeypatch.setenv("CC", f"{shutil.which('cc')} -DSOMETHING=1")
    f = lb.compile(pendulum(), "bias")
    assert len(generated(fresh)) == 1
    c_compiler.compiler.cache_clear(), c_compiler._identity.cache_clear()
    monkeypatch.setenv("CC", shutil.which("cc"))
    g = lb.compile(pendulum(), "bias")
    assert len(generated(fresh)) == 2
    assert f(ONE, ONE) == g(ONE, ONE)


def test_cache_is_by_content(fresh):
    """The same function compiles once, whichever object asks; another one does not hit it."""
    lb.compile(pendulum(), "bias")
    (first,) = generated(fresh)
    time = first.stat().st_mtime_ns
    pendulum.cache_clear()
    lb.compile(pendulum(), "bias")
    assert generated(fresh) == [first] and first.stat().st_mtime_ns == time
    lb.compile(pendulum(), "bias", dtype="float32")
    lb.compile(pendulum(gravity=(0.0, -1.62, 0.0)), "bias")
    assert len(generated(fresh)) == 3


def test_unwritable_cache_falls_back(fresh, monkeypatch):
    """To the user's folder, then to none: each is said once.  /dev/null/x cannot be made, even by root."""
    monkeypatch.setattr("tempfile.tempdir", str(fresh))
    monkeypatch.setenv("LIMBER_CACHE_DIR", "/dev/null/x")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fresh / "user"))
    with pytest.warns(
        CacheWarning, match=r"cached in .*user/limber because .*: /dev/null/x"
    ) as said:
        assert lb.compile(pendulum(), "bias")(ONE, ONE).shape == (1,)
        lb.compile(pendulum(), "momentum")
    assert len(said) == 1
    assert len(generated(fresh / "user" / "limber")) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/y")
    with pytest.warns(
        CacheWarning, match=r"cannot be cached in /dev/null/x .*LIMBER_CACHE"
    ) as said:
        assert lb.compile(pendulum(), "bias")(ONE, ONE).shape == (1,)
        assert lb.compile(pendulum(), "momentum")(ONE, ONE).shape == (6,)
    assert len(said) == 1
    assert list(fresh.glob("limber-*")) == []


def test_cache_that_goes_away_is_said(fresh):
    """The folder was writable once and is no more."""
    lb.compile(pendulum(), "bias")
    shutil.rmtree(fresh / "generated")
    (fresh / "generated").write_text("")
    with pytest.warns(CacheWarning, match="cannot be cached in .*Set LIMBER_CACHE_DIR"):
        assert lb.compile(pendulum(), "momentum")(ONE, ONE).shape == (6,)


def test_a_library_that_cannot_be_loaded_is_compiled_again(fresh):
    """One that is whole, but was made for another system."""
    c_compiler.loaded(c.library(program(pendulum(), "bias"), 1, False), str)  # compiled, not loaded
    (file,) = generated(fresh)
    content = b"a library of another system"
    file.write_bytes(content + disk._digest(content))
    assert lb.compile(pendulum(), "bias")(ONE, ONE).shape == (1,)
    assert file.stat().st_size > 1000


def test_no_room_to_compile_is_said(fresh, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(fresh / "missing"))
    with pytest.raises(CompileError, match=r"could not be written or loaded: .*set TMPDIR"):
        lb.compile(pendulum(), "bias")


PROCESS = """\
import numpy as np
import limber as lb
from helpers.generated import arm, values
s = arm()
args = values(np.random.default_rng(0), s, "inverse_dynamics")
print("ready", flush=True)
input()
f = lb.compile(s, "inverse_dynamics", lanes=4)
print(f(*args).tobytes().hex(), type(f).__name__)
"""
PATHS = [str(Path(lb.__file__).parents[1]), str(Path(__file__).parents[1])]


def started(folder):
    """PROCESS on the cache in `folder`; it waits for a line."""
    places = {"LIMBER_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(PATHS)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS], env=os.environ | places, stdin=pipe, stdout=pipe, text=True
    )


def answers(processes):
    """What they print when all of them are told to go on at the same moment."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes)
    return outputs


SPOILT = {
    "empty": lambda whole: b"",
    "text": lambda whole: b"not a library",
    "a few bytes": lambda whole: whole[:4],
    "half": lambda whole: whole[: len(whole) // 2],
    "zeros": lambda whole: bytes(len(whole)),
    "zeros from the middle on": lambda whole: whole[: len(whole) // 2].ljust(len(whole), b"\0"),
    "one bit": lambda whole: whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:],
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_spoilt_library_is_compiled_again(fresh, spoil, capfd):
    c_compiler.loaded(c.library(program(arm(), "qdot"), 1, False), str)  # compiled, not loaded
    (file,) = generated(fresh)
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    f = lb.compile(arm(), "qdot")
    q, v = values(np.random.default_rng(0), arm(), "qdot")
    assert np.array_equal(f(q, v), v)
    assert generated(fresh) == [file] and file.read_bytes() == whole
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "how", ["half", *(pytest.param(how, marks=pytest.mark.slow) for how in ("empty", "zeros"))]
)
def test_spoilt_dispatcher_is_compiled_again(fresh, how):
    """In processes of their own: a module is loaded once in a process."""
    good = answers([started(fresh)])
    if "Function" not in good[0]:
        pytest.skip("no dispatcher here: Python's headers are missing")
    for file in generated(fresh):
        file.write_bytes(SPOILT[how](file.read_bytes()))
    assert answers([started(fresh)]) == good


def test_processes_that_compile_the_same_function_at_once(tmp_path):
    """Two processes start on one empty cache at the same moment: both get the same answer, and the
    cache has one library for the function and one dispatcher, no scratch."""
    share_engine(tmp_path)
    outputs = answers([started(tmp_path) for _ in range(2)])
    assert len(set(outputs)) == 1
    files = generated(tmp_path)
    assert all(x.is_file() and x.suffix == ".so" for x in files)
    assert len(files) == (2 if "Function" in outputs[0] else 1)


def test_threads_may_compile_at_once(fresh):
    """The same and different functions: the trace replaces a kernel for a while, under a lock."""
    jobs = ["step", "forward_dynamics", "step", "qdot", "forward_dynamics", "integrate"]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda name: lb.compile(arm(), name), jobs))
    assert made[0].source == made[2].source and made[1].source == made[4].source
    assert len(generated(fresh)) == 4
    args = values(np.random.default_rng(1), arm(), "step")
    assert np.array_equal(made[0](*args)[0], made[2](*args)[0])


def test_without_python_headers_the_answers_are_the_same(fresh, monkeypatch):
    """The dispatcher does not compile: calls go through ctypes."""
    monkeypatch.undo()
    monkeypatch.setenv("LIMBER_CACHE_DIR", str(fresh))
    dispatcher._found.clear()
    with monkeypatch.context() as m:
        m.setattr("sysconfig.get_path", lambda name: "/nowhere")
        m.setattr(np, "get_include", lambda: "/nowhere")
        slow = lb.compile(arm(), "forward_dynamics")
    dispatcher._found.clear()
    fast = lb.compile(arm(), "forward_dynamics")
    assert isinstance(slow, call.Caller)
    args = values(np.random.default_rng(2), arm(), "forward_dynamics")
    assert np.array_equal(slow(*args), fast(*args))
    assert slow.source == fast.source and slow.__doc__ == fast.__doc__
