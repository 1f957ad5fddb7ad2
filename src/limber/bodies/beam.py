"""Beams: straight, clamped at the root, deforming in a few of their own modes.

The shapes of uniform slender beams are exact (`beam_shapes`); those of beams with shear deformation, rotary inertia or
taper come from a spectral Ritz method (`beam_ritz`).  Integrals over the continuous shapes use Gauss quadrature.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies import beam_ritz, beam_shapes
from limber.bodies.beam_constants import AlongBeam, check_range, from_numbers, from_section
from limber.bodies.beam_ritz import gauss_points
from limber.bodies.beam_shapes import BeamShape
from limber.bodies.flexible import MOST_MODES, FlexibleBody, modal_matrices
from limber.bodies.foreshortening import foreshortening
from limber.bodies.nodes import Nodes
from limber.bodies.placed import placed
from limber.bodies.points import MassPoints
from limber.bodies.recipe import BeamRecipe, Damping, damping_matrix
from limber.bodies.section import Section, check_sections
from limber.bodies.shapes import Shapes
from limber.checks import Array, array, inertias, integer, number, repeated, shown, whole
from limber.errors import ArgumentTypeError, ArgumentValueError

#: The kinds of modes, in their order; those of y and z alternate.
KINDS = ("y", "z", "torsion", "stretch")


def beam(
    length: float,
    mass: float | None = None,
    *,
    EI: float | ArrayLike | None = None,
    GJ: float | None = None,
    EA: float | None = None,
    GA: float | ArrayLike | None = None,
    section: Section | tuple[Section, Section] | None = None,
    modes: int | dict[str, int] = 2,
    elements: int = 10,
    damping: float | ArrayLike = 0.0,
    polar_inertia: float | None = None,
    rotary_inertia: float | ArrayLike | None = None,
    load: tuple[float, float | ArrayLike] | None = None,
    geometric_stiffening: bool = False,
    offset: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
) -> FlexibleBody:
    """A beam along x, clamped at x = 0, that deforms in its own mode shapes.

    Parameters
    ----------
    length, mass : of the whole beam, m and kg.
    EI : bending stiffness, N m^2: one number or (EIy, EIz).  EIz is for bending in the x-y plane, EIy in x-z.
    GJ, EA : torsional stiffness, N m^2, and axial stiffness, N; required for torsion and stretch modes.
    GA : shear stiffness including the shear coefficient, N: one number or (GAy, GAz), for forces along y and z.  None:
        no shear deformation.
    section : a `Section`, or two of them, at the root and the tip of a tapered beam.  Between two sections of the same
        form and material the dimensions vary linearly, otherwise all constants do.  It replaces mass, EI, GJ, EA, GA
        and the inertias.
    modes : number of modes per bending plane, or {"bending": 2, "torsion": 1, "stretch": 1}.  {"y": 2} gives bending
        modes in the x-y plane only, {"z": 1} in x-z.
    elements : number of parts into which the nodes "root", "node1", ..., "tip" divide the beam.
    damping : damping ratio of all modes, or one ratio per mode in their order, or the damping matrix (m, m).  Ratios
        are those of the beam clamped at its root, with its `load`.  If the load serves only the shapes and nothing so
        heavy is attached, they are far too large; `lb.modal_damping` sets ratios of the system instead.
    polar_inertia : moment of inertia of the whole beam about its axis, kg m^2.  None: the sum of `rotary_inertia` if
        that is given; otherwise that of a homogeneous section, mass (EIy + EIz) / EA, if there are torsion modes, and
        zero if not.
    rotary_inertia : moments of inertia of the sections of the whole beam about their own axes, rho I length, kg m^2:
        one number or (about y, about z).  None: zero.
    load : (mass, inertia) at the tip, an end condition of the shapes.  The inertia is one number for all axes or, as
        for a body, (Ixx, Iyy, Izz) or a diagonal 3 x 3 matrix.  The load affects only the shapes: attach the load
        itself as a body.  Without it the shapes have no force or moment at the tip: with a heavy body there,
        frequencies converge only like 1/modes, and those of beams welded in a row remain too high, however many beams
        there are.  With a load far above `mass` and `mass length^2`, two modes in each plane, one of torsion and one of
        stretch are equivalent to a cubic finite element.
    geometric_stiffening : whether bending draws the points of the beam towards its root (`foreshortening`), so that the
        beam stiffens under spin or tension and buckles under compression.  All products of these second-order shapes
        are kept, so the equations are those of a Lagrangian at any deflection.  The deflections themselves should stay
        below about a tenth of the length; for larger ones, divide the beam into several bodies.
    offset, rotation : placement of the beam in the body frame: its root is at `offset`, m, and its axes are the columns
        of the 3 x 3 matrix `rotation`.  None: no offset, no rotation.

    The modes are ordered y1, z1, y2, z2, ..., torsion, stretch (only those requested).  They are mass-normalized, so
    the stiffness is diag(omega^2); with `load`, the normalization includes the load.
    """
    length = number("length", length, above=0.0)
    counts = check_modes(modes)
    given = {
        "mass": mass, "EI": EI, "GJ": GJ, "EA": EA, "GA": GA,
        "polar_inertia": polar_inertia, "rotary_inertia": rotary_inertia,
    }  # fmt: skip
    along = _along(length, section, given, counts)
    if not isinstance(geometric_stiffening, bool):
        raise ArgumentTypeError(
            f"geometric_stiffening must be True or False, got {shown(geometric_stiffening)}."
        )
    elements = whole("elements", elements, 1)
    tip = tip_load(load)
    check_range(length, along, tip)

    shapes = mode_shapes(length, along, tip, counts)
    most = max(counts.values())
    x, share = gauss_points(length, most)
    points = mass_points(along, shapes, x, share, geometric_stiffening)
    nodes = beam_nodes(length, shapes, elements, geometric_stiffening)

    omega = np.array([s.omega for s in shapes])
    given_damping, D = _damping(damping, omega)
    recipe = BeamRecipe(
        length=length,
        **_recipe_numbers(along, section, given),
        modes=tuple(counts.items()),
        elements=int(elements),
        damping=given_damping,
        load=None if load is None else _load_recipe(tip),
        geometric_stiffening=geometric_stiffening,
    )
    matrices = modal_matrices(np.diag(omega**2), D, omega.size)
    body = FlexibleBody(points, nodes, *matrices, recipe)
    return body if offset is None and rotation is None else placed(body, offset, rotation)


def mass_points(
    along: AlongBeam, shapes: list[BeamShape], x: Array, share: Array, geometric_stiffening: bool
) -> MassPoints:
    """The mass of a beam at stations x, each with its share of the length."""
    inertia = np.zeros((x.size, 3, 3))
    for i, name in enumerate(("polar", "rotary_y", "rotary_z")):
        inertia[:, i, i] = along(name, x) * share
    points = axis_points(shapes, x, along.length, geometric_stiffening)
    return MassPoints(along("mass", x) * share, points, inertia, np.zeros((x.size, 3)))


def beam_nodes(
    length: float, shapes: list[BeamShape], elements: int, geometric_stiffening: bool
) -> Nodes:
    """The nodes that divide a beam into elements."""
    at = np.linspace(0.0, length, elements + 1)
    names = ("root", *(f"node{i}" for i in range(1, elements)), "tip")
    return Nodes(names, axis_points(shapes, at, length, geometric_stiffening))


def mode_shapes(
    length: float, along: AlongBeam, tip: Array, counts: dict[str, int]
) -> list[BeamShape]:
    """The modes in their order; `tip` is (mass, Ixx, Iyy, Izz) of a load there."""
    root = along.root
    loads = {"y": (tip[0], tip[3]), "z": (tip[0], tip[2])}
    held = {"torsion": tip[1], "stretch": tip[0]}
    stiffness = {"y": "EIz", "z": "EIy", "torsion": "GJ", "stretch": "EA"}
    inertia = {"torsion": "polar", "stretch": "mass"}
    found: dict[str, list[BeamShape]] = {}
    for kind, count in counts.items():
        x, _ = gauss_points(length, count)
        if kind in loads and along.uniform and root.slender:
            EI = getattr(root, stiffness[kind])
            found[kind] = beam_shapes.bending_shapes(
                kind, length, root.mass, EI, loads[kind], count
            )
        elif kind in loads:
            found[kind] = beam_ritz.bending_shapes(
                kind,
                length,
                along("mass", x),
                along(stiffness[kind], x),
                along(f"GA{kind}", x) if getattr(root, f"GA{kind}") else None,
                along("rotary_z" if kind == "y" else "rotary_y", x),
                loads[kind],
                count,
            )
        elif along.uniform:
            numbers = getattr(root, inertia[kind]), getattr(root, stiffness[kind])
            found[kind] = beam_shapes.bar_shapes(kind, length, *numbers, held[kind], count)
        else:
            numbers = along(inertia[kind], x), along(stiffness[kind], x)
            found[kind] = beam_ritz.bar_shapes(kind, length, *numbers, held[kind], count)
    order = {kind: iter(shapes) for kind, shapes in found.items()}
    return [next(order[kind]) for kind in mode_kinds(counts)]


def mode_kinds(counts: dict[str, int]) -> list[str]:
    """The kinds of the modes in their order."""
    bending = [
        kind for i in range(max(counts["y"], counts["z"])) for kind in "yz" if i < counts[kind]
    ]
    return bending + ["torsion"] * counts["torsion"] + ["stretch"] * counts["stretch"]


def along_of(recipe: BeamRecipe) -> AlongBeam:
    """The constants of the beam with this recipe before factors changed them."""
    names = "mass", "EI", "GJ", "EA", "GA", "polar_inertia", "rotary_inertia"
    given = {name: getattr(recipe, name) for name in names}
    return _along(recipe.length, recipe.section, given, dict(recipe.modes))


def shapes_of(recipe: BeamRecipe) -> tuple[AlongBeam, list[BeamShape]]:
    """The constants of the beam with this recipe, and its modes; factors do not change their shapes and frequencies."""
    along, shapes = _nominal(replace(recipe, factors=(), damping=(), offset=None, rotation=None))
    return (along.scaled(dict(recipe.factors)) if recipe.factors else along), list(shapes)


@lru_cache(maxsize=64)
def _nominal(recipe: BeamRecipe) -> tuple[AlongBeam, tuple[BeamShape, ...]]:
    along = along_of(recipe)
    modes = mode_shapes(recipe.length, along, tip_load(recipe.load), dict(recipe.modes))
    return along, tuple(modes)


def axis_points(
    shapes: list[BeamShape], x: Array, length: float, geometric_stiffening: bool
) -> Shapes:
    """The points of the axis of a beam at stations x."""
    translation = np.zeros((x.size, 3, len(shapes)))
    rotation = np.zeros((x.size, 3, len(shapes)))
    for r, shape in enumerate(shapes):
        if shape.kind == "y":
            translation[:, 1, r], rotation[:, 2, r] = shape.value(x), shape.turn(x)
        elif shape.kind == "z":
            translation[:, 2, r], rotation[:, 1, r] = shape.value(x), -shape.turn(x)
        elif shape.kind == "torsion":
            rotation[:, 0, r] = shape.value(x)
        else:
            translation[:, 0, r] = shape.value(x)
    counts = [sum(shape.kind == kind for shape in shapes) for kind in KINDS]
    second = None
    if geometric_stiffening and (counts[0] or counts[1]):
        second = foreshortening(length, partial(_slopes, shapes), x, 48 + 16 * max(counts))
    return Shapes(np.outer(x, [1.0, 0, 0]), translation, rotation, second)


def _slopes(shapes: list[BeamShape], x: Array) -> Array:
    """(n, 2, m): the slopes of the bending modes in y and in z at x; zero for other modes."""
    slopes = np.zeros((x.size, 2, len(shapes)))
    for r, shape in enumerate(shapes):
        if shape.kind in ("y", "z"):
            slopes[:, "yz".index(shape.kind), r] = shape.slope(x)
    return slopes


def check_modes(modes) -> dict[str, int]:
    """`modes` of a beam as {"y": ..., "z": ..., "torsion": ..., "stretch": ...}."""
    if integer(modes) is not None:
        modes = {"bending": modes}
    kinds = ("bending", *KINDS)
    if not isinstance(modes, dict):
        raise ArgumentTypeError(
            f"modes must be a number of modes per bending plane or a dict with keys {kinds}, got {modes!r}."
        )
    counts = dict.fromkeys(KINDS, 0)
    for kind, count in modes.items():
        if kind not in kinds:
            raise ArgumentValueError(
                f"modes has the unknown key {kind!r}; expected {', '.join(kinds)}."
            )
        number_of = whole(f"modes[{kind!r}]", count, 0)
        if number_of > MOST_MODES:
            raise ArgumentValueError(
                f"modes[{kind!r}] must be {MOST_MODES} at most, got {number_of}: a few modes describe a beam; higher "
                "mode shapes are too short for beam theory and need too much memory."
            )
        counts |= dict.fromkeys("yz", number_of) if kind == "bending" else {kind: number_of}
    if "bending" in modes and {"y", "z"} & set(modes):
        raise ArgumentValueError(
            f"modes has 'bending', which means both planes, together with 'y' or 'z': {modes}. Give only 'y' and "
            "'z'."
        )
    if sum(counts.values()) == 0:
        raise ArgumentValueError("modes requests no modes; use a RigidBody instead.")
    return counts


def _along(length: float, section, given: dict, counts: dict[str, int]) -> AlongBeam:
    """The constants of the beam, from its section or from numbers."""
    if section is None:
        return from_numbers(length, **given, counts=counts)
    for name, value in given.items():
        if value is not None:
            raise ArgumentTypeError(
                f"{name} and section are both given, but the section already defines {name}. Give only one of them."
            )
    return from_section(length, section)


def _recipe_numbers(along: AlongBeam, section, given: dict) -> dict:
    """The arguments that describe the section, as plain numbers."""
    if section is not None:
        ends = check_sections("section", section)
        return dict.fromkeys(given) | {"section": ends[0] if along.uniform else ends}
    at = along.root
    return {
        "mass": at.mass,
        "EI": (at.EIy, at.EIz) if at.EIy else None,
        "GJ": at.GJ or None,
        "EA": at.EA or None,
        "GA": (at.GAy, at.GAz) if at.GAy else None,
        "polar_inertia": None if given["polar_inertia"] is None else at.polar,
        "rotary_inertia": None if given["rotary_inertia"] is None else (at.rotary_y, at.rotary_z),
        "section": None,
    }


def tip_load(load) -> Array:
    """(mass, Ixx, Iyy, Izz) of the load at the tip."""
    if load is None:
        return np.zeros(4)
    if isinstance(load, tuple | list) and len(load) == 2 and np.ndim(load[0]) < np.ndim(load[1]):
        mass, matrix = number("load[0]", load[0]), inertias("load[1]", load[1], ())
        moments = np.diag(matrix)
        if np.any(matrix != np.diag(moments)):
            raise ArgumentValueError(
                f"load[1] has products of inertia, {shown(load[1])}: they would couple the bending planes. Give the "
                "diagonal (Ixx, Iyy, Izz)."
            )
    else:
        mass, inertia = array("load", load, (2,), "(mass, inertia) at the tip.")
        moments = np.full(3, inertia)
    tip = np.array([mass, *moments])
    if tip.min() < 0.0:
        raise ArgumentValueError(f"load must not be negative, got {shown(load)}.")
    return tip


def _load_recipe(tip: Array) -> tuple:
    """The load in its shortest form."""
    mass, *moments = tip.tolist()
    return (mass, moments[0]) if len(set(moments)) == 1 else (mass, tuple(moments))


def _damping(damping, omega: Array) -> tuple[Damping, Array]:
    """The damping in the form of the recipe, and the damping matrix."""
    m = omega.size
    if _in_rows(damping):
        D = array(
            "damping", damping, (m, m), "Give one damping ratio, one per mode, or a damping matrix."
        )
        return damping_matrix(D), D
    ratios = repeated("damping", damping, m, "Give one damping ratio, or one per mode.")
    if ratios.min() < 0.0:
        raise ArgumentValueError(f"damping ratios must not be negative, got {shown(damping)}.")
    return tuple(ratios.tolist()), np.diag(2.0 * ratios * omega)


def _in_rows(x) -> bool:
    """Whether x is a matrix, or meant as one."""
    if isinstance(x, np.ndarray):
        return x.ndim == 2
    nested = isinstance(x, list | tuple) and bool(x)
    return nested and all(isinstance(row, list | tuple | np.ndarray) for row in x)
