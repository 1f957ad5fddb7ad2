"""A controller under random torques."""

import numpy as np

from limber.control import LQR


class Shaken(LQR):
    """LQG with random torques of this density, held over a sample, that the filter is not told of."""

    density: float

    def start(self, t, measured):
        super().start(t, measured)
        self._rng = np.random.default_rng(11)
        self._force = None

    def command(self, t, measured):
        if self._force is not None and measured.applied is not None:
            measured.applied = measured.applied - self._force
        tau = super().command(t, measured)
        size = self.density / np.sqrt(self.sample_time)
        self._force = np.zeros_like(tau)
        self._force[self._out] = size * self._rng.standard_normal(len(self._out))
        return tau + self._force
