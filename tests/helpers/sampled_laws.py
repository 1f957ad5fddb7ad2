"""Sampled control laws from the equations at the head of `limber.simulation.laws`, one state at a time."""

import numpy as np

import limber as lb


class Law:
    """A `LawTable` for one of its cases."""

    def __init__(self, table, case):
        self.table, self.law = table, table.law
        self.start = table.start[case]
        self.z = np.zeros(len(self.law.memory.A))

    def torques(self, sample, q, v):
        """The torques of the law at a sample; its memory is renewed."""
        table, law, memory = self.table, self.law, self.law.memory
        K = table.gains[sample if len(table.gains) > 1 else 0]
        e = table.reference[sample] + self.start - np.concatenate([q[law.q], v[law.v]])
        asked = table.feed[sample] + K @ e + memory.C @ self.z
        if law.model is not None:
            m = law.model
            n = m.system.nv
            if m.accelerates:
                rates = np.zeros(n)
                rates[m.torques] = asked
                asked = lb.inverse_dynamics(m.system, q[m.q], v[m.v], rates)[m.torques]
            else:
                held = lb.inverse_dynamics(m.system, q[m.q], np.zeros(n), np.zeros(n))
                asked = asked + held[m.torques]
        torque = np.clip(asked, -law.limit, law.limit)
        change = memory.B @ e
        for j, i in enumerate(memory.integrals):
            if i >= 0 and (asked - torque)[i] * change[j] > 0.0:
                change[j] = 0.0
        self.z = memory.A @ self.z + change
        return torque
