"""Every public object of limber.symbolic documents itself and names its arguments."""

import inspect

import pytest

import limber as lb

S = lb.symbolic


@pytest.mark.parametrize("name", S.__all__)
def test_public_object_has_a_docstring(name):
    public = getattr(S, name)
    assert inspect.getdoc(public)
    if inspect.isfunction(public):
        for argument in inspect.signature(public).parameters:
            assert argument in inspect.getdoc(public), argument
    else:
        for member, value in inspect.getmembers(public):
            assert member.startswith("_") or inspect.getdoc(value), member
