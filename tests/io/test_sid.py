"""Standard Input Data: what is written is what sums over nodes give, and what is read is what was written."""

import warnings

import numpy as np
import pytest

import limber as lb
from limber.io.sid import OE_ORDER
from limber.io.sid_blocks import parse_blocks, read_taylor
from limber.io.sources import Source

TOLERANCE = 1e-12
FIELDS = ("S0", "J0", "E0", "F0", "J1", "G0", "F1", "J2", "S2", "G1")


def tilde(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def point_body(rng, n=7, m=3, **more):
    """n point masses in m random modes."""
    shapes = rng.normal(size=(n, 3, m))
    G0 = rng.normal(size=(m, m))
    return lb.FlexibleBody.from_nodes(
        rng.uniform(0.5, 2.0, n), rng.normal(size=(n, 3)), shapes, rng.normal(size=(n, 3, m)), G0 @ G0.T,
        damping=np.diag(rng.uniform(0.1, 1.0, m)), names=[str(10 + j) for j in range(n)], **more,
    )  # fmt: skip


def blocks_of(path, m):
    part = parse_blocks(Source(path))
    modal = part.blocks[0]
    sizes = {
        "mdCM": (3, 1), "J": (6, 1), "Ct": (m, 3), "Cr": (m, 3), "Me": (m, m), "Gr": (3, 3 * m), "Ge": (m, 3 * m),
        "Oe": (m, 6), "Ke": (m, m), "De": (m, m),
    }  # fmt: skip
    return {
        name: read_taylor(Source(path), modal.all(name)[0], *size, m)
        for name, size in sizes.items()
    }


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * max(1.0, np.abs(want).max()))


def test_written_data_are_sums_over_nodes(tmp_path):
    """Every matrix by its definition, summed over point masses."""
    rng = np.random.default_rng(1)
    body = point_body(rng)
    lb.io.write_sid(body, tmp_path / "body.sid")
    m = body.modes
    d = blocks_of(tmp_path / "body.sid", m)
    mass, r, phi = body.points.mass, body.points.position, body.points.translation
    n = range(len(mass))

    close(d["mdCM"].M0[:, 0], sum(mass[j] * r[j] for j in n))
    close(d["mdCM"].M1[:, :, 0], sum(mass[j] * phi[j] for j in n))
    J = lambda x: sum(-mass[j] * tilde(x[j]) @ tilde(x[j]) for j in n)  # noqa: E731
    six = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    close(d["J"].M0[:, 0], [J(r)[i] for i in six])
    for k in range(m):
        J1 = sum(
            -mass[j] * (tilde(r[j]) @ tilde(phi[j, :, k]) + tilde(phi[j, :, k]) @ tilde(r[j]))
            for j in n
        )
        close(d["J"].M1[:, k, 0], [J1[i] for i in six])
        close(d["Ct"].M0[k], sum(mass[j] * phi[j, :, k] for j in n))
        close(d["Cr"].M0[k], sum(mass[j] * np.cross(r[j], phi[j, :, k]) for j in n))
        close(
            d["Gr"].M0[:, 3 * k : 3 * k + 3],
            sum(-2 * mass[j] * tilde(r[j]) @ tilde(phi[j, :, k]) for j in n),
        )
        close(
            d["Ge"].M0[:, 3 * k : 3 * k + 3],
            sum(-2 * mass[j] * phi[j].T @ tilde(phi[j, :, k]) for j in n),
        )
        for s in range(m):
            close(d["Cr"].M1[k, s], sum(mass[j] * np.cross(phi[j, :, s], phi[j, :, k]) for j in n))
            close(d["Me"].M0[k, s], sum(mass[j] * phi[j, :, k] @ phi[j, :, s] for j in n))
            close(
                d["Gr"].M1[:, s, 3 * k : 3 * k + 3],
                sum(-2 * mass[j] * tilde(phi[j, :, s]) @ tilde(phi[j, :, k]) for j in n),
            )
    for w in rng.normal(size=(4, 3)):
        products = np.array([w[i] * w[j] for i, j in OE_ORDER])
        spin = tilde(w) @ tilde(w)
        close(d["Oe"].M0 @ products, sum(mass[j] * phi[j].T @ spin @ r[j] for j in n))
        close(d["Oe"].M1 @ products, sum(mass[j] * phi[j].T @ spin @ phi[j] for j in n))
    close(d["Ke"].M0, body.stiffness)
    close(d["De"].M0, body.damping)
    assert d["Ct"].M1 is None


def test_round_trip_is_exact(tmp_path):
    rng = np.random.default_rng(2)
    n = 4
    bodies = [
        point_body(rng),
        point_body(rng, n, inertia=rng.uniform(30.0, 31.0, (n, 3)), com=rng.normal(size=(n, 3))),
        lb.beam(2.0, 3.0, EI=(50, 60), GJ=9, EA=1e5, modes={"bending": 2, "torsion": 1, "stretch": 1}, damping=0.01),
    ]  # fmt: skip
    for body in bodies:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lb.ModelWarning)  # nodes get numbers
            lb.io.write_sid(body, tmp_path / "body.sid")
            again = lb.io.read_sid(tmp_path / "body.sid")
        assert again.mass == body.mass
        for name in FIELDS:
            assert np.array_equal(getattr(again.integrals, name), getattr(body.integrals, name)), (
                name
            )
        assert np.array_equal(again.stiffness, body.stiffness)
        assert np.array_equal(again.damping, body.damping)
        for name in ("position", "translation", "rotation"):
            assert np.array_equal(getattr(again.nodes, name), getattr(body.nodes, name)), name


def system(body):
    a = lb.Assembly("two", gravity=(0.3, -9.0, 1.0))
    a.attach("first", body, lb.Revolute("y"))
    tip = lb.RigidBody(2.0, inertia=(1, 1, 1))
    a.attach("second", tip, lb.Revolute("z"), to="first", at=len(body.nodes.names) - 1)
    return a.build()


def test_a_body_that_is_read_moves_as_the_written_one(tmp_path):
    rng = np.random.default_rng(3)
    body = point_body(rng)
    lb.io.write_sid(body, tmp_path / "body.sid")
    s, again = system(body), system(lb.io.read_sid(tmp_path / "body.sid"))
    q, v, tau = (0.1 * rng.normal(size=s.nv) for _ in range(3))
    want = lb.forward_dynamics(s, q, v, tau)
    np.testing.assert_allclose(lb.forward_dynamics(again, q, v, tau), want, rtol=1e-12, atol=1e-12)


def test_second_order_shapes_are_written_to_first_order(tmp_path):
    """The truncated form differs from the whole one by the square of the deformation."""
    rng = np.random.default_rng(4)
    n, m = 5, 2
    B = rng.normal(size=(n, 3, m, m))
    body = point_body(rng, n, m, second=B + B.transpose(0, 1, 3, 2))
    with pytest.warns(lb.ModelWarning, match="products of two second-order shapes"):
        lb.io.write_sid(body, tmp_path / "body.sid")
    again = lb.io.read_sid(tmp_path / "body.sid")
    assert np.array_equal(again.nodes.shapes.second, body.nodes.shapes.second)
    s, t = system(body), system(again)
    v, direction = rng.normal(size=(2, s.nv))
    v[:m] = 0.0  # without rates of deformation the forces are right to first order
    errors = [np.abs(lb.bias(s, q, v) - lb.bias(t, q, v)).max() for q in _small(direction, m)]
    assert errors[1] < errors[0] / 50


def _small(direction, m):
    """Configurations of which only the deformation gets smaller."""
    for size in (1e-3, 1e-4):
        q = direction.copy()
        q[:m] *= size
        yield q


#: One mode of one node of 2 kg at (1, 0, 0), as other programs write it.
FOREIGN = """\
    1   1    :No. nodes, No. modes: written elsewhere
 part
      new modal                                 =
           refmod
                mass                            = 2.00000000000D+00
                nelastq                         =     1
                ielastq (   1)                  = Eigen Mode    7 :        1.592 Hz
           end refmod
           frame
                new node                        =      77
                     rframe                     =    body ref
                     origin
                          order                 =    1
                          nrow                  =    3
                          ncol                  =    1
                          nq                    =    1
                          nqn                   =    0
                          structure             =    3
                          m0( 1, 1)             = 1.00000000000D+00
                          m1( 3, 1, 1)          = 5.00000000000D-01
                     end origin
                     phi
                          order                 =    0
                          nrow                  =    3
                          ncol                  =    1
                          nq                    =    1
                          nqn                   =    0
                          structure             =    3
                          m0( 3, 1)             = 5.00000000000D-01
                     end phi
                     psi
                          order                 =    0
                          nrow                  =    3
                          ncol                  =    1
                          nq                    =    1
                          nqn                   =    0
                          structure             =    0
                     end psi
                     AP
                          order                 =    1
                          nrow                  =    3
                          ncol                  =    3
                          nq                    =    1
                          nqn                   =    0
                          structure             =    4
                     end AP
                end node
           end frame
"""
REST = {
    "mdCM": (3, 1, 3, {"m0( 1, 1)": 2.0, "m1( 3, 1, 1)": 1.0}),
    "J": (6, 1, 3, {"m0( 2, 1)": 2.0, "m0( 3, 1)": 2.0, "m1( 5, 1, 1)": -1.0}),
    "Ct": (1, 3, 3, {"m0( 1, 3)": 1.0}),
    "Cr": (1, 3, 3, {"m0( 1, 2)": -1.0, "m1( 1, 1, 1)": 0.0}),
    "Me": (1, 1, 1, {"m0( 1, 1)": 0.5}),
    "Oe": (1, 6, 3, {"m0( 1, 6)": 1.0, "m1( 1, 1, 1)": -0.5, "m1( 1, 1, 2)": -0.5}),
    "ksigma": (1, 1, 0, {}),
    "Ke": (1, 1, 1, {"m0( 1, 1)": 50.0}),
    "De": (1, 1, 0, {}),
}


def foreign(change=lambda text: text, **blocks):
    lines = []
    for name, (rows, columns, structure, numbers) in {**REST, **blocks}.items():
        order = int(any(key.startswith("m1") for key in numbers))
        sizes = {
            "order": order,
            "nrow": rows,
            "ncol": columns,
            "nq": 1,
            "nqn": 0,
            "structure": structure,
        }
        lines += [f"           {name}", *(f"   {key} = {value}" for key, value in sizes.items())]
        lines += [f"   {key} = {value:.11E}".replace("E", "D") for key, value in numbers.items()]
        lines += [f"           end {name}"]
    return change(FOREIGN + "\n".join(lines) + "\n      end modal\n end part\n")


def test_a_file_of_another_program(tmp_path):
    (tmp_path / "a.SID_FEM").write_text(foreign())
    body = lb.io.read_sid(tmp_path / "a.SID_FEM")
    want = lb.FlexibleBody.from_nodes(
        [2.0], [[1, 0, 0]], [[[0], [0], [0.5]]], None, [[50.0]], names=["77"]
    )
    assert body.nodes.names == ("77",)
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(body.integrals, name), getattr(want.integrals, name), atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: t[: t.index("end mdCM")], r"block 'mdcm' of line \d+ does not end: the file is cut off"),
        (lambda t: t.replace("end part", ""), "does not end"),
        (lambda t: "nothing of the kind", "not a Standard Input Data"),
        (lambda t: "\0\1\2" + t, "not a text file"),
        (lambda t: t.replace("2.00000000000D+00\n", "-2.0\n", 1), r":5: mass must be greater than 0, got -2"),
        (lambda t: t.replace("nelastq                         =     1", "nelastq = 999999"), "up to 500"),
        (lambda t: t.replace("nelastq                         =     1", "nelastq = 2"), "must be 2, got 1"),
        (lambda t: t.replace("m0( 1, 1)             = 1.00", "m0( 9, 1) = 1.00"), "outside its 3 x 1 numbers"),
        (lambda t: t.replace("m0( 1, 1)             = 1.00", "m0( 1, 1) = x1.00"), "must be a finite number, got 'x1.00"),
        (lambda t: t.replace("m0( 1, 1)             = 1.00", "m0( 1, 1) = 1D999\n m0( 1, 1) = 1.00"), "finite"),
        (lambda t: t.replace("end psi", "end phi"), "ends a block that is not open; open is 'psi'"),
        (lambda t: t.replace("new node                        =      77", "new node = "), "needs its number"),
    ],
)  # fmt: skip
def test_bad_files_are_refused(tmp_path, change, match):
    path = tmp_path / "bad.sid"
    path.write_text(foreign(change))
    with pytest.raises(lb.FileError, match=match) as caught:
        lb.io.read_sid(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("blocks", "match"),
    [
        ({"Ke": (1, 1, 1, {"m0( 1, 1)": -50.0})}, "stiffness .*negative"),
        (
            {"Me": (1, 1, 1, {"m0( 1, 1)": 0.1})},
            "not the mass matrix of a body: scaled, it has the eigenvalue -",
        ),
        ({"Me": (1, 1, 0, {"m0( 1, 1)": 0.5})}, r"structure 0 \(zero\) has a number"),
        ({"Ct": (1, 2, 3, {})}, "ncol of ct must be 3, got 2"),
    ],
)
def test_impossible_bodies_are_refused(tmp_path, blocks, match):
    (tmp_path / "bad.sid").write_text(foreign(**blocks))
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_sid(tmp_path / "bad.sid")


def test_what_is_ignored_or_estimated_is_said(tmp_path):
    path = tmp_path / "a.sid"
    path.write_text(foreign(ksigma=(1, 1, 3, {"m0( 1, 1)": 4.0}), extra=(1, 1, 0, {})))
    with pytest.warns(lb.ModelWarning, match="ignored: the block extra, ksigma") as told:
        lb.io.read_sid(path)
    assert len(told) == 1
    path.write_text(foreign(Oe=(1, 6, 3, {"m0( 1, 6)": 1.0})))
    with pytest.warns(lb.ModelWarning, match="Oe has no first order: .* estimated"):
        lb.io.read_sid(path)
    path.write_text(
        foreign(Oe=(1, 6, 3, {"m0( 1, 6)": 2.0, "m1( 1, 1, 1)": -0.5, "m1( 1, 1, 2)": -0.5}))
    )
    with pytest.warns(lb.ModelWarning, match="differs from what J, Ct and Cr imply: Oe by 1 of"):
        lb.io.read_sid(path)


def test_only_flexible_bodies_are_written(tmp_path):
    with pytest.raises(lb.LimberError, match="must be a FlexibleBody or a beam"):
        lb.io.write_sid(lb.RigidBody(1.0), tmp_path / "a.sid")
    assert not list(tmp_path.iterdir())
