"""Transfer functions of uniform beams against their closed forms in circular and hyperbolic functions.

For a beam of length L, mass per length m and stiffness EI, b^4 = m omega^2 / EI.
"""

import numpy as np
import pytest

import limber as lb

LENGTH, MASS, EI = 1.5, 2.0, 30.0
MODES = 24
#: rad/s: nearly at rest, between resonances, and within a per mille of them, which are at 7.4124, 46.453 and 130.07
OMEGA = np.array([0.5, 3.0, 7.4124 * 1.001, 20.0, 46.453 * 0.999, 70.0, 130.07 * 1.001, 150.0])
HUB = 0.7


def clamped(modes):
    body = lb.beam(LENGTH, MASS, EI=(1e6, EI), modes={"bending": modes})
    a = lb.Assembly("clamped")
    a.attach("beam", body, lb.Fixed())
    return lb.linearize(
        a.build(),
        inputs=[("force", "beam", "tip", "y"), ("moment", "beam", "tip", "z")],
        outputs=[("position", "beam", "tip", "y"), ("rotation", "beam", "tip", "z")],
    )


def clamped_exactly(omega):
    """[[w / F, w / M], [slope / F, slope / M]] at the tip, (k, 2, 2)."""
    b = (MASS / LENGTH * omega**2 / EI) ** 0.25
    x = b * LENGTH
    s, c, sh, ch = np.sin(x), np.cos(x), np.sinh(x), np.cosh(x)
    cross = s * sh / (EI * b**2)
    found = [[(s * ch - c * sh) / (EI * b**3), cross], [cross, (s * ch + c * sh) / (EI * b)]]
    return np.moveaxis(np.array(found) / (1.0 + c * ch), -1, 0)


def errors(model):
    """Of the tip displacement by a force, relative, at each frequency."""
    exact = clamped_exactly(OMEGA)[:, 0, 0]
    return np.abs(model.response(OMEGA)[:, 0, 0] - exact) / np.abs(exact)


def test_clamped_beam_near_and_between_resonances():
    full = clamped(MODES)
    exact = clamped_exactly(OMEGA)
    off = np.abs(full.response(OMEGA) - exact) / np.abs(exact)
    assert off[:, 0, 0].max() < 5e-4  # displacement by force
    assert off[:, 0, 1].max() < 2e-2  # displacement by moment, rotation by force
    assert off[:, 1, 1].max() < 0.3  # rotation by moment: the tail of its modes falls as 1 / N only
    assert off[[2, 4, 6]].max() < 3e-3  # near resonances, where one mode has nearly all


def test_the_error_falls_with_the_cube_of_the_number_of_modes():
    few, many = errors(clamped(6)), errors(clamped(12))
    order = np.log2(few / many)
    assert (order > 2.6).all() and (order < 3.6).all()


def test_static_correction_makes_the_error_fall_with_the_seventh_power():
    full = clamped(MODES)
    exact = clamped_exactly(OMEGA)[:, 0, 0]
    # what the modes beyond the model add at rest
    rest = LENGTH**3 / (3.0 * EI) - full.response(0.0)[0, 0].real
    found = {}
    for count in (4, 6):  # all of them in the plane of the force: the other one is far stiffer
        for static in (False, True):
            G = full.modal(count, static=static).response(OMEGA)[:, 0, 0]
            found[count, static] = np.abs(G + static * rest - exact) / np.abs(exact)
    assert (found[6, True] < 0.03 * found[6, False]).all()
    order = np.log(found[4, True] / found[6, True]) / np.log(6 / 4)
    assert (order > 6.4).all() and (order < 7.6).all()


@pytest.mark.parametrize("modes, tolerance", [(6, 4e-3), (20, 1.5e-4)])
def test_pinned_beam_with_a_hub(modes, tolerance):
    """Torque on the hub to its angle: 1 / (Z - J omega^2), Z the dynamic stiffness of the beam at its root."""
    a = lb.Assembly("hub")
    a.attach("hub", lb.RigidBody(1.0, inertia=np.diag([HUB, HUB, HUB])), lb.Revolute("z"))
    body = lb.beam(LENGTH, MASS, EI=(1e6, EI), modes={"bending": modes})
    a.attach("beam", body, lb.Fixed(), to="hub")
    model = lb.linearize(a.build(), inputs=["hub"], outputs=["hub"])
    omega = np.array([0.5, 5.0, 9.0, 30.0, 60.0, 90.0])
    exact = []
    for w in omega:
        b = (MASS / LENGTH * w**2 / EI) ** 0.25
        x = b * LENGTH
        s, c, sh, ch = np.sin(x), np.cos(x), np.sinh(x), np.cosh(x)
        # w = A (cos - cosh) + B sin + C sinh: unit slope at the root, no moment and no shear force at the tip
        A, _, _ = np.linalg.solve(
            [[0.0, b, b], [-c - ch, -s, sh], [s - sh, -c, ch]], [1.0, 0.0, 0.0]
        )
        exact.append(1.0 / (2.0 * EI * b**2 * A - HUB * w**2))
    found = model.response(omega)[:, 0, 0]
    assert np.abs(found / exact - 1.0).max() < tolerance
