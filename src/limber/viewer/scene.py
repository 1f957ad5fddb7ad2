"""A result in the form that the animation in a report needs: the structure of bodies, and the motion of joints and
modes.

The page itself moves the bodies (`scene.js`): the frame of a body follows from that of its parent, the deformed node
that carries it, the motion of its joint and, with `inboard`, its own deformed node. The deformation can therefore be
scaled in the browser, exactly as `geometry` does it, and a frame needs only 7 numbers, and one per mode, for each body.

Second-order shapes are sent to the page as further columns of the shapes, which it multiplies by products of modal
coordinates: 1/2 eta^T second eta = sum_k column_k (1/2 eta^T product_k eta). A few columns represent all of them.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from limber.assembly.closures import End
from limber.assembly.pack import Attachment
from limber.assembly.system import System
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.drawing.closures import DrawnEnds, closure_nodes, ever_drawn
from limber.drawing.colours import colour
from limber.drawing.geometry import carried, joint_axis, joint_motion, result_geometry
from limber.drawing.skeleton import Skeleton, skeletons
from limber.simulation.result import Result

#: At most so many frames, and so many bytes of motion before encoding; results beyond are thinned.
FRAMES, BYTES = 2000, 1_500_000
#: At most about so many triangles of the surface of a body.
TRIANGLES = 20_000
#: What is left of second-order shapes is less than this part of them.
NEGLIGIBLE = 1e-7


def scene(result: Result, trail: tuple[str, int], scale: float = 1.0) -> dict[str, Any]:
    """The content of the animation, in a form suitable for JSON."""
    s = result.system
    ends, active = ever_drawn(result)
    rows = frames(len(result), 4 * sum(7 + b.modes for b in s.bodies.values()))
    q, t = result.q[rows], result.t[rows]
    drawn = skeletons(s, TRIANGLES, ends)
    motion = np.concatenate([_motion(s, item, q) for item in s.attachments.values()], axis=1)
    low, high = result_geometry(result.rows(rows), scale).bounds()
    names = list(s.layout)
    return {
        "name": s.name,
        "scale": scale,
        "times": encoded(t - t[0]),
        "start": float(t[0]),
        "motion": encoded(motion),
        "bodies": [_body(s, item, drawn, ends) for item in s.attachments.values()],
        "closures": _closures(ends, active, result),
        "trail": {"body": names.index(trail[0]), "point": _nearest(s, drawn[trail[0]], trail[1])},
        "events": [{"t": e.t, "name": e.name} for e in result.events if t[0] <= e.t <= t[-1]],
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _closures(
    ends: DrawnEnds, active: dict[str, np.ndarray], result: Result
) -> list[dict[str, Any]]:
    """The ends of closures, and the times after the start between which each is active; null is the end of the run."""
    names, start = list(result.system.layout), float(result.t[0])
    changes = [change.t - start for change in result.changes]
    spans = list(zip([0.0, *changes], [*changes, None]))
    return [
        {
            "name": name,
            "ends": [_end(end, names) for end in both],
            "active": [span for span, on in zip(spans, active[name]) if on],
        }
        for name, both in ends.items()
    ]


def _end(end: End, names: list[str]) -> dict[str, Any]:
    """An end of a cut joint: the number of its body (-1 for the world), its node, and its offset from there."""
    body = -1 if end.body == "world" else names.index(end.body)
    return {"body": body, "node": end.node, "offset": end.offset.tolist()}


def _nearest(s: System, drawn: Skeleton, node: int) -> int:
    """The point of a body nearest to a node, or to its frame for node -1."""
    at = s.bodies[drawn.name].node_set.position[node] if node >= 0 else np.zeros(3)
    return int(np.linalg.norm(drawn.position - at, axis=1).argmin())


def frames(rows: int, size: int) -> np.ndarray:
    """The rows of a result to keep, of `size` bytes each: all, or evenly spaced ones including the last."""
    most = int(np.clip(BYTES // max(size, 1), 50, FRAMES))
    if rows <= most:
        return np.arange(rows)
    return np.unique(np.linspace(0, rows - 1, most).round().astype(np.int64))


def _motion(s: System, item: Attachment, q: Array) -> Array:
    """(n, 7 + m): quaternion and position of the joint's outboard frame in its inboard one, and eta."""
    from scipy.spatial.transform import Rotation  # noqa: PLC0415 (slow to import)

    R, shift = joint_motion(s, item, q)
    turn = Rotation.from_matrix(R).as_quat()[:, [3, 0, 1, 2]]
    # neighbours on one side of the sphere, so that the page can interpolate
    signs = np.sign(np.einsum("ni,ni->n", turn[1:], turn[:-1]))
    turn[1:] *= np.cumprod(np.where(signs == 0.0, 1.0, signs))[:, None]
    return np.hstack([turn, shift, q[:, s.layout[item.name].q_modes]])


def _body(
    s: System, item: Attachment, every: dict[str, Skeleton], closures: DrawnEnds
) -> dict[str, Any]:
    drawn = every[item.name]
    names = list(s.layout)
    axis = joint_axis(item.joint)
    nodes = _joint_nodes(s, item.name, closures)
    products = products_of(s, item.name, drawn, nodes)
    return {
        "name": item.name,
        "colour": colour(names.index(item.name)),
        "flexible": drawn.flexible,
        "modes": item.body.modes,
        "parent": -1 if item.to == "world" else names.index(item.to),
        "at": None if item.to == "world" else item.at,
        "offset": item.offset.tolist(),
        "rotation": item.rotation.ravel().tolist(),
        "inboard": item.inboard,
        "nodes": _nodes(s, item.name, products, nodes),
        "joint": "fixed" if item.joint.dofs == 0 else "sphere" if axis is None else "axis",
        "axis": None if axis is None else axis.tolist(),
        "carried": item.to != "world" and carried(item.joint),
        "bare": item.to != "world" and carried(item.joint) and not every[item.to].solid,
        "points": encoded(drawn.position),
        "shapes": encoded(with_products(drawn.shapes, products)),
        "products": encoded(products),
        "edges": drawn.edges.ravel().tolist(),
        "triangles": whole_numbers(drawn.triangles),
        "creases": whole_numbers(drawn.creases),
        "paints": [[count, name or colour(names.index(item.name))] for count, name in drawn.paints],
        "centre": drawn.centre,
        "marks": drawn.marks.tolist(),
        "ribs": {
            "points": drawn.ribs.points.tolist(),
            "half": encoded(drawn.ribs.half),
            "rotation": encoded(drawn.rotation[drawn.ribs.points]),
        },
        "mass": item.body.mass,
    }


def _nodes(s: System, body: str, products: Array, numbers: list[int]) -> dict[int, dict[str, Any]]:
    """The nodes of a body that carry joints and closures, in the form that the page uses: position, and the shapes row
    by row.
    """
    nodes = s.bodies[body].node_set.shapes
    columns = with_products(nodes, products)
    return {
        j: {
            "position": nodes.position[j].tolist(),
            "translation": columns[j].ravel().tolist(),
            "rotation": nodes.rotation[j].ravel().tolist(),
        }
        for j in numbers
    }


def _joint_nodes(s: System, body: str, closures: DrawnEnds) -> list[int]:
    """The numbers of the nodes of a body that carry its own joint, those of its children or closures."""
    found = {item.at for item in s.attachments.values() if item.to == body}
    found |= {s.attachments[body].inboard, *closure_nodes(closures, body)}
    return sorted(j for j in found if j is not None)


def products_of(s: System, body: str, drawn: Skeleton, nodes: list[int]) -> Array:
    """(k, m, m), symmetric and orthonormal: a basis for the second-order shapes of what is drawn and of nodes with
    joints, to the precision of the page.
    """
    joints = s.bodies[body].node_set.shapes[nodes]
    parts = [x.second for x in (drawn.shapes, joints) if x.second is not None]
    m = drawn.shapes.modes
    if not parts:
        return np.zeros((0, m, m))
    every = np.concatenate([B.reshape(-1, m * m) for B in parts])
    value, vector = np.linalg.eigh(every.T @ every)
    kept = vector[:, value > NEGLIGIBLE**2 * value.max(initial=0.0)]
    return kept.T.reshape(kept.shape[1], m, m)


def with_products(shapes: Shapes, products: Array) -> Array:
    """(n, 3, m + k): the shapes of points for the modal coordinates and their products."""
    if shapes.second is None:
        extra = np.zeros((len(shapes), 3, len(products)))
    else:
        extra = np.einsum("nirs,krs->nik", shapes.second, products)
    return np.concatenate([shapes.translation, extra], axis=2)


def encoded(values: Array) -> str:
    """Numbers as base64 of little-endian float32, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


def whole_numbers(values: np.ndarray) -> str:
    """Numbers of points as base64 of little-endian uint32, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<u4").tobytes()).decode("ascii")


def decoded(text: str) -> Array:
    """The numbers of `encoded`."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(float)
