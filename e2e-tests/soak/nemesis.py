"""Does to a node what a plan says: each kind of fault from its beginning until it has been taken away."""

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import grpc
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import damaged_bundles
import spinning_bundle
from calls import request
from faults import full, now
from networks import LoopbackCut
from soak import history, models
from soak.callers import Callers
from soak.clocks import Clocks
from soak.history import Happened
from soak.plan import NODE, Fault
from soak.system import System, failures_of, models_ready
from worker_process import wait_until

FOR_EVER = 2**62
RUN_SECONDS = 0.5
LOAD_SECONDS = 60
TOKEN_SECONDS = 60  # a gateway may be starting
SLOW_PEERS = 20
STEP_SECONDS = (0.1, 24 * 3600)
DAMAGES = {
    "truncated-weights": damaged_bundles.truncated_weights,
    "changed-weights": damaged_bundles.weights_unlike_their_digest,
    "wrong-dim": damaged_bundles.wrong_dim,
    "input-too-many": damaged_bundles.input_too_many,
}
STATUS = "/reactant_control.GatewayControlService/GetSchedulingStatus"
OF_BURSTS = 40  # the number of the first caller of a burst; those of the plan are below


class Nemesis:
    """Faults of one system; what they leave to be checked is in ``problems``."""

    def __init__(self, system: System, callers: Callers, clocks: Clocks | None, whys: dict[str, str]) -> None:
        """``whys`` has for kinds of faults that cannot be made here why not."""
        self.system, self.callers, self.clocks, self.whys = system, callers, clocks, whys
        self.problems: list[str] = []
        self.ended = {"worker0": 0, "worker1": 0, "gateway0": 0}
        self.reloads: list[float] = []
        self._cut = None if "partition" in whys else LoopbackCut()
        self._turns = 0
        self._made = 0
        self._token = ""
        self._kinds: dict[str, Callable[[Fault], None]] = {
            "kill a worker": self._kill,
            "kill a gateway": self._kill,
            "stop a worker": self._stop,
            "stop a gateway": self._stop,
            "slow device": self._slow,
            "hung device": self._hang,
            "partition": self._partition,
            "cancels": self._burst,
            "garbage": self._burst,
            "reloads": self._reload,
            "damaged bundles": self._damage,
            "slow peers": self._slow_peers,
            "full disk": self._fill,
            "token rotation": self._rotate,
            "clock step": self._step,
        }

    def prepare(self) -> None:
        """What must be known of a whole system."""
        self._turns = self._turns_of_a_run()
        self._check_token(0, self._token)
        self._check_token(1, self._token)

    def write_token(self) -> str:
        """Puts a new token in the place of the one before, which is returned."""
        before, self._token = self._token, os.urandom(24).hex()
        new = self.system.tokens.with_suffix(".new")
        new.write_text(f"sha256:{hashlib.sha256(self._token.encode()).hexdigest()}\n")
        new.rename(self.system.tokens)
        return before

    def generations(self, at: float) -> int:
        return sum(began <= at for began in self.reloads)

    def inflict(self, fault: Fault) -> Happened | None:
        """Returns once the fault is over; None where it cannot be made here."""
        if fault.kind in self.whys:
            return None
        began = now()
        try:
            self._kinds[fault.kind](fault)
        except Exception as problem:
            self.problems.append(f"{fault}: {type(problem).__name__}: {problem}")
        return Happened(fault.kind, fault.target, began, now())

    def _signal(self, name: str, number: int) -> int | None:
        pid = self.system.pid(name)
        if pid:
            os.kill(pid, number)
        return pid

    def _kill(self, fault: Fault) -> None:
        if not self._signal(fault.target, signal.SIGKILL):
            return
        if fault.target == "gateway1":
            self.system.second.process.wait()
            self.system.second.close()
            self.system.start_second()
        else:
            self._await_next_start(fault.target)

    def _await_next_start(self, name: str) -> None:
        """Waits until the supervisor has seen the end of a process that this nemesis has ended."""
        self.ended[name] += 1
        wait_until(lambda: self.system.process(name)["restarts"] >= self.ended[name], LOAD_SECONDS, f"{name} restarts")

    def _stop(self, fault: Fault) -> None:
        pid = self._signal(fault.target, signal.SIGSTOP)
        time.sleep(fault.seconds)
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _stub(self, channel: grpc.Channel) -> GRPCInferenceServiceStub:
        return GRPCInferenceServiceStub(channel)

    def _worker(self, name: str) -> str:
        return f"127.0.0.1:{self.system.process(name)['ports']['grpc']}"

    def _turns_of_a_run(self) -> int:
        """How often the loop of the slow model turns in the time that a run of it is to take."""
        with grpc.insecure_channel(self._worker("worker0")) as channel:
            turns = 1000
            while True:
                began = now()
                self._stub(channel).ModelInfer(request(models.SLOW, spinning_bundle.turns(turns)), timeout=LOAD_SECONDS)
                took = now() - began
                if took > RUN_SECONDS / 10:
                    return int(turns * RUN_SECONDS / took)
                turns *= 4

    def _slow(self, fault: Fault) -> None:
        """Runs that take half a second each, two of which wait all the time."""
        end = now() + fault.seconds
        wanted = request(models.SLOW, spinning_bundle.turns(self._turns))
        with grpc.insecure_channel(self._worker(fault.target)) as channel:
            stub = self._stub(channel)
            open_calls = []
            while now() < end:
                open_calls = [call for call in open_calls if not call.done()]
                while len(open_calls) < 2:
                    open_calls.append(stub.ModelInfer.future(wanted, timeout=LOAD_SECONDS))
                time.sleep(0.02)
            for call in open_calls:
                call.exception(LOAD_SECONDS)

    def _hang(self, fault: Fault) -> None:
        """A run that never ends; the worker's own watchdog ends the worker."""
        self._made += 1
        name = models.write_endless(self.system.repository, self._made)
        http = self.system.process(fault.target)["ports"]["http"]
        try:
            wait_until(lambda: models_ready(http, name), LOAD_SECONDS, f"'{name}' is ready at {fault.target}")
            with grpc.insecure_channel(self._worker(fault.target)) as channel:
                wanted = request(name, spinning_bundle.turns(FOR_EVER))
                error = self._stub(channel).ModelInfer.future(wanted, timeout=LOAD_SECONDS).exception()
            if error is None or error.code() != grpc.StatusCode.UNAVAILABLE:
                self.problems.append(f"a run that never ends, at {fault.target}: {error}")
            self._await_next_start(fault.target)
        finally:
            shutil.rmtree(self.system.repository / name)

    def _partition(self, fault: Fault) -> None:
        """Nothing reaches the worker from a gateway, by gRPC or HTTP."""
        ports = self.system.process(fault.target)["ports"]
        cut = (ports["grpc"], ports["http"])
        self._cut.drop(*cut)
        try:
            time.sleep(fault.seconds)
        finally:
            self._cut.heal(*cut)

    def _burst(self, fault: Fault) -> None:
        """Callers of one gateway that make requests for nothing."""
        kind = {"cancels": history.CANCELS, "garbage": history.GARBAGE}[fault.kind]
        self._made += 1
        with self.callers.burst(kind, OF_BURSTS, 4, fault.target, f"{kind}-{self._made}"):
            time.sleep(fault.seconds)

    def _reload(self, fault: Fault) -> None:
        end = now() + fault.seconds
        while now() < end:
            began = now()
            self.reloads.append(began)
            models.reload(self.system.repository, len(self.reloads))
            time.sleep(max(0, began + 1 - now()))

    def _damage(self, fault: Fault) -> None:
        """Bundles that cannot be loaded are named with a reason, and leave no trace when they are taken away."""
        repository = self.system.repository
        made = [repository / damage(repository) for damage in DAMAGES.values()]
        http = [f"127.0.0.1:{self.system.process(name)['ports']['http']}" for name in ("worker0", "worker1")]

        def told(address: str) -> bool:
            try:
                failures = failures_of(address)
            except OSError:  # another fault ends it just now
                return False
            return all(failures.get(name) for name in DAMAGES)

        try:
            began = now()
            wait_until(
                lambda: all(map(told, self._up(http))), LOAD_SECONDS, f"each worker says why not {list(DAMAGES)}"
            )
            time.sleep(max(0, began + fault.seconds - now()))
        finally:
            for folder in made:
                shutil.rmtree(folder)

    def _up(self, addresses: list[str]) -> list[str]:
        """Those of workers that nothing else has ended meanwhile."""
        found = []
        for address in addresses:
            with contextlib.suppress(OSError):
                failures_of(address)
                found.append(address)
        return found

    def _slow_peers(self, fault: Fault) -> None:
        index = int(fault.target[-1])
        ports = [address.rpartition(":")[2] for address in (self.system.grpc[index], self.system.http[index])]
        program = Path(damaged_bundles.__file__).with_name("slow_peers.py")
        command = [sys.executable, str(program), *ports, str(SLOW_PEERS), "--again"]
        peers = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            time.sleep(fault.seconds)
        finally:
            peers.stdin.close()
            peers.kill()
            peers.wait()
            peers.stdout.close()

    def _fill(self, fault: Fault) -> None:
        """Meanwhile other weights are loaded, and what is compiled cannot be kept."""
        with full(self.system.disk):
            self._made += 1
            name = models.write_endless(self.system.repository, self._made)
            http = self.system.process(random.Random(self._made).choice(("worker0", "worker1")))["ports"]["http"]
            try:
                began = now()
                wait_until(lambda: models_ready(http, name), LOAD_SECONDS, f"'{name}' is ready with a full disk")
                time.sleep(max(0, began + fault.seconds - now()))
            finally:
                shutil.rmtree(self.system.repository / name)

    def _step(self, fault: Fault) -> None:
        """The time of day jumps, forward or back, and back again."""
        chance = random.Random(str(fault))
        low, high = STEP_SECONDS
        off = chance.choice((-1, 1)) * low * (high / low) ** chance.random()
        stepped = [pid for name, pid in self.system.pids().items() if fault.target in (NODE, name)]
        for pid in stepped:
            self.clocks.step(pid, off)
        try:
            time.sleep(fault.seconds)
        finally:
            for pid in stepped:
                self.clocks.step(pid, 0)

    def _rotate(self, fault: Fault) -> None:
        before = self.write_token()
        for gateway in range(2):
            self._check_token(gateway, self._token, before)

    def _check_token(self, gateway: int, token: str, before: str = "") -> None:
        """The token opens what the gateway's control routes are for, and neither the one before nor none does."""

        def status(shown: str) -> str:
            metadata = (("authorization", f"Bearer {shown}"),) if shown else ()
            with grpc.insecure_channel(self.system.grpc[gateway]) as channel:
                try:
                    channel.unary_unary(STATUS)(b"", timeout=5, metadata=metadata)
                except grpc.RpcError as refusal:
                    return refusal.code().name
            return "OK"

        wanted = {token: "OK", "": "UNAUTHENTICATED"} | ({before: "UNAUTHENTICATED"} if before else {})
        wait_until(
            lambda: all(status(shown) == code for shown, code in wanted.items()),
            TOKEN_SECONDS,
            f"gateway{gateway} takes the new token and refuses the one before and none",
        )
