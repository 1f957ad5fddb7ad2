"""`limber tune`: PD or LQR gains for the joints of a model, with poles and margins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from limber.cli.exits import guarded
from limber.cli.output import Debug, Json, escape, note, print_json, show, table
from limber.cli.positive import positive
from limber.cli.subject import File, read
from limber.cli.write import refuse_inputs
from limber.whole import replacing


def tune(
    file: File,
    method: Annotated[str, typer.Option(metavar="METHOD", help="pd or lqr.")] = "pd",
    bandwidth: Annotated[
        float | None,
        positive("Natural frequency of a rigid joint under control; chosen automatically by default.", "HZ"),
    ] = None,
    sample_time: Annotated[
        float, typer.Option(metavar="S", help="Sample time of the controller; that of a controller in FILE is not used.")
    ] = 0.001,
    delay: Annotated[
        float, typer.Option(metavar="S", help="Delay from a sample to the effect of its command.")
    ] = 0.0,
    body: Annotated[
        list[str] | None,
        typer.Option(metavar="BODY", help="A body whose joint has a motor; may be repeated. By default all joints have."),
    ] = None,
    damping: Annotated[
        float, typer.Option(metavar="RATIO", help="Damping ratio of a rigid joint under pd.")
    ] = 0.8,
    out: Annotated[
        Path | None, typer.Option(metavar="NPZ", help="Write the gains K and the joint names (.npz).")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Find gains with which joints hold their position, and print them with the poles and margins of the loop.

    The joints are held in the initial configuration of a scenario, or in the neutral configuration of a model; for a
    closed system, in the configuration that satisfies the closures, found from the neutral one. Without --bandwidth,
    the command tries several bandwidths and takes the largest that leaves every joint a disk margin of 0.4 in the
    sampled loop.

      limber tune examples/controlled_arm.yaml
      limber tune examples/controlled_arm.yaml --method lqr --sample-time 0.002 --delay 0.001
      limber tune examples/canadarm.yaml --method lqr --bandwidth 0.05 --json
    """
    with guarded(json, debug):
        subject = read(file)
        if out is not None:
            refuse_inputs([("--out", out)], subject.inputs)
        from limber.control.poles import grouped  # noqa: PLC0415 (SciPy)
        from limber.control.tune import tune as tuned_gains  # noqa: PLC0415

        q = None if subject.scenario is None else subject.q0
        found = tuned_gains(
            subject.system, method, q=q, sample_time=sample_time, delay=delay, damping=damping, bodies=body or None,
            bandwidth=None if bandwidth is None else 2.0 * np.pi * bandwidth,
        )  # fmt: skip
        closed = found.margins.loop.model()
        every = grouped(closed.rates)
        poles = [pole for pole in every if not _at_once(pole, sample_time)]
        if out is not None:
            with replacing(out) as stream:
                np.savez(stream, K=found.K, kp=found.kp, kd=found.kd, joints=np.array(found.joints))
        hertz = found.bandwidth / (2.0 * np.pi)
        if json:
            print_json(
                {
                    "file": file,
                    "name": subject.name,
                    "method": method,
                    "bandwidth": hertz,
                    "sample_time": sample_time,
                    "delay": delay,
                    "joints": found.joints,
                    "kp": found.kp,
                    "kd": found.kd,
                    "K": found.K,
                    "stable": found.margins.stable,
                    "disk_margin": found.margins.disk,
                    "frequencies": [pole.omega / (2.0 * np.pi) for pole in poles],
                    "damping": [pole.damping for pole in poles],
                    "unmoved": found.unmoved,
                    "note": found.note,
                    "out": out,
                }
            )
            return
        gains = table(
            f"{method.upper()} for {escape(subject.name)}, bandwidth {hertz:.4g} Hz", "joint", "kp", "kd", left=1
        )  # fmt: skip
        for joint, kp, kd in zip(found.joints, found.kp, found.kd):
            gains.add_row(escape(joint), f"{kp:.6g}", f"{kd:.6g}")
        show(gains)
        if method == "lqr":
            typer.echo(
                "kp and kd are the gains of each joint on its own coordinate. K in --json and --out has all gains: on "
                "the modes, on the other joints, and on commands in transit. In a closed system, LQR feeds back only as "
                "many coordinates as there are degrees of freedom."
            )
        made = table("Poles of the closed loop", "poles", "frequency Hz", "damping", left=0)
        for pole in poles:
            damped = "-" if pole.at_rest else f"{pole.damping:.5f}"
            made.add_row(str(pole.count), f"{pole.omega / (2.0 * np.pi):.4f}", damped)
        show(made)
        if len(poles) < len(every):
            typer.echo(
                "Poles that decay within one sample, such as those of a delay, are left out."
            )
        if found.note:
            note(found.note)
        if found.unmoved:
            typer.echo(f"Not moved by the joints here, and left out: {', '.join(found.unmoved)}.")
        typer.echo(str(found.margins))
        if out is not None:
            typer.echo(f"wrote {out}")


def _at_once(pole: Any, sample_time: float) -> bool:
    """Whether a pole is above half the sampling frequency and decays by half within a sample, like those of a delay at
    z = 0.
    """
    fast = pole.omega * sample_time > np.pi
    return fast and pole.value.real * sample_time < -np.log(2.0)
