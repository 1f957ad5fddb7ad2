"""FMUs in tests: simulated by FMPy in another process, and as instances in this one."""

import json
import subprocess
import sys
from contextlib import contextmanager

import numpy as np

#: A process that knows FMPy and not Limber.
SIMULATED = """
import json, sys
import fmpy, numpy as np
path, options = json.loads(sys.stdin.read())
signals = options.pop("signals")
if signals:
    names = list(signals)
    columns = [signals[name] for name in names]
    kinds = np.dtype([(name, float) for name in names])
    options["input"] = np.array(list(zip(*columns)), dtype=kinds)
result = fmpy.simulate_fmu(path, record_events=False, **options)
assert "limber" not in sys.modules
print(json.dumps({name: result[name].tolist() for name in result.dtype.names}))
"""


def simulated(path, kind, t_end, every, tolerance=1e-7, signals=None, **options):
    """The outputs of an FMU by name, from FMPy in another process.

    kind : "ModelExchange" or "CoSimulation".
    signals : {"time": [...], name: [...]}, the inputs over time.
    """
    given = {
        "fmi_type": kind, "stop_time": t_end, "output_interval": every, "relative_tolerance": tolerance, "signals": signals,
        **options,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        input=json.dumps([str(path), given]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(x for x in sys.path if "site-packages" in x)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: np.array(x) for name, x in json.loads(done.stdout.splitlines()[-1]).items()}


class Instance:
    """An instance of an FMU with its variables by name; `said` has what it logged."""

    def __init__(self, path, folder, kind, name="one"):
        from fmpy import extract, fmi2, fmi3, read_model_description

        self.description = read_model_description(str(path))
        self.version = int(self.description.fmiVersion[0])
        self.references = {x.name: x.valueReference for x in self.description.modelVariables}
        module, prefix = (fmi2, "FMU2") if self.version == 2 else (fmi3, "FMU3")
        make = getattr(module, prefix + ("Model" if kind == "ModelExchange" else "Slave"))
        part = getattr(self.description, kind[0].lower() + kind[1:])
        if not (folder / "sources").is_dir():
            extract(str(path), unzipdir=str(folder))
        self.fmu = make(
            guid=self.description.guid,
            unzipDirectory=str(folder),
            modelIdentifier=part.modelIdentifier,
            instanceName=name,
        )
        self.said = []
        if self.version == 2:
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda *told: self._hear(told[-1]))
            self.fmu.instantiate(callbacks=callbacks)
        else:
            self.fmu.instantiate(logMessage=lambda *told: self._hear(told[-1]))

    def _hear(self, message):
        self.said.append(message.decode())

    def numbers(self, names):
        """Value references of variables."""
        return [self.references[name] for name in names]

    def get(self, *names):
        read = self.fmu.getReal if self.version == 2 else self.fmu.getFloat64
        return np.array(read(self.numbers(names)))

    def set(self, values):
        write = self.fmu.setReal if self.version == 2 else self.fmu.setFloat64
        write(self.numbers(values), list(values.values()))

    def start(self, tolerance=None, **values):
        """Through initialization, with these start values."""
        if self.version == 2:
            self.fmu.setupExperiment(tolerance=tolerance)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(tolerance=tolerance)
        self.set(values)
        self.fmu.exitInitializationMode()
        return self

    def step(self, time, length):
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=length)

    def directional(self, unknowns, knowns, seed):
        unknowns, knowns = self.numbers(unknowns), self.numbers(knowns)
        return np.array(self.fmu.getDirectionalDerivative(unknowns, knowns, list(seed)))

    def adjoint(self, unknowns, knowns, seed):
        unknowns, knowns = self.numbers(unknowns), self.numbers(knowns)
        return np.array(self.fmu.getAdjointDerivative(unknowns, knowns, list(seed), len(knowns)))

    def named(self, causality):
        """The names of all variables of a causality."""
        return [x.name for x in self.description.modelVariables if x.causality == causality]


@contextmanager
def instance(path, folder, kind="CoSimulation", name="one"):
    """An instance that is freed at the end."""
    made = Instance(path, folder, kind, name)
    try:
        yield made
    finally:
        made.fmu.freeInstance()
