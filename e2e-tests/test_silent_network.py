"""A gateway goes on with a worker soon after the network between them drops nothing any more.

A kernel doubles the time after which it sends anew what nobody acknowledges, so after a cut a connection is as good as
dead for as long as the cut has lasted. The gateway makes another one.
"""

from pathlib import Path

import pytest

import networks
from conftest import Report, logs_shown
from faults import FaultLoad, now
from networks import Networks
from node_process import gateway_command, trained_gateway
from placed_process import Server
from worker_process import SAMPLE_MODELS, free_ports, trained_worker, wait_until, worker_command

# The kernel sends anew 0.2, 0.6, 1.4, 3.0 and 6.2 s after the first time, and then not before 12.6 s.
CUT_SECONDS, KERNEL_SECONDS = 7.0, 12.6
SOON_SECONDS = 3.0
DEADLINE_SECONDS = 1.0


@pytest.mark.parametrize("dropped", ["both ways", "requests", "answers"])
def test_should_answer_soon_after_a_cut_by_another_connection(dropped: str, tmp_path: Path, report: Report) -> None:
    if why := networks.why_not():
        pytest.skip(why)
    cut = Networks("gateway", "worker")
    places = cut.places
    worker = gateway = load = None
    try:
        ports = free_ports()
        trained = trained_worker()
        command = worker_command(trained.jar, SAMPLE_MODELS, ports, trained.jvm, ())
        worker = Server(command, ports, tmp_path / "worker", places["worker"])
        ports = free_ports()
        # it does not find out by looks at the worker, nor the kernel by its own limit
        settings = ("--roundhouse.gateway.health.timeout=60s", "--roundhouse.gateway.health.silence=60s")
        command = gateway_command(trained_gateway(), ports, [worker], settings)
        gateway = Server(command, ports, tmp_path / "gateway", places["gateway"])
        with logs_shown(worker, gateway):
            worker.await_ready()
            gateway.await_ready()
            wait_until(lambda: gateway.sees("w0"), 60, "the gateway sees the worker")
            load = FaultLoad(
                tmp_path / "records",
                gateway.address,
                callers=4,
                pause=0.02,
                deadline=DEADLINE_SECONDS,
                place=places["gateway"],
            )
            load.await_answers(50)
            if dropped != "answers":
                cut.drop("gateway", "worker")
            if dropped != "requests":
                cut.drop("worker", "gateway")
            began = now()
            wait_until(lambda: now() - began > CUT_SECONDS, 2 * CUT_SECONDS, "the time that the cut is to last")
            cut.heal()
            healed = now()
            load.await_answers(50)
            outcomes = load.stop()
        late = [each for each in outcomes if began + DEADLINE_SECONDS < each.began < healed - DEADLINE_SECONDS]
        assert late, "calls are made during the cut"
        assert {each.status for each in late} == {"DEADLINE_EXCEEDED"}
        first = min(each.ended for each in outcomes if each.status == "OK" and each.ended > healed)
        report(f"answered again {first - healed:.2f} s after a cut of {healed - began:.1f} s")
        assert first - healed < SOON_SECONDS < KERNEL_SECONDS - CUT_SECONDS - DEADLINE_SECONDS
        assert "nothing was acknowledged on the last" in gateway.log()
    finally:
        for each in (load, gateway, worker):
            if each:
                each.close()
        cut.close()
