"""Every public function documents itself and names its arguments."""

import inspect

import pytest

import limber as lb

PUBLIC = [name for name in lb.__all__ if callable(getattr(lb, name))]
#: arguments that every dynamics function shares and that docs/theory/notation.md defines
SHARED = {"self", "system", "q", "v", "tau", "vdot"}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_object_has_a_docstring(name):
    assert inspect.getdoc(getattr(lb, name))


@pytest.mark.parametrize("name", [n for n in PUBLIC if inspect.isfunction(getattr(lb, n))])
def test_docstring_names_every_argument(name):
    function = getattr(lb, name)
    doc = inspect.getdoc(function)
    for argument in inspect.signature(function).parameters:
        assert argument in SHARED or argument in doc or "Arguments as in" in doc, argument


def test_everything_public_is_exported():
    """Whatever the package imports without an underscore is in __all__, submodules aside."""
    names = {n for n, x in vars(lb).items() if not n.startswith("_") and not inspect.ismodule(x)}
    assert names <= set(lb.__all__)
