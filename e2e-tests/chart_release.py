"""A release of the chart in a cluster: Helm, what it serves from, and callers who notice a call that is lost."""

import http.client
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as triton
import yaml

import spinning_bundle
from kube_cluster import Cluster, run
from worker_process import ROOT, SAMPLE_MODELS, wait_until

CHART = ROOT / "helm" / "roundhouse"
FETCH = ROOT / "tools" / "kube" / "fetch"
NAMESPACE = "serving"
ROLLOUT_SECONDS = 600
CALLERS = 3
LONG_SECONDS = 2.0
PAUSE_SECONDS = 0.02  # between two calls of a caller, so that pods can start beside them


def fetched(name: str) -> Path:
    done = subprocess.run([FETCH, name], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.split()[-1])


class Helm:
    def __init__(self, cluster: Cluster) -> None:
        self.program = fetched("helm") / "helm"
        self.cluster = cluster

    def __call__(self, *arguments: str | Path, seconds: float = ROLLOUT_SECONDS + 60) -> str:
        home = self.cluster.folder / "helm"
        folders = {f"HELM_{kind}_HOME": str(home / kind) for kind in ("CACHE", "CONFIG", "DATA")}
        options = (f"--kubeconfig={self.cluster.kubeconfig}", f"--namespace={NAMESPACE}")
        return run(self.program, *arguments, *options, seconds=seconds, **folders)


def make_namespace(cluster: Cluster) -> None:
    """With the restricted profile enforced."""
    enforced = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": enforced}})


def make_claim(cluster: Cluster, models: Path) -> str:
    """A claim that is bound to that folder, with a quick model and a slow one."""
    models.chmod(0o755)  # pods are not root
    shutil.copytree(SAMPLE_MODELS / "simple", models / "simple")
    spinning_bundle.write(models, "spin", costly=True)
    volume = {
        "metadata": {"name": "models"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "hostPath": {"path": str(models)},
            "claimRef": {"namespace": NAMESPACE, "name": "models"},
            "storageClassName": "",
        },
    }
    wanted = {
        "metadata": {"name": "models"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": "models",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    path = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
    cluster.call("POST", "/api/v1/persistentvolumes", volume)
    cluster.call("POST", path, wanted)
    wait_until(lambda: cluster.get(f"{path}/models")["status"].get("phase") == "Bound", 60, "the claim bound")
    return "models"


def values(tmp_path: Path, **own: object) -> str:
    file = tmp_path / f"values-{len(list(tmp_path.iterdir()))}.yaml"
    file.write_text(yaml.safe_dump(own))
    return str(file)


def endpoints(cluster: Cluster, service: str) -> list[str]:
    """Addresses of those that are ready."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
    parts = cluster.get(f"{path}?labelSelector=kubernetes.io/service-name={service}")["items"]
    found = [each for part in parts for each in part.get("endpoints") or () if each["conditions"].get("ready")]
    return sorted(each["addresses"][0] for each in found)


def available(cluster: Cluster, name: str) -> bool:
    status = cluster.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{name}")["status"]
    return any(each["type"] == "Available" and each["status"] == "True" for each in status.get("conditions", ()))


def pods_of(cluster: Cluster, *components: str) -> set[str]:
    listed = cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    wanted = [pod for pod in listed if pod["metadata"]["labels"].get("app.kubernetes.io/component") in components]
    return {pod["metadata"]["uid"] for pod in wanted}


Ask = Callable[[triton.InferenceServerClient], str | None]


def connect(address: str) -> triton.InferenceServerClient:
    """By a connection of its own, which gRPC would share among all clients of this process."""
    return triton.InferenceServerClient(f"{address}:8001", channel_args=[("grpc.use_local_subchannel_pool", 1)])


class Anew:
    """A client over HTTP that connects for each call."""

    def __init__(self, address: str) -> None:
        self.address = address

    def infer(self, model: str, request: dict) -> dict:
        connection = http.client.HTTPConnection(self.address, 8000, timeout=60)
        try:
            connection.request("POST", f"/v2/models/{model}/infer", json.dumps(request))
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as e:
            raise triton.InferenceServerException(repr(e)) from e
        finally:
            connection.close()
        if answer.status != 200:
            raise triton.InferenceServerException(text, status=str(answer.status))
        return json.loads(text)

    def close(self) -> None: ...


def ask_sum(client: triton.InferenceServerClient) -> str | None:
    """What is wrong with the answer."""
    inputs = [triton.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for each in inputs:
        each.set_data_from_numpy(np.arange(16, dtype=np.int32)[None])
    result = client.infer("simple", inputs, client_timeout=60).as_numpy("OUTPUT0")
    return None if (result == 2 * np.arange(16)).all() else f"wrong answer {result}"


def ask_sum_anew(client: Anew) -> str | None:
    """The same, over HTTP."""
    given = {"shape": [1, 16], "datatype": "INT32", "data": list(range(16))}
    answer = client.infer("simple", {"inputs": [{"name": name} | given for name in ("INPUT0", "INPUT1")]})
    result = next(each["data"] for each in answer["outputs"] if each["name"] == "OUTPUT0")
    return None if result == [2 * number for number in range(16)] else f"wrong answer {result}"


def spin(client: triton.InferenceServerClient, turns: int) -> int:
    """Keeps a worker's device busy."""
    wanted = triton.InferInput(spinning_bundle.INPUT, [1, 1], "INT64")
    wanted.set_data_from_numpy(np.array([[turns]], dtype=np.int64))
    return int(client.infer("spin", [wanted], client_timeout=60).as_numpy(spinning_bundle.OUTPUT)[0, 0])


def ask_for_long(address: str) -> Ask:
    """A question that takes about as long as a worker serves on when it is told to stop."""
    turns, seconds = 1000, 0.0
    with triton.InferenceServerClient(f"{address}:8001") as client:
        while seconds < LONG_SECONDS / 2:
            turns *= 2
            begun = time.monotonic()
            expected = spin(client, turns)
            seconds = time.monotonic() - begun

    def ask(client: triton.InferenceServerClient) -> str | None:
        last = spin(client, turns)
        return None if last == expected else f"{last} after {turns} turns, and not {expected}"

    return ask


class Load:
    """Callers that ask again and again, each at the next of a service's addresses."""

    def __init__(
        self,
        addresses: Callable[[], list[str]],
        ask: Callable[[Any], str | None] = ask_sum,
        callers: int = CALLERS,
        connect: Callable[[str], Any] = connect,
    ) -> None:
        self.addresses = addresses
        self.ask = ask
        self.connect = connect
        self.answers = 0
        self.slowest = 0.0
        self.failures: list[str] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(callers)]
        for thread in self._threads:
            thread.start()

    def _run(self, turn: int) -> None:
        clients: dict[str, Any] = {}
        while not self._stop.wait(PAUSE_SECONDS):
            known = self.addresses()
            address = known[turn % len(known)]
            turn += 1
            if address not in clients:
                clients[address] = self.connect(address)
            begun = time.monotonic()
            try:
                failure = self.ask(clients[address])
            except triton.InferenceServerException as e:
                failure = f"{address}: {e}"
            with self._lock:
                self.slowest = max(self.slowest, time.monotonic() - begun)
                if failure:
                    self.failures.append(failure)
                else:
                    self.answers += 1
        for client in clients.values():
            client.close()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> "Load":
        wait_until(lambda: self.answers > 2, 120, f"answers, and not {self.failures[:3]}")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Known:
    """A service's ready endpoints, read again twice a second: what a proxy or a resolver knows of them."""

    def __init__(self, cluster: Cluster, service: str) -> None:
        self.now = endpoints(cluster, service)
        self._cluster, self._service = cluster, service
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __call__(self) -> list[str]:
        return self.now

    def _run(self) -> None:
        while not self._stop.wait(0.5):
            self.now = endpoints(self._cluster, self._service) or self.now

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
