"""How generated functions are called: by name, and what comes back."""

import numpy as np
import pytest

import limber as lb
from limber.native import c_compiler


@pytest.fixture(scope="module")
def s():
    return lb.models.canadarm(modes=0).build()


def test_arguments_by_name(s):
    f = lb.compile(s, "forward_dynamics")
    q, v, tau = np.random.default_rng(0).standard_normal((3, s.nv))
    assert (f(q, tau=tau, v=v) == f(q, v, tau)).all()
    assert (f(tau=tau, q=q, v=v, out=np.empty(s.nv)) == f(q, v, tau)).all()
    with pytest.raises(lb.LimberError, match=r"no keyword argument 'torque'.*takes q, v, tau"):
        f(q, v, torque=tau)
    with pytest.raises(lb.LimberError, match="takes 3 arguments"):
        f(q, tau=tau)


def test_a_list_of_derivatives_gives_a_tuple(s):
    q, v, tau = np.random.default_rng(0).standard_normal((3, s.nv))
    one = lb.compile(s, "forward_dynamics", wrt="v")(q, v, tau)
    (listed,) = lb.compile(s, "forward_dynamics", wrt=("v",))(q, v, tau)
    assert (one == listed).all() and one.shape == (s.nv, s.nv)


def test_names_and_places_that_do_not_work(s, tmp_path):
    for name in ("1 bad", 3):
        with pytest.raises(lb.LimberError, match="name="):
            lb.compile(s, "bias", target="casadi", name=name)
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "x", "nul\0"):
        with pytest.raises(lb.LimberError, match="cannot be written"):
            lb.compile(s, "bias", target="c-package", path=path)
    with pytest.raises(
        lb.LimberError, match=r"parameter 'zz\.mass': body='zz' is not in the system"
    ):
        lb.compile(s, "bias", parameters=["zz.mass"])


def test_a_compiler_of_the_environment_that_is_no_command(monkeypatch):
    c_compiler.compiler.cache_clear()
    try:
        for command, message in (
            ("/nonexistent/cc", "specifies '/nonexistent/cc'"),
            ('gcc "', "not a command"),
        ):
            monkeypatch.setenv("CC", command)
            with pytest.raises(lb.LimberError, match=message):
                c_compiler.compiler()
    finally:
        c_compiler.compiler.cache_clear()
