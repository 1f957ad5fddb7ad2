"""Cross sections of any polygon, by the finite elements of `sectionproperties`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from limber.bodies.section_formulas import Geometry
from limber.checks import array, number
from limber.errors import ArgumentValueError, MissingExtraError

if TYPE_CHECKING:
    from limber.bodies.section import Material, Section

#: Triangles of the mesh if no other number is requested.
TRIANGLES = 1000
#: A product of inertia or a distance smaller than this fraction of its natural size is an error of the mesh.
SMALL = 1e-4


def polygon_section(
    kind: type[Section],
    points: ArrayLike,
    material: Material,
    holes: Sequence[ArrayLike],
    mesh: float | None,
) -> Section:
    """A section of this class."""
    try:
        from sectionproperties.analysis import Section as Analysis  # noqa: PLC0415
        from sectionproperties.pre import Geometry as Outline  # noqa: PLC0415
        from shapely import Polygon  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "Section.polygon needs the library sectionproperties: install it with "
            "pip install limber-dynamics[sections]."
        ) from error

    corners = array("points", points, ("n", 2), "Give the corners (y, z) of the polygon in order.")
    inner = [array(f"holes[{i}]", hole, ("n", 2)) for i, hole in enumerate(holes)]
    for name, ring in [("points", corners), *((f"holes[{i}]", x) for i, x in enumerate(inner))]:
        if len(ring) < 3:
            raise ArgumentValueError(f"{name} must have at least 3 corners, got {len(ring)}.")
    outline = Polygon(corners, inner)
    if not outline.is_valid or outline.area == 0.0:
        raise ArgumentValueError(
            "points and holes must make a polygon whose edges do not cross and whose holes lie inside it. Give "
            "the corners in order along the edge."
        )
    area = outline.area / TRIANGLES if mesh is None else number("mesh", mesh, above=0.0)
    # the mesher works at unit size
    size = outline.area**0.5
    scaled = Polygon(corners / size, [hole / size for hole in inner])
    analysis = Analysis(Outline(scaled).create_mesh(mesh_sizes=[area / size**2]))
    analysis.calculate_geometric_properties()
    analysis.calculate_warping_properties()

    A = analysis.get_area()
    centre = analysis.get_c()
    Iy, Iz, Iyz = analysis.get_ic()
    shear = [x / A for x in analysis.get_as()]
    offset = [s - c for s, c in zip(analysis.get_sc(), centre)]
    if abs(Iyz) <= SMALL * (Iy * Iz) ** 0.5:
        Iyz = 0.0
    offset = [0.0 if abs(x) <= SMALL else x * size for x in offset]
    surface = tuple((y - centre[0] * size, z - centre[1] * size) for y, z in corners.tolist())
    geometry = Geometry(
        A * size**2,
        (Iy * size**4, Iz * size**4),
        analysis.get_j() * size**4,
        (shear[0], shear[1]),
        surface,
        _shear_stresses(analysis, size),
    )
    return kind.from_geometry(
        geometry, material, EIyz=material.E * Iyz * size**4, shear_centre=tuple(offset)
    )


def _shear_stresses(analysis: Any, size: float) -> tuple[float, float, float]:
    """The largest shear stress in the mesh per unit torsion, and per unit shear force along y and z."""

    def largest(load: str, field: str, per: float) -> float:
        return float(analysis.calculate_stress(**{load: 1.0}).get_stress()[0][field].max()) / per

    return (
        largest("mzz", "sig_zxy_mzz", size**3),
        largest("vx", "sig_zxy_vx", size**2),
        largest("vy", "sig_zxy_vy", size**2),
    )
