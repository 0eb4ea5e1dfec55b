"""The chart in a real Kubernetes: API server, controllers and scheduler of a release, with pods that are processes.

Real: admission (with the restricted profile enforced), RBAC and tokens of accounts, scheduling, Deployments and their
rollouts, EndpointSlices, Helm, and the applications themselves, which find each other by the API server. Played
(``pod_processes``): kubelet, container runtime and images. Not run here: kube-proxy and cluster DNS (clients take the
endpoints' addresses; ``test_kubelet`` has both), what enforces NetworkPolicies, metrics adapters, GPUs, KServe and
prometheus-operator.
"""

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tritonclient.grpc as triton
import yaml

from chart_release import (
    CHART,
    NAMESPACE,
    ROLLOUT_SECONDS,
    Helm,
    Known,
    Load,
    ask_for_long,
    available,
    endpoints,
    fetched,
    make_claim,
    make_namespace,
    pods_of,
    values,
)
from conftest import Report
from kube_cluster import Cluster, need, run
from node_process import gateway_jar
from pod_processes import Machines, Played, Program
from trained import java
from worker_process import JVM_OPTIONS, ROOT, wait_until, worker_jar

pytestmark = pytest.mark.skipif(
    "ROUNDHOUSE_E2E_CLUSTER" not in os.environ,
    reason="takes minutes, root and a network of its own: ./roundhouse test --cluster runs it",
)

NO_PROCESS = "played"  # the tag of images whose pods compute nothing


def supervisor_jar() -> Path:
    """The jar that ``./roundhouse test`` names, else the one that Maven left."""
    if named := os.environ.get("ROUNDHOUSE_E2E_NODE_JAR"):
        return Path(named)
    found = (ROOT / "node-supervisor" / "target").glob("node-supervisor-*.jar")
    return max(found, key=lambda jar: jar.stat().st_mtime)


def plugin() -> Path:
    done = subprocess.run([ROOT / "tools" / "pjrt-plugin" / "fetch"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.split()[-1]) / "xla_cpu_pjrt.so"


def images() -> Callable[[str], Program]:
    """What stands for the images that docs/images.md describes."""
    home = Path(java()).resolve().parents[1]
    jars = {"worker-service": worker_jar(), "gateway-service": gateway_jar()}
    jars["node-supervisor"] = supervisor_jar()
    files = [(home, "/opt/java"), (plugin(), "/opt/roundhouse/xla_cpu_pjrt.so")]
    files += [(jar, f"/opt/roundhouse/{module}.jar") for module, jar in jars.items()]
    small = ("/opt/java/bin/java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    every = {"LANG": "C.UTF-8", "ROUNDHOUSE_WORKER_DEVICE_PLUGIN": "/opt/roundhouse/xla_cpu_pjrt.so"}
    listen = ("SERVER_ADDRESS", "SPRING_GRPC_SERVER_ADDRESS", "MANAGEMENT_SERVER_ADDRESS")

    def program(module: str, *options: str, address: tuple[str, ...] = listen) -> Program:
        command = (*small, *options, "-jar", f"/opt/roundhouse/{module}.jar")
        return Program(command, every, address, tuple(files))

    known = {
        "roundhouse-worker": program("worker-service", *JVM_OPTIONS),
        "roundhouse-gateway": program("gateway-service"),
        "roundhouse-node": program("node-supervisor", address=("ROUNDHOUSE_NODE_PORTS_ADDRESS",)),
        "curlimages/curl": Program(("curl",)),
    }

    def image(name: str) -> Program:
        repository, _, tag = name.rpartition(":")
        return Program() if tag == NO_PROCESS else known[repository]

    return image


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    assert os.geteuid() == 0, "a cluster needs root, for networks and mounts of its own"
    for program in ("ip", "openssl", "unshare", "curl"):
        need(program)
    started = Cluster(fetched("cluster"), tmp_path_factory.mktemp("cluster"))
    try:
        started.start()
        make_namespace(started)
        yield started
    finally:
        started.close()


@pytest.fixture(scope="module")
def machines(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    # where a user that is not root gets to
    folder = tmp_path_factory.mktemp("machines") / "pods"
    played = Machines(cluster, folder, images())
    played.add("cpu-0", **{"topology.kubernetes.io/zone": "a"})
    played.add("cpu-1", **{"topology.kubernetes.io/zone": "b"})
    played.add("gpu-0", gpus=1, accelerator="yes")
    played.add("gpu-1", gpus=1, accelerator="yes")
    played.start()
    try:
        yield played
    finally:
        played.close()


@pytest.fixture(scope="module")
def helm(cluster: Cluster) -> Helm:
    return Helm(cluster)


@pytest.fixture(scope="module")
def claim(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A claim that is bound to a folder with a quick model and a slow one."""
    models = tmp_path_factory.mktemp("models")
    return make_claim(cluster, models)


def explain(cluster: Cluster, machines: Machines) -> str:
    events = cluster.kubectl("get", "events", "-A", "--sort-by=.lastTimestamp")
    pods = cluster.kubectl("get", "pods", "-A", "-o", "wide")
    return "\n".join([pods, *events.splitlines()[-25:], machines.log(), repr(machines.failure)])


@pytest.fixture(autouse=True)
def explained(cluster: Cluster, machines: Machines, request: pytest.FixtureRequest) -> Iterator[None]:
    """Says, for whoever must understand a failure, how the cluster was."""
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed or machines.failure:
        print(explain(cluster, machines))


SMALL = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
STOP = {"lameDuckSeconds": 4, "drainSeconds": 20}


def split(claim: str, discipline: str, gateways: str = "round_robin") -> dict:
    return {
        "models": {"type": "pvc", "pvc": {"existingClaim": claim}},
        "gateway": {
            "resources": SMALL,
            "stop": STOP,
            "config": {"roundhouse": {"gateway": {"scheduling": {"mode": gateways}}}},
        },
        "pool": {
            "replicas": 2,
            "resources": SMALL,
            "stop": STOP,
            "config": {"roundhouse": {"worker": {"scheduler": {"discipline": discipline}}}},
        },
        "networkPolicy": {"enabled": True},
    }


def test_should_have_the_api_server_take_every_example(cluster: Cluster, helm: Helm) -> None:
    custom = ("monitoring.coreos.com", "serving.kserve.io")
    for file in sorted((CHART / "ci").glob("*-values.yaml")):
        text = run(helm.program, "template", "ex", CHART, "-n", "default", "--kube-version=1.34.0", "-f", file)
        documents = [each for each in yaml.safe_load_all(text) if each and not each["apiVersion"].startswith(custom)]
        # a pod by itself, helm test's, wants its account to be there
        documents = [each for each in documents if each["kind"] != "Pod"]
        if documents:
            said = cluster.kubectl(
                "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(documents)
            )
            assert said.count("(server dry run)") == len(documents)


def test_should_roll_out_under_load_and_lose_no_call(
    cluster: Cluster, machines: Machines, helm: Helm, claim: str, tmp_path: Path, report: Report
) -> None:
    wait = ("--wait", f"--timeout={ROLLOUT_SECONDS}s")
    begun = time.monotonic()
    helm("install", "rh", CHART, "-f", values(tmp_path, **split(claim, "fair")), *wait)
    report(f"2 gateways and 2 workers available {time.monotonic() - begun:.0f} s after helm install")
    for name in ("rh-roundhouse-gateway", "rh-roundhouse-worker-default"):
        wait_until(lambda name=name: available(cluster, name), 60, f"{name} available")
    assert len(endpoints(cluster, "rh-roundhouse-workers")) == 2
    for kind, count in (("poddisruptionbudgets", 2), ("networkpolicies", 2)):
        assert len(cluster.kubectl("get", kind, "-n", NAMESPACE, "-o", "name").split()) == count

    # logs of pods come from kubelets
    assert "Phase:          Succeeded" in helm("test", "rh", "--timeout=180s")

    known = Known(cluster, "rh-roundhouse")
    try:
        assert len(known()) == 2
        long = ask_for_long(known()[0])
        with Load(known) as load, Load(known, long, callers=2) as slow:
            replace_all(cluster, machines, helm, "upgrade", values(tmp_path, **split(claim, "fifo")), "worker")
            said = disciplines(cluster)
            assert said == {"fifo"}, said
            answered = load.answers
            wait_until(lambda: load.answers > answered + 20, 60, "answers after the workers' rollout")
        assert load.failures == []
        assert slow.failures == []
        report(f"workers replaced under load: {load.answers} calls, none failed, slowest {load.slowest:.2f} s")
        report(f"beside them {slow.answers} long calls, none failed, slowest {slow.slowest:.2f} s")

        both = values(tmp_path, **split(claim, "fifo", "least_outstanding"))
        with Load(known) as load:
            replace_all(cluster, machines, helm, "upgrade", both, "gateway")
        assert load.failures == []
        report(f"gateways replaced under load: {load.answers} calls, none failed, slowest {load.slowest:.2f} s")

        with Load(known) as load:
            replace_all(cluster, machines, helm, "rollback", "1", "worker", "gateway")
            assert disciplines(cluster) == {"fair"}
        assert load.failures == []
        report(f"all replaced by helm rollback under load: {load.answers} calls, none failed")
    finally:
        known.close()
    # each ended by itself within its grace
    codes = {code for pod in machines.ended for code in pod.exit_codes if pod.container["name"] != "ready"}
    assert codes <= {0, 143}, codes
    helm("uninstall", "rh", "--wait", "--timeout=180s")


def replace_all(cluster: Cluster, machines: Machines, helm: Helm, verb: str, what: str, *components: str) -> None:
    """Upgrades to a file of values, or rolls back to a revision, until none of the pods of before is left."""
    before = pods_of(cluster, *components)
    assert before
    where = (CHART, "-f", what) if verb == "upgrade" else (what,)
    helm(verb, "rh", *where, "--wait", f"--timeout={ROLLOUT_SECONDS}s")
    wait_until(lambda: not before & pods_of(cluster, *components), 180, "the end of the old pods")
    assert machines.failure is None


def disciplines(cluster: Cluster) -> set[str]:
    """By which the workers schedule, as each says itself."""
    found = set()
    for address in endpoints(cluster, "rh-roundhouse-workers"):
        said = run("curl", "-sf", "--max-time", "20", f"http://{address}:8002/actuator/scheduler")
        found.add(json.loads(said)["discipline"])
    return found


def test_should_refuse_endpoints_to_whom_the_role_does_not_name(
    cluster: Cluster, helm: Helm, claim: str, tmp_path: Path
) -> None:
    own = split(claim, "fair") | {"images": {"tag": NO_PROCESS}}
    helm("install", "rbac", CHART, "-f", values(tmp_path, **own), "--wait", f"--timeout={ROLLOUT_SECONDS}s")

    def may(account: str, verb: str, resource: str) -> bool:
        user = f"system:serviceaccount:{NAMESPACE}:{account}"
        done = subprocess.run(
            [
                *(str(cluster.programs / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "auth", "can-i"),
                *(verb, resource, "-n", NAMESPACE, f"--as={user}"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout.strip() == "yes"

    assert may("rbac-roundhouse", "list", "endpointslices.discovery.k8s.io")
    assert not may("rbac-roundhouse", "get", "secrets")
    assert not may("rbac-roundhouse", "list", "pods")
    assert not may("rbac-roundhouse-workers", "list", "endpointslices.discovery.k8s.io")
    helm("uninstall", "rbac", "--wait", "--timeout=180s")


def test_should_give_each_gpu_to_one_worker_and_replace_it(
    cluster: Cluster, machines: Machines, helm: Helm, claim: str, tmp_path: Path
) -> None:
    def own(discipline: str, replicas: int) -> str:
        pool = {"gpus": 1, "replicas": replicas, "nodeSelector": {"accelerator": "yes"}, "minReadySeconds": 0}
        config = {"roundhouse": {"worker": {"scheduler": {"discipline": discipline}}}}
        models = {"type": "pvc", "pvc": {"existingClaim": claim}}
        return values(tmp_path, images={"tag": NO_PROCESS}, models=models, pools={"gpu": pool | {"config": config}})

    wait = ("--wait", f"--timeout={ROLLOUT_SECONDS}s")
    helm("install", "gpus", CHART, "-f", own("fair", 2), *wait)
    listed = cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=roundhouse.dev/pool=gpu")["items"]
    assert sorted(pod["spec"]["nodeName"] for pod in listed) == ["gpu-0", "gpu-1"]
    # no GPU is free, so a rollout that began with a new pod would wait for ever
    helm("upgrade", "gpus", CHART, "-f", own("fifo", 2), *wait)
    # a third worker finds no GPU
    helm("upgrade", "gpus", CHART, "-f", own("fifo", 3))

    def unscheduled() -> bool:
        pods = cluster.get(f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=roundhouse.dev/pool=gpu")["items"]
        texts = [each.get("message", "") for pod in pods for each in pod["status"].get("conditions", ())]
        return any("Insufficient nvidia.com/gpu" in text for text in texts)

    wait_until(unscheduled, 120, "a pod that finds no GPU")
    helm("uninstall", "gpus", "--wait", "--timeout=180s")


def test_should_serve_from_whole_nodes_and_drain_them(
    cluster: Cluster, machines: Machines, helm: Helm, claim: str, tmp_path: Path, report: Report
) -> None:
    # addresses are all that pods have of their own here, so workers take free ports
    own = {
        "layout": "node",
        "models": {"type": "pvc", "pvc": {"existingClaim": claim}},
        "pool": {
            "cpuWorkers": 2,
            "resources": {"requests": {"cpu": "100m", "memory": "2Gi"}, "limits": {"memory": "3Gi"}},
            "stop": STOP,
            "env": [
                {"name": "ROUNDHOUSE_NODE_PORTS_WORKERBASE", "value": "0"},
                {"name": "JDK_JAVA_OPTIONS", "value": "-Xmx160m"},
            ],
        },
    }
    helm("install", "node", CHART, "-f", values(tmp_path, **own), "--wait", f"--timeout={ROLLOUT_SECONDS}s")
    (address,) = endpoints(cluster, "node-roundhouse")
    node = the_pod(machines, "node-roundhouse-node-default")
    with Load(lambda: [address]) as load:
        pass
    assert load.failures == []
    helm("test", "node", "--timeout=180s")
    begun = time.monotonic()
    helm("uninstall", "node", "--wait", "--timeout=180s")
    wait_until(lambda: node in machines.ended, 120, "the end of the node's pod")
    report(f"a node with 2 workers ended {time.monotonic() - begun:.0f} s after helm uninstall")
    assert node.exit_codes[-1] in (0, 143), node.exit_codes
    assert node.restarts == 0


def the_pod(machines: Machines, prefix: str) -> Played:
    (found,) = (pod for pod in machines.pods.values() if pod.folder.name.startswith(prefix))
    return found


def test_should_encrypt_what_clients_connect_to(
    cluster: Cluster, machines: Machines, helm: Helm, claim: str, tmp_path: Path
) -> None:
    certificate, key = cluster.keys.sign("public", "/CN=serving", "DNS:serving.example.com")
    data = {
        "tls.crt": base64.b64encode(certificate.read_bytes()).decode(),
        "tls.key": base64.b64encode(key.read_bytes()).decode(),
    }
    secret = {"metadata": {"name": "public-tls"}, "type": "kubernetes.io/tls", "data": data}
    cluster.call("POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
    own = split(claim, "fair") | {"tls": {"secretName": "public-tls"}}
    own["gateway"] |= {"replicas": 1}
    own["pool"] |= {"replicas": 1}
    helm("install", "tls", CHART, "-f", values(tmp_path, **own), "--wait", f"--timeout={ROLLOUT_SECONDS}s")
    (address,) = endpoints(cluster, "tls-roundhouse")
    to = ("--resolve", f"serving.example.com:8000:{address}", "--cacert", str(cluster.keys.authority))
    said = run("curl", "-sf", "--max-time", "30", *to, "https://serving.example.com:8000/v2/health/ready")
    assert json.loads(said) == {"ready": True}
    with triton.InferenceServerClient(
        f"{address}:8001",
        ssl=True,
        root_certificates=str(cluster.keys.authority),
        channel_args=[("grpc.ssl_target_name_override", "serving.example.com")],
    ) as client:
        assert client.is_server_ready()
    helm("test", "tls", "--timeout=180s")
    helm("uninstall", "tls", "--wait", "--timeout=180s")
