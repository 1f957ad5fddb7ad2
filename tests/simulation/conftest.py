"""Systems that several files of tests simulate."""

import numpy as np
import pytest

import limber as lb


@pytest.fixture(scope="session")
def rotor():
    """One freedom with unit inertia, so that a torque is an acceleration."""
    a = lb.Assembly("rotor")
    a.attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute([0, 0, 1]))
    return a.build()


@pytest.fixture(scope="session")
def ball():
    """A mass that falls."""
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    a.attach("b", lb.RigidBody(1.0), lb.Prismatic([0, 0, 1]))
    return a.build()
