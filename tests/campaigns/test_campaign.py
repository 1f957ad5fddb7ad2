"""Campaigns: the same numbers as single runs, wherever they run; failures are rows."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import limber as lb
from helpers.studies import SCENARIO, STUDY, arm, same, written
from limber import interrupts

KEEP = {"angle": {"final": {"joint": "link"}}, "swing": lambda r: np.ptp(r.modal("link"))}


def test_cases_are_those_of_single_runs(tmp_path):
    study = lb.campaigns.load_study(written(tmp_path))
    done = lb.campaign(study, processes=1)
    assert done.finished.all() and study.runs.batched
    scenario = lb.io.load_scenario(tmp_path / "arm.yaml")
    for case in (0, 7):
        drawn = study.case(case)
        alone = lb.simulate(
            scenario.system,
            scenario.duration,
            parameters={
                "load.mass": drawn["load"],
                "load.inertia": 0.02 * drawn["load"] * np.eye(3),
                "link.EI": drawn["link.EI"],
            },
            **scenario.settings,
        )
        assert done.quantities["angle"][case] == alone.joint("link")[-1, 0]
        again = done.result(case)
        assert (again.q == alone.q).all() and again.system.bodies["load"].mass == drawn["load"]


def test_processes_give_the_same_numbers_to_the_bit(tmp_path):
    study = lb.campaigns.load_study(written(tmp_path))
    here, there = (lb.campaign(study, processes=n) for n in (1, 2))
    assert same(here, there)


def test_a_case_can_be_run_alone(tmp_path):
    study = lb.campaigns.load_study(written(tmp_path))
    done = lb.campaign(study)
    worst = done.worst("swing", 3)
    assert done.quantities["swing"][worst[0]] == done.quantities["swing"].max()
    (measure,) = (q.measure for q in study.quantities if q.name == "swing")
    assert measure(study.result(worst[0])) == done.quantities["swing"].max()
    assert done.command(worst[0]) == f"limber campaign {tmp_path / 'study.yaml'} --case {worst[0]}"


def test_a_system_is_varied_by_its_parameters():
    vary = {"load.mass": {"uniform": [0.5, 1.5]}, "link.EI": [150.0, 250.0]}
    done = lb.campaign(
        arm(), 0.1, vary=vary, samples=5, keep=KEEP, torque=[1.0], every=0.05, processes=1
    )
    assert done.finished.all() and set(done.values["link.EI"]) <= {150.0, 250.0}
    assert done.study.command(3) == "study.result(3)"


def test_entries_of_the_file_build_the_scenario_again(tmp_path):
    study = STUDY.replace(
        "link.EI: {normal: [200, 20], within: [150, 250]}",
        "model.bodies.link.beam.length: [1.0, 1.5]\n  duration: [0.1]",
    ).replace(
        "swing: {peak: {deflection: [link, tip]}}",
        "x: {final: {position: [link, tip]}, component: x, until: 0.001}",
    )
    study = lb.campaigns.load_study(written(tmp_path, study))
    assert not study.runs.batched
    done = lb.campaign(study, processes=2)
    assert np.allclose(
        done.quantities["x"], np.cos(0.3) * done.values["model.bodies.link.beam.length"]
    )
    assert done.result(1).t[-1] == 0.1


def test_a_model_file_beside_the_scenario_can_be_varied(tmp_path):
    lb.save(
        lb.io.load_scenario(written(tmp_path).with_name("arm.yaml")).assembly, tmp_path / "m.yaml"
    )
    (tmp_path / "case.yaml").write_text("limber: 1\nmodel: m.yaml\nduration: 0.1\n")
    vary = {"heavy": {"choice": [1.0, 3.0], "scales": ["model.bodies.load.rigid.mass"]}}
    done = lb.campaign(
        tmp_path / "case.yaml",
        vary=vary,
        method="grid",
        keep={"m": lambda r: r.system.bodies["load"].mass},
    )
    assert done.quantities["m"].tolist() == [1.0, 3.0]


def test_states_and_torques_run_as_a_batch(tmp_path):
    study = STUDY.replace(
        "link.EI: {normal: [200, 20], within: [150, 250]}",
        "initial.q.link: {uniform: [0, 1]}\n  torque.constant.link: {uniform: [-1, 1]}",
    )
    study = lb.campaigns.load_study(written(tmp_path, study))
    assert study.runs.batched
    done = lb.campaign(study, processes=1)
    r = done.result(5)
    assert r.q[0, 1] == study.case(5)["initial.q.link"]
    assert r.tau[0, 1] == study.case(5)["torque.constant.link"]
    assert done.quantities["angle"][5] == r.joint("link")[-1, 0]


def test_noise_comes_from_the_seed_of_the_case(tmp_path):
    controlled = SCENARIO.replace(
        "torque: {constant: {link: 2.0}}",
        "controller: {pd: {kp: 60, kd: 25, sample_time: 0.01}, sensors: [{encoder: {rate: 100, noise: 1.0e-3}}], seed: 1}",
    )
    study = STUDY.replace(
        "  load: {uniform: [0.5, 1.5], scales: [load.mass, load.inertia]}\n", ""
    ).replace("link.EI: {normal: [200, 20], within: [150, 250]}", "link.EI: {choice: [200]}")
    study = lb.campaigns.load_study(written(tmp_path, study, controlled), samples=4)
    assert not study.runs.batched
    done, again = lb.campaign(study, processes=2), lb.campaign(study, processes=1)
    assert same(done, again) and len(set(done.quantities["angle"])) == 4


def test_a_failure_is_a_row_with_its_message(tmp_path):
    study = STUDY.replace("link.EI: {normal: [200, 20], within: [150, 250]}", "link.mass: [2, -1]")
    done = lb.campaign(written(tmp_path, study), processes=1)
    bad = done.values["link.mass"] < 0
    assert 0 < bad.sum() < 12 and (done.status[bad] == "failed").all() and done.finished[~bad].all()
    assert all("mass" in why for why in done.failures.values())
    assert np.isnan(done.quantities["angle"][bad]).all()
    assert done.statistics["angle"]["cases"] == (~bad).sum() and "failed" in repr(done)
    with pytest.raises(lb.SimulationError, match="mass"):
        done.result(int(np.flatnonzero(bad)[0]))


def test_functions_take_the_variables_by_name():
    def area(width, height, seed):
        if width < 0.2:
            raise ValueError("too thin")
        noise = np.random.default_rng(seed).normal()
        return {"area": width * height, "noise": noise, "sides": [width, height]}

    vary = {"width": {"uniform": [0, 1]}, "height": {"uniform": [1, 2]}}
    done = lb.campaign(area, vary=vary, samples=40, seed=1, processes=2)
    fine = done.values["width"] >= 0.2
    assert (done.finished == fine).all() and "ValueError: too thin" in done.failures.values()
    assert (done.quantities["area"] == done.values["width"] * done.values["height"])[fine].all()
    assert done.quantities["sides"].shape == (40, 2) and same(
        done, lb.campaign(area, vary=vary, samples=40, seed=1, processes=1)
    )
    assert eval(done.command(int(np.flatnonzero(fine)[0])), {"area": area})["area"] > 0


def test_a_function_may_return_a_result_or_a_number():
    s = arm()

    def run(angle):
        return lb.simulate(s, 0.05, q0=[0.0, angle])

    done = lb.campaign(run, vary={"angle": [0.1, 0.2]}, method="grid", keep=KEEP, processes=1)
    assert np.allclose(done.quantities["angle"], [0.1, 0.2])
    done = lb.campaign(lambda x: x**2, vary={"x": [2, 3]}, method="listed", processes=1)
    assert done.quantities["value"].tolist() == [4.0, 9.0]


def test_what_a_function_returns_must_fit_keep():
    s = arm()

    def run(angle):
        return lb.simulate(s, 0.05, q0=[0.0, angle])

    options = {"vary": {"angle": [0.1, 0.2]}, "method": "grid", "processes": 1}
    kept = lb.campaign(run, **options)  # nothing would be kept
    assert list(kept.failures) == [0, 1]
    assert "the function returned a Result, but keep does not say" in kept.messages[0]
    own = lb.campaign(lambda angle: {"x": angle}, keep=KEEP, **options)  # keep would not count
    assert list(own.failures) == [0, 1]
    assert "keep needs a Result" in own.messages[0]


def test_shapes_that_differ_are_failures_whichever_process_is_faster():
    done = lb.campaign(
        lambda n: {"x": np.zeros(int(n))},
        vary={"n": [2, 3, 2, 2]},
        method="listed",
        unit=1,
        processes=2,
    )
    assert done.status.tolist() == ["finished", "failed", "finished", "finished"]
    assert "shape (3,)" in done.failures[1]


def test_histories_are_kept_if_asked_for(tmp_path):
    study = written(tmp_path, STUDY + "histories: true\n")
    data = lb.campaign(study, processes=1).dataset()
    assert data["q"].shape == (12, 11, 2) and data["t"].dims == ("case", "time")
    assert float(data["q"][3, -1, 1]) == float(data["angle"][3])


@pytest.mark.parametrize("t0", [0.0, 3.0])
def test_histories_of_cases_that_stop_end_in_nan(t0):
    stop = lb.Event(lambda t, q, v: q[1] - 0.05, terminal=True, name="there")
    done = lb.campaign(
        arm(), t0 + 0.5, vary={"load.mass": [1.0, 50.0]}, method="grid", keep=KEEP, histories=True, torque=[5.0],
        t0=t0, every=0.05, events=stop, processes=1,
    )  # fmt: skip
    assert done.status.tolist() == ["stopped", "finished"]
    q = done.histories["q"]
    assert q.shape == (2, 11, 2) and np.isnan(q[0, -1]).all() and np.isfinite(q[1]).all()


def test_a_process_that_is_killed_takes_nobody_along(tmp_path):
    def dies(x, folder=str(tmp_path)):
        marker = os.path.join(folder, "once")
        if x == 3 or (x == 6 and not os.path.exists(marker)):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    done = lb.campaign(dies, vary={"x": list(range(12))}, method="listed", unit=2, processes=2)
    assert list(done.failures) == [3] and "killed" in done.failures[3]
    assert done.quantities["value"][6] == 6.0 and done.finished.sum() == 11


def test_the_first_case_may_end_its_process(tmp_path):
    def dies(x):
        if x in (0, 5):
            os._exit(3)
        return x

    given = {"vary": {"x": list(range(6))}, "method": "listed", "unit": 1, "processes": 2}
    done = lb.campaign(dies, **given)
    assert list(done.failures) == [0, 5] and done.finished.sum() == 4
    only = lb.campaign(dies, **given | {"vary": {"x": [0]}})
    assert list(only.failures) == [0]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_quantity_that_ends_the_program_is_a_failed_case(processes):
    def leaves(result):
        if result.system.parameters["link.EI"].value > 210.0:
            sys.exit("no")
        return 1.0

    for torque in ([1.0], lambda t, q, v: np.array([0.0, 1.0])):  # as a batch, and case by case
        done = lb.campaign(
            arm(), 0.1, torque=torque, vary={"link.EI": [190.0, 200.0, 220.0]}, method="grid", unit=1,
            every=0.05, keep={"one": leaves}, processes=processes,
        )  # fmt: skip
        assert done.failures == {2: "SystemExit: no"} and done.finished.sum() == 2


def test_the_dataset_has_variables_as_coordinates(tmp_path):
    data = lb.campaign(written(tmp_path), processes=1).dataset()
    assert set(data.data_vars) == {"swing", "angle"}
    assert {"load", "link.EI", "seed", "status", "message"} <= set(data.coords)
    assert data.where(data["load"] > 1.0, drop=True).sizes["case"] < 12


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("link.EI:", "link.IE:", "link.EI"),
        ("link.EI:", "torqe.constant:", "torque"),
        ("link.EI:", "torque.constant.lnk.a:", "lnk"),
        ("scales: [load.mass, load.inertia]", "scales: [load.mass, link.EI]", "more than one"),
        ("scales: [load.mass, load.inertia]", "scales: [atol]", "does not contain"),
        ("uniform: [0.5, 1.5]", "uniform: [1.5, 0.5]", "low must be less"),
        ("monte_carlo: 12", "monte_carlo: 0", "sample.monte_carlo"),
        ("monte_carlo: 12", "sobol: 12", "power of two"),
        ("joint: link}", "joint: lnk}", "lnk"),
        ("unit: 2", "units: 2", "Did you mean 'unit'"),
        ("scenario: arm.yaml", "scenario: leg.yaml", "leg.yaml"),
        ("scenario: arm.yaml", "model: arm.yaml", "not a study"),
    ],
)
def test_what_is_wrong_with_a_study_is_told_with_its_place(tmp_path, old, new, words):
    path = written(tmp_path, STUDY.replace(old, new, 1))
    with pytest.raises(lb.FileError, match=words) as told:
        lb.campaigns.load_study(path)
    assert told.value.line is not None


def test_arguments_that_do_not_go_together_are_refused(tmp_path):
    path = written(tmp_path)
    for words, call in (
        ("which defines it", lambda: lb.campaign(path, vary={"x": [1]})),
        ("keep is empty", lambda: lb.campaign(arm(), 1.0, vary={"link.EI": [1]}, method="grid")),
        ("needs t_end", lambda: lb.campaign(arm(), vary={"link.EI": [1]}, method="grid", keep=KEEP)),
        ("does not accept them", lambda: lb.campaign(lambda x: x, vary={"y": [1]}, method="grid")),
        ("vary is empty", lambda: lb.campaign(lambda: 1, vary={}, method="grid")),
        ("varies is not an argument", lambda: lb.campaign(arm(), 1.0, varies={"link.EI": [1]}, keep=KEEP)),
        ("but got every", lambda: lb.campaign(lambda x: x, vary={"x": [1]}, method="grid", every=0.1)),
        ("vary= and store=", lambda: lb.campaign(arm(), 1.0, vary={}, save="x")),
        ("entry of a scenario file", lambda: lb.campaign(arm(), 1.0, vary={"rtol": [1]}, method="grid", keep=KEEP)),
        ("campaign takes a study", lambda: lb.campaign(3, vary={"x": [1]}, method="grid", keep=KEEP)),
    ):  # fmt: skip
        with pytest.raises(lb.LimberError, match=words):
            call()


def test_the_page_has_everything_and_loads_nothing(tmp_path):
    done = lb.campaign(written(tmp_path), processes=1)
    text = done.report(tmp_path / "page.html").read_text()
    for words in (
        "loads",
        "--case",
        "Statistics",
        "Rank correlations",
        "scatter matrix",
        "link.EI",
    ):
        assert words in text
    assert "http://" not in text.replace("http://www.w3.org", "") and "<script" not in text


def test_sobol_indices_of_ishigami():
    def ishigami(a, b, c):
        return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)

    u = {"uniform": [-np.pi, np.pi]}
    done = lb.campaign(
        ishigami, vary={"a": u, "b": u, "c": u}, samples=2048, method="saltelli", processes=1
    )
    found = done.sensitivity("value")
    exact = {"first": [0.3139, 0.4424, 0.0], "total": [0.5576, 0.4424, 0.2437]}
    for key, values in exact.items():
        assert (found.low[key] < values).all() and (values < found.high[key]).all()
        assert np.abs(found.values[key] - values).max() < 0.05
    assert "Sobol indices of 'value' (2048 base points)" in repr(found)


MOTION = """
limber: 1
model:
  bodies:
    upper:
      rigid: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1], nodes: {tip: [1, 0, 0]}}
      joint: {revolute: z}
    lower:
      rigid: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1]}
      joint: {revolute: z, damping: 0.1}
      to: upper
      at: tip
initial: {q: {upper: 0.2}}
motion: {upper: {cycloid: {distance: 0.5, duration: 0.2}}}
duration: 0.2
output: {every: 0.1}
"""


def test_prescribed_motions_begin_where_each_case_starts(tmp_path):
    path = tmp_path / "motion.yaml"
    path.write_text(MOTION)
    keep = {"upper": {"final": {"joint": "upper"}}, "lower": {"final": {"joint": "lower"}}}
    done = lb.campaign(
        path, vary={"initial.q.upper": [0.0, 0.2, 0.6]}, method="grid", keep=keep, processes=1
    )
    assert np.allclose(done.quantities["upper"], [0.5, 0.7, 1.1])
    assert np.ptp(done.quantities["lower"]) < 1e-6  # the same motion, turned


def test_entries_that_are_parts_of_others_are_refused(tmp_path):
    written(tmp_path)
    with pytest.raises(lb.LimberError, match=r"'initial\.q\.link' is part of 'initial\.q'"):
        lb.campaign(
            tmp_path / "arm.yaml", vary={"initial.q": [{"link": 0.1}], "initial.q.link": [0.1, 0.2]},
            method="grid", keep={"end": {"final": {"joint": "link"}}},
        )  # fmt: skip


def test_a_function_that_ends_the_program_is_a_failed_case():
    def case(x):
        if x == 1:
            sys.exit("no")
        return x

    for processes in (1, 2):
        done = lb.campaign(
            case, vary={"x": [0, 1, 2, 3]}, method="grid", unit=1, processes=processes
        )
        assert done.failures == {1: "SystemExit: no"} and done.finished.sum() == 3


def test_an_interrupt_does_not_wait_for_cases_that_never_end(tmp_path):
    def case(x):
        if x == 2:
            (tmp_path / "runs").touch()
            time.sleep(600)
        return x

    def interrupt():
        while not (tmp_path / "runs").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.warns(UserWarning, match="the campaign was interrupted"):
        done = lb.campaign(case, vary={"x": [0, 1, 2, 3]}, method="grid", unit=1, processes=2)
    thread.join()
    assert done.status[0] == "finished" and done.status[2] == "not run"


def test_a_factor_scales_the_model_of_its_case(tmp_path):
    """An entry doubles the mass of the load and a factor triples it: six times the mass, not three times."""
    scenario = """
limber: 1
model:
  bodies:
    load: {rigid: {mass: MASS, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}, joint: {revolute: z}}
torque: {constant: {load: 2.0}}
duration: 0.2
"""
    (tmp_path / "arm.yaml").write_text(scenario.replace("MASS", "1.5"))
    (tmp_path / "study.yaml").write_text("""
limber: 1
scenario: arm.yaml
vary:
  model.bodies.load.rigid.mass: [3.0]
  factor: {choice: [3.0], scales: [load.mass]}
sample: {monte_carlo: 1}
keep: {angle: {final: {joint: load}}}
""")
    found = lb.campaign(tmp_path / "study.yaml", processes=1).quantities["angle"][0]
    assert found == pytest.approx(0.5 * 2.0 / (9.0 + 0.1) * 0.2**2, rel=1e-6)


@pytest.mark.parametrize("law", ["pd", "lqr"])
def test_loops_of_generated_code_run_as_a_batch_to_the_bit(law):
    """Cases alone, in blocks of other sizes and in other processes; and the general engine, within its error."""
    s = arm()
    joint = lb.control.PID(30.0, 5.0, 6.0, sample_time=2.0**-8, reference=[0.2], gravity=True)
    if law == "lqr":
        about = lb.equilibrium(s, locked=["link"])
        joint = lb.control.LQR(1.0, 1e-3, sample_time=2.0**-8, about=about)
    given = {
        "vary": {"load.mass": {"uniform": [0.5, 1.5]}, "link.EI": {"uniform": [150.0, 250.0]}},
        "samples": 19, "seed": 3, "keep": KEEP, "torque": lb.control.Loop(s, joint),
        "integrator": "rk4", "step": 2.0**-10, "every": 2.0**-5,
    }  # fmt: skip
    done = lb.campaign(s, 0.125, processes=1, engine="generated", **given)
    assert done.finished.all() and done.study.runs.batched
    assert same(done, lb.campaign(s, 0.125, processes=2, engine="generated", **given))
    one = done.result(13)
    assert one.joint("link")[-1, 0] == done.quantities["angle"][13]
    general = lb.campaign(s, 0.125, processes=1, **given)
    assert np.allclose(general.quantities["angle"], done.quantities["angle"], rtol=0, atol=1e-11)


def test_results_that_take_longer_than_a_wait_come_once(monkeypatch):
    monkeypatch.setattr(interrupts, "LONGEST_WAIT", 0.02)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(lambda x=x: time.sleep(0.03 * x) or x) for x in range(4)]
        assert sorted(f.result() for f in interrupts.completed(futures)) == [0, 1, 2, 3]


def test_an_unknown_integrator_is_refused_before_anything_runs():
    with pytest.raises(lb.LimberError, match=r"integrator='rk5' is unknown.*rk4"):
        lb.campaign(
            arm(), 0.1, vary={"link.EI": [150.0]}, method="grid", keep=KEEP, integrator="rk5"
        )
