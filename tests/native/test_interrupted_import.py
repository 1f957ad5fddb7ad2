"""An interrupt while Numba is imported waits; the next call of the process works."""

import subprocess
import sys

SCRIPT = """
import signal, sys
import limber as lb

class Interrupt:
    done = False

    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.typing" and not Interrupt.done:
            Interrupt.done = True
            signal.raise_signal(signal.SIGINT)

def build():
    a = lb.Assembly("ball")
    a.attach("ball", lb.RigidBody(1.0), lb.Prismatic("z"))
    return lb.forward_dynamics(a.build(), [0.0], [0.0], [2.0])

assert "numba" not in sys.modules
sys.meta_path.insert(0, Interrupt())
try:
    build()
except KeyboardInterrupt:
    print("interrupted", build())
"""


def test_a_call_after_an_interrupted_import_works():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "interrupted [2.]\n", done.stderr
