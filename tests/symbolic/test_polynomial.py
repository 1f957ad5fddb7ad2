"""The ring under the symbolic equations: exponents that do not fit are refused, never carried over."""

import pytest
import sympy as sp

import limber as lb
from limber.symbolic.angles import merged
from limber.symbolic.exact import polynomial
from limber.symbolic.polynomial import LARGEST_EXPONENT, Ring

x, y, z = sp.symbols("x y z")


def ring_of(*symbols, **options):
    ring = Ring(**options)
    return ring, [ring.generator(s, s) for s in symbols]


def test_the_largest_exponent_is_exact():
    _, (a, b) = ring_of(x, y)
    assert (a**LARGEST_EXPONENT * b).expand() == x**LARGEST_EXPONENT * y


@pytest.mark.parametrize("power", [LARGEST_EXPONENT + 1, 2 * LARGEST_EXPONENT, 5000])
def test_a_power_by_repeated_products_is_refused(power):
    """An exponent that ran over once turned x^256 into y, the generator of the next field."""
    _, (a, _) = ring_of(x, y)
    with pytest.raises(
        lb.LimberError, match=rf"the power x\*\*{LARGEST_EXPONENT + 1}, but exponents"
    ):
        a**power


def test_a_product_of_two_large_powers_is_refused():
    _, (a, b) = ring_of(x, y)
    with pytest.raises(lb.LimberError, match=rf"y\*\*{2 * LARGEST_EXPONENT}"):
        (a * b**LARGEST_EXPONENT) * (a + b**LARGEST_EXPONENT)


def test_a_square_put_in_cannot_run_over():
    """sqrt(x)^2 brings x into a monomial that has the largest power of it already."""
    ring, (a,) = ring_of(x)
    root = polynomial(ring, sp.sqrt(x + y))
    with pytest.raises(lb.LimberError, match=r"the power x\*\*"):
        (a**LARGEST_EXPONENT * root) * root


def test_cosines_that_squares_of_sines_leave_cannot_run_over():
    ring, (a,) = ring_of(x)
    s, c = ring.sine_and_cosine(a)
    with pytest.raises(lb.LimberError, match=r"cos\(x\)\*\*"):
        (c ** (LARGEST_EXPONENT - 1) * s) * s


def test_the_degree_in_small_generators_cannot_run_over():
    """The degree of x y is that of both, which fills the lowest field first."""
    ring = Ring()
    a, b = (ring.generator(s, s, small=True) for s in (x, y))
    half = LARGEST_EXPONENT // 2 + 1
    with pytest.raises(lb.LimberError, match=f"a product of {2 * half} modal coordinates"):
        a**half * b**half


def test_truncated_degrees_are_dropped_not_refused():
    ring = Ring(limit=3)
    a = ring.generator(x, x, small=True)
    assert a**3
    assert not (a ** (LARGEST_EXPONENT + 5))


def test_sums_of_angles_in_printing_cannot_run_over():
    """cos a cos b - sin a sin b adds one to the exponent of cos(a + b)."""
    ring, (a, b) = ring_of(x, y)
    (sa, ca), (sb, cb) = ring.sine_and_cosine(a), ring.sine_and_cosine(b)
    _, total = ring.sine_and_cosine(a + b)
    full = total**LARGEST_EXPONENT
    with pytest.raises(lb.LimberError, match=r"cos\(x \+ y\)\*\*"):
        merged(ring, (full * (ca * cb - sa * sb)).terms)


def test_equations_refuse_a_high_power_of_a_parameter():
    """An exponent that ran over once made m^44 of m^300."""
    m = sp.Symbol("m")
    a = lb.Assembly("pendulum", gravity=(0, -9.81, 0))
    a.attach("rod", lb.RigidBody(m**300, com=(1, 0, 0)), lb.Revolute([0, 0, 1]))
    with pytest.raises(
        lb.LimberError, match=r"the power m\*\*.*Represent a high power by a separate symbol"
    ):
        lb.symbolic.equations(a)
    b = lb.Assembly("pendulum", gravity=(0, -9.81, 0))
    b.attach("rod", lb.RigidBody(m**200, com=(1, 0, 0)), lb.Revolute([0, 0, 1]))
    assert lb.symbolic.equations(b).M[0, 0] == m**200
