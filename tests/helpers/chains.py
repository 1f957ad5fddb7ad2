"""Chains of bodies with nothing special about their numbers, for operation counts."""

import numpy as np

import limber as lb


def dense_chain(bodies, m, fidelity):
    """Bodies of m free-free modes on revolute joints, with nothing special about their numbers."""
    rng = np.random.default_rng(0)
    n = m + 8
    body = lb.FlexibleBody.from_nodes(
        rng.uniform(0.5, 1, n),
        rng.uniform(0, 1, (n, 3)),
        0.3 * rng.standard_normal((n, 3, m)),
        0.3 * rng.standard_normal((n, 3, m)),
        np.diag(rng.uniform(10, 100, m)),
    )
    a = lb.Assembly("chain")
    to, at = "world", None
    for i in range(bodies):
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        turn *= np.linalg.det(turn)
        joint = lb.Revolute([0, 0, 1])
        a.attach(str(i), body, joint, to, at, rng.uniform(0, 0.3, 3), turn, inboard=0)
        to, at = str(i), 1
    return a.build(fidelity=fidelity)
