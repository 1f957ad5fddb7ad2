"""A small arm and studies of it, for campaigns."""

import textwrap

import numpy as np

import limber as lb

SCENARIO = """
limber: 1
name: arm
model:
  bodies:
    link:
      beam: {length: 1, mass: 2, EI: 200, modes: {y: 1}, damping: 0.01}
      joint: {revolute: z, damping: 0.1}
    load:
      rigid: {mass: 1, inertia: [0.02, 0.02, 0.02]}
      joint: fixed
      to: link
      at: tip
initial: {q: {link: 0.3}}
torque: {constant: {link: 2.0}}
duration: 0.2
output: {every: 0.02}
"""

STUDY = """
limber: 1
name: loads
scenario: arm.yaml
vary:
  load: {uniform: [0.5, 1.5], scales: [load.mass, load.inertia]}
  link.EI: {normal: [200, 20], within: [150, 250]}
sample: {monte_carlo: 12}
seed: 3
keep:
  swing: {peak: {deflection: [link, tip]}}
  angle: {final: {joint: link}}
unit: 2
"""


def arm():
    """A link with one mode and a load at its tip."""
    a = lb.Assembly("arm")
    link = lb.beam(1.0, 2.0, EI=200.0, modes={"y": 1}, damping=0.01)
    a.attach("link", link, lb.Revolute("z", damping=0.1))
    a.attach("load", lb.RigidBody(1.0, inertia=0.02 * np.eye(3)), lb.Fixed(), "link", "tip")
    return a.build()


def written(folder, study=STUDY, scenario=SCENARIO):
    """The path of a study file, with its scenario beside it."""
    (folder / "arm.yaml").write_text(scenario)
    path = folder / "study.yaml"
    path.write_text(textwrap.dedent(study))
    return path


def same(a, b):
    """Whether two campaigns have the same rows, to the bit."""
    return (
        a.status.tolist() == b.status.tolist()
        and a.messages.tolist() == b.messages.tolist()
        and list(a.quantities) == list(b.quantities)
        and all(x.tobytes() == b.quantities[name].tobytes() for name, x in a.quantities.items())
    )
