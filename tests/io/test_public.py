"""What the packages offer is there and documents itself."""

import inspect

import pytest

import limber as lb

PUBLIC = [(lb.io, name) for name in lb.io.__all__]
PUBLIC += [(lb.trajectories, name) for name in lb.trajectories.__all__]


@pytest.mark.parametrize("package, name", PUBLIC, ids=[name for _, name in PUBLIC])
def test_public_object_documents_itself_and_its_arguments(package, name):
    thing = getattr(package, name)
    doc = inspect.getdoc(thing)
    assert doc
    if inspect.isfunction(thing) or name in ("Cycloid", "Quintic", "Trapezoid", "Waypoints"):
        for argument in inspect.signature(thing).parameters:
            assert argument in doc, argument


def test_public_names_are_listed():
    assert set(lb.io.__all__) <= set(dir(lb.io))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lb.io.nothing


def test_singular_model_is_placed_at_its_body(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        "limber: 1\nduration: 1\nmodel:\n  bodies:\n    a: {rigid: {mass: 1}, joint: fixed}\n"
        "    b: {rigid: {mass: 1}, joint: {revolute: z}, to: a}\n"
    )
    with pytest.raises(lb.FileError, match="moves no mass") as caught:
        lb.io.load_scenario(path)
    assert (caught.value.line, caught.value.key) == (6, "model.bodies.b")
