"""The chart on a real node: a kubelet with containerd and runc runs the container images, as docs/kubernetes.md says.

Real beside what ``test_cluster`` has: image, kubelet and its probes, volumes, users and control groups of containers,
Services by kube-proxy, names by CoreDNS, and the pod of ``helm test`` (its curl is this machine's). Not here: a second
node, GPUs, what enforces NetworkPolicies.

ROUNDHOUSE_E2E_IMAGE_ARCHIVE is what ``docker save`` wrote of the three images; ROUNDHOUSE_E2E_IMAGES is their tag.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tritonclient.grpc as triton
import yaml

import image_archive
import kubelet_node
from chart_release import (
    CHART,
    NAMESPACE,
    ROLLOUT_SECONDS,
    Anew,
    Helm,
    Load,
    ask_for_long,
    ask_sum,
    ask_sum_anew,
    connect,
    endpoints,
    fetched,
    make_claim,
    make_namespace,
    pods_of,
    values,
)
from conftest import Report
from kube_cluster import Cluster, KubeError, need
from worker_process import SAMPLE_MODELS, memory_options, wait_until

ARCHIVE = os.environ.get("ROUNDHOUSE_E2E_IMAGE_ARCHIVE", "")
TAG = os.environ.get("ROUNDHOUSE_E2E_IMAGES", "")

pytestmark = pytest.mark.skipif(
    not ARCHIVE or not TAG, reason="takes minutes, root and images of its own: ./roundhouse test --kubelet runs it"
)

WAIT = ("--wait", f"--timeout={ROLLOUT_SECONDS}s")
STOP = {"lameDuckSeconds": 4, "drainSeconds": 20}
WORKER_MIB = 1536
GATEWAY_MIB = 768
MODELS_IMAGE = "roundhouse-models:e2e"
NODE_MIB = 3328


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := kubelet_node.obstacle():
        pytest.skip(reason)
    kubelet_node.check_isolation()
    need("openssl")
    started = Cluster(fetched("cluster"), tmp_path_factory.mktemp("cluster"))
    try:
        started.start()
        make_namespace(started)
        yield started
    finally:
        started.close()


@pytest.fixture(scope="module", autouse=True)
def node(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[kubelet_node.Node]:
    folder = tmp_path_factory.mktemp("images")
    pause, curl = folder / "pause.tar", folder / "curl.tar"
    image_archive.write(pause, kubelet_node.PAUSE, {"/pause": cluster.programs / "pause"}, ["/pause"])
    program = Path(need("curl"))
    image = yaml.safe_load((CHART / "values.yaml").read_text())["tests"]["image"]
    image_archive.write(curl, image, image_archive.with_libraries(program), [str(program)])
    started = kubelet_node.Node(cluster, fetched("dns") / "coredns")
    models = write_models_image(folder / "models.tar")
    try:
        yield started.start(pause, curl, models, Path(ARCHIVE))
    finally:
        started.close()


def write_models_image(archive: Path) -> Path:
    """What an initializer runs: a model, and a program that copies it."""
    bundle = SAMPLE_MODELS / "simple"
    files = {f"/bundles/simple/{file.relative_to(bundle)}": file for file in bundle.rglob("*") if file.is_file()}
    copy = Path(need("cp"))
    image_archive.write(archive, MODELS_IMAGE, files | image_archive.with_libraries(copy), [str(copy)])
    return archive


@pytest.fixture(scope="module")
def helm(cluster: Cluster) -> Helm:
    return Helm(cluster)


@pytest.fixture(scope="module")
def claim(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_claim(cluster, tmp_path_factory.mktemp("models"))


@pytest.fixture(autouse=True)
def explained(cluster: Cluster, node: kubelet_node.Node, request: pytest.FixtureRequest) -> Iterator[None]:
    """Says, for whoever must understand a failure, how the cluster was."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        print(cluster.kubectl("get", "pods", "-A", "-o", "wide"))
        print(cluster.kubectl("get", "events", "-n", NAMESPACE, "--sort-by=.lastTimestamp"))
        print(cluster.kubectl("logs", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=roundhouse", "--prefix"))
        print(node.log())


@pytest.fixture
def uninstalled(cluster: Cluster, helm: Helm) -> Iterator[None]:
    """Removes whatever a test has installed, also where it fails."""
    yield
    for name in helm("list", "--all", "--short").split():
        helm("uninstall", name, "--wait", "--timeout=180s")
    # of helm test, which outlives a release
    cluster.kubectl("delete", "pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=test", seconds=120)
    wait_until(lambda: not pods_of(cluster, "gateway", "worker", "node"), 120, "the end of the release's pods")


def memory(mebibytes: int) -> dict:
    """Little of the processor is asked for, so that a rollout's pods fit on a small machine."""
    return {"requests": {"cpu": "50m", "memory": f"{mebibytes}Mi"}, "limits": {"memory": f"{mebibytes}Mi"}}


def split(claim: str, discipline: str = "fair", gateways: str = "round_robin") -> dict:
    return {
        "images": {"tag": TAG},
        "models": {"type": "pvc", "pvc": {"existingClaim": claim}},
        "gateway": {
            "resources": memory(GATEWAY_MIB),
            "stop": STOP,
            "config": {"roundhouse": {"gateway": {"scheduling": {"mode": gateways}}}},
        },
        "pool": {
            "replicas": 2,
            "resources": memory(WORKER_MIB),
            "stop": STOP,
            "config": {"roundhouse": {"worker": {"scheduler": {"discipline": discipline}}}},
        },
    }


def address_of(cluster: Cluster, service: str) -> str:
    """Of a Service, which kube-proxy sends on to a pod."""
    return cluster.get(f"/api/v1/namespaces/{NAMESPACE}/services/{service}")["spec"]["clusterIP"]


def pods(cluster: Cluster, component: str) -> list[dict]:
    """Those that nobody has deleted."""
    selector = f"labelSelector=app.kubernetes.io/component={component}"
    listed = cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods?{selector}")["items"]
    return [pod for pod in listed if "deletionTimestamp" not in pod["metadata"]]


def inside(cluster: Cluster, pod: dict, *command: str) -> str:
    return cluster.kubectl("exec", "-n", NAMESPACE, pod["metadata"]["name"], "--", *command)


def restarts(pod: dict) -> int:
    return sum(each["restartCount"] for each in pod["status"].get("containerStatuses", ()))


def is_ready(pod: dict) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


class Ends:
    """How containers end, as the kubelet says it before their pods are gone."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._file = folder / "pods.json"
        kubectl = (cluster.programs / "kubectl", f"--kubeconfig={cluster.kubeconfig}", f"--namespace={NAMESPACE}")
        with self._file.open("w") as told, (folder / "kubectl.log").open("w") as log:
            command = [*map(str, kubectl), "get", "pods", "--watch", "--output=json"]
            self._process = subprocess.Popen(command, stdout=told, stderr=log, stdin=subprocess.DEVNULL)

    def codes(self, prefix: str) -> dict[str, int]:
        """Exit codes by the names of pods."""
        assert self._process.poll() is None, self._file.with_name("kubectl.log").read_text()
        found = {}
        for pod in self._told():
            for status in pod["status"].get("containerStatuses", ()):
                if (name := pod["metadata"]["name"]).startswith(prefix) and "terminated" in status["state"]:
                    found[name] = status["state"]["terminated"]["exitCode"]
        return found

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)

    def _told(self) -> Iterator[dict]:
        """Every version of every pod so far."""
        text, decoder = self._file.read_text(), json.JSONDecoder()
        while text := text.lstrip():
            try:
                pod, end = decoder.raw_decode(text)
            except json.JSONDecodeError:
                return  # being written
            yield pod
            text = text[end:]


@pytest.fixture
def ends(cluster: Cluster, tmp_path: Path) -> Iterator[Ends]:
    watched = Ends(cluster, tmp_path)
    yield watched
    watched.close()


@pytest.mark.usefixtures("uninstalled")
def test_should_roll_out_and_be_evicted_under_load_and_lose_no_call(
    cluster: Cluster, helm: Helm, ends: Ends, claim: str, tmp_path: Path, report: Report
) -> None:
    begun = time.monotonic()
    helm("install", "rh", CHART, "-f", values(tmp_path, **split(claim)), *WAIT)
    report(f"2 gateways and 2 workers of real images available {time.monotonic() - begun:.0f} s after helm install")
    for component, mebibytes in (("gateway", None), ("worker", WORKER_MIB)):
        for pod in pods(cluster, component):
            check_container(cluster, pod, mebibytes)
    assert "Phase:          Succeeded" in helm("test", "rh", "--timeout=180s", "--logs")

    address = address_of(cluster, "rh-roundhouse")
    with connect(address) as client:
        assert ask_sum(client) is None
    assert ask_sum_anew(Anew(address)) is None

    long = ask_for_long(address)
    service = lambda: [address]  # noqa: E731
    for what, change in (
        ("workers", split(claim, "fifo")),
        ("gateways", split(claim, "fifo", "least_outstanding")),
        ("all", split(claim)),
    ):
        components = ("worker", "gateway") if what == "all" else (what.removesuffix("s"),)
        before = pods_of(cluster, *components)
        begun = time.monotonic()
        with (
            Load(service) as load,
            Load(service, ask_sum_anew, callers=2, connect=Anew) as anew,
            Load(service, long, callers=2) as slow,
        ):
            helm("upgrade", "rh", CHART, "-f", values(tmp_path, **change), *WAIT)
            wait_until(
                lambda before=before, components=components: not before & pods_of(cluster, *components),
                180,
                "the end of the old pods",
            )
        seconds = time.monotonic() - begun
        for kind, calls in (("connected", load), ("connecting anew", anew), ("long", slow)):
            assert calls.failures == [], f"{what} replaced, {kind} calls"
        report(
            f"{what} replaced in {seconds:.0f} s: {load.answers} calls on connections (slowest {load.slowest:.2f} s),"
            f" {anew.answers} on new ones ({anew.slowest:.2f} s), {slow.answers} long ones ({slow.slowest:.2f} s);"
            " none failed"
        )

    for component in ("worker", "gateway"):
        victim, other = pods(cluster, component)
        name = victim["metadata"]["name"]
        with Load(service) as load, Load(service, long, callers=2) as slow:
            begun = time.monotonic()
            evict(cluster, victim)
            with pytest.raises(KubeError, match="disruption budget"):
                evict(cluster, other)
            wait_until(
                lambda uid=victim["metadata"]["uid"], component=component: uid not in pods_of(cluster, component),
                120,
                "the end of the pod",
            )
            seconds = time.monotonic() - begun
            wait_until(
                lambda component=component: sum(map(is_ready, pods(cluster, component))) == 2, 180, "another pod ready"
            )
        assert load.failures == []
        assert slow.failures == []
        wait_until(lambda name=name: name in ends.codes(name), 30, "the exit code")
        report(f"a {component} ended {seconds:.0f} s after it was evicted, with {ends.codes(name)[name]}")
    codes = ends.codes("rh-roundhouse-worker") | ends.codes("rh-roundhouse-gateway")
    assert len(codes) >= 2 * 4 + 2, codes  # of two rollouts each, and these
    assert set(codes.values()) <= {0, 143}, codes
    assert [restarts(pod) for kind in ("worker", "gateway") for pod in pods(cluster, kind)] == [0] * 4


def evict(cluster: Cluster, pod: dict) -> None:
    """As ``kubectl drain`` does; the disruption budget may refuse it."""
    name = pod["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
    cluster.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/eviction", eviction)


def check_container(cluster: Cluster, pod: dict, mebibytes: int | None) -> None:
    """Its user, what it may write, and that Java was told of the limit that the kubelet set."""
    assert restarts(pod) == 0
    assert inside(cluster, pod, "id", "-u").strip() == "65532"
    status = dict(line.split(":\t", 1) for line in inside(cluster, pod, "cat", "/proc/1/status").splitlines())
    assert (status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16)) == ("2", "1", 0)
    mounted = [line.split() for line in inside(cluster, pod, "cat", "/proc/mounts").splitlines()]
    options = {place: set(how.split(",")) for _, place, _, how, *_ in mounted}
    kernel = ("/proc", "/dev", "/sys")
    writable = {place for place, how in options.items() if "rw" in how and not place.startswith(kernel)}
    assert "ro" in options["/"]
    expected = {"/tmp", "/var/cache/roundhouse"}
    assert expected <= writable <= expected | {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}, writable
    if mebibytes:
        command = inside(cluster, pod, "cat", "/proc/1/cmdline").split("\0")
        assert set(memory_options(mebibytes)) <= set(command), command


@pytest.mark.usefixtures("uninstalled")
def test_should_come_back_when_a_worker_is_killed(
    cluster: Cluster, node: kubelet_node.Node, helm: Helm, claim: str, tmp_path: Path, report: Report
) -> None:
    # names and headless services, in the place of the API server
    own = split(claim)
    own["gateway"] |= {"replicas": 1, "discovery": "dns"}
    own["pool"] |= {"kind": "StatefulSet"}
    begun = time.monotonic()
    helm("install", "rh", CHART, "-f", values(tmp_path, **own), *WAIT)
    report(f"with discovery by DNS available {time.monotonic() - begun:.0f} s after helm install")
    address = address_of(cluster, "rh-roundhouse")
    victim = pods(cluster, "worker")[0]
    uid = victim["metadata"]["uid"]

    def again() -> dict:
        return next(pod for pod in pods(cluster, "worker") if pod["metadata"]["uid"] == uid)

    begun = time.monotonic()
    os.kill(process_of(node, uid, "worker-service.jar"), signal.SIGKILL)
    wait_until(lambda: restarts(again()) == 1, 60, "the kubelet's restart")
    # the other one serves meanwhile
    with connect(address) as client:
        wait_until(lambda: answered(client), 60, "an answer of the other worker")
    wait_until(lambda: is_ready(again()), 180, "the worker ready again")
    report(f"a killed worker was ready again after {time.monotonic() - begun:.0f} s")
    wait_until(lambda: len(endpoints(cluster, "rh-roundhouse-workers")) == 2, 60, "both workers")
    with Load(lambda: [address]) as load:
        wait_until(lambda: load.answers > 50, 60, "answers")
    assert load.failures == []


def answered(client: triton.InferenceServerClient) -> bool:
    try:
        return ask_sum(client) is None
    except triton.InferenceServerException:
        return False


def process_of(node: kubelet_node.Node, uid: str, jar: str) -> int:
    """Of a pod, in this machine's numbering."""

    def is_it(pid: int) -> bool:
        process = Path(f"/proc/{pid}")
        return jar.encode() in (process / "cmdline").read_bytes() and uid in (process / "cgroup").read_text()

    (found,) = filter(is_it, node.container_pids())
    return found


@pytest.mark.usefixtures("uninstalled")
def test_should_serve_from_whole_nodes_what_an_initializer_brings_and_drain_them(
    cluster: Cluster, helm: Helm, ends: Ends, tmp_path: Path, report: Report
) -> None:
    copy = {"image": MODELS_IMAGE, "command": ["cp"], "args": ["-r", "/bundles/simple", "/models/"]}
    pool = {
        "kind": "DaemonSet",
        "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "cpuWorkers": 2,
        "resources": memory(NODE_MIB),
        "stop": STOP,
    }
    own = {
        "layout": "node",
        "images": {"tag": TAG},
        "models": {"type": "initializer", "initializer": copy},
        "pool": pool,
    }
    begun = time.monotonic()
    helm("install", "node", CHART, "-f", values(tmp_path, **own), *WAIT)
    report(f"a node with 2 workers and a gateway available {time.monotonic() - begun:.0f} s after helm install")
    (pod,) = pods(cluster, "node")
    assert is_ready(pod)
    check_container(cluster, pod, None)
    assert "Phase:          Succeeded" in helm("test", "node", "--timeout=180s")
    address = address_of(cluster, "node-roundhouse")
    service = lambda: [address]  # noqa: E731
    with Load(service) as load, Load(service, ask_sum_anew, connect=Anew) as anew:
        begun = time.monotonic()
        changed = own | {"pool": pool | {"annotations": {"example.com/turn": "2"}}}
        helm("upgrade", "node", CHART, "-f", values(tmp_path, **changed), *WAIT)
        wait_until(lambda: pod["metadata"]["uid"] not in pods_of(cluster, "node"), 180, "the end of the old node")
        seconds = time.monotonic() - begun
        before = load.answers, anew.answers
        wait_until(lambda: load.answers > before[0] and anew.answers > before[1], 60, "answers of the new one")
    assert load.failures == anew.failures == []
    report(
        f"the node replaced in {seconds:.0f} s: {load.answers} calls on connections (slowest {load.slowest:.2f} s),"
        f" {anew.answers} on new ones ({anew.slowest:.2f} s); none failed"
    )
    (pod,) = pods(cluster, "node")
    begun = time.monotonic()
    helm("uninstall", "node", "--wait", "--timeout=180s")
    wait_until(lambda: pod["metadata"]["uid"] not in pods_of(cluster, "node"), 120, "the end of the node")
    report(f"a node with 2 workers and a gateway ended in {time.monotonic() - begun:.0f} s")
    codes = ends.codes("node-roundhouse-node")
    assert len(codes) == 2, codes
    assert set(codes.values()) <= {0, 143}, codes
