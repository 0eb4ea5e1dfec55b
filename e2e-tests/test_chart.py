"""The chart: what it renders is valid for Kubernetes, what it writes for the applications starts them.

Values are checked always. What needs Helm is skipped where it is not in the cache: ``./roundhouse test --chart`` builds
it, which takes minutes, and runs all of this.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import tritonclient.grpc as triton
import yaml

import client_tools
from node_process import gateway_jar
from worker_process import (
    ROOT,
    SAMPLE_MODELS,
    START_SECONDS,
    Ports,
    WorkerProcess,
    free_ports,
    java,
    kept_files,
    wait_until,
    worker_jar,
)

CHART = ROOT / "helm" / "roundhouse"
FETCH = ROOT / "tools" / "kube" / "fetch"
WHOLE = "ROUNDHOUSE_E2E_CHART" in os.environ
RELEASES = ["1.27", "1.34", "1.37"]
SECONDS = 60
SERIES = re.compile(r"\broundhouse_\w+")
CUSTOM = ("monitoring.coreos.com", "serving.kserve.io")  # kinds that no release of Kubernetes has
EXAMPLES = sorted((CHART / "ci").glob("*-values.yaml"))


def tool(name: str) -> str:
    """A program of tools/kube/fetch; a skip where the whole test is not about the chart and it has not been built."""
    only = [] if WHOLE else ["--built"]
    folder = subprocess.run([FETCH, name, *only], capture_output=True, text=True, timeout=1800)
    if folder.returncode == 0:
        return f"{folder.stdout.split()[-1]}/{name}"
    assert not WHOLE, folder.stderr
    if found := shutil.which(name):
        return found
    pytest.skip(f"there is no '{name}' on this machine; ./roundhouse test --chart builds it, in minutes")


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [tool("helm"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def render(*arguments: str | Path) -> list[dict]:
    done = helm("template", "rh", CHART, "--namespace", "serving", "--kube-version", "1.34.0", *arguments)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def pick(documents: list[dict], kind: str, name: str) -> dict:
    (found,) = (each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


@cache
def schema() -> dict:
    return json.loads((CHART / "values.schema.json").read_text())


@cache
def defaults() -> dict:
    return yaml.safe_load((CHART / "values.yaml").read_text())


def merged(default: object, own: object) -> object:
    if isinstance(default, dict) and isinstance(own, dict):
        return default | {key: merged(default.get(key), value) for key, value in own.items()}
    return own


def parts(at: dict, path: str = "") -> Iterator[tuple[str, dict]]:
    """Every schema of an object within one, with its path."""
    if "properties" in at:
        yield path, at
        for name, part in at["properties"].items():
            yield from parts(part, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(at.get(key), dict):
            yield from parts(at[key], f"{path}.*")


def follow(at: dict) -> dict:
    return schema()["$defs"][at["$ref"].rsplit("/", 1)[1]] if "$ref" in at else at


def keys_without_default(at: dict, values: dict, path: str) -> list[str]:
    missing = []
    for name, part in at.get("properties", {}).items():
        if name not in values:
            missing.append(f"{path}{name}")
        elif isinstance(values[name], dict) and values[name]:
            missing += keys_without_default(follow(part), values[name], f"{path}{name}.")
    return missing


def test_should_refuse_unknown_keys_of_every_object() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    found = [*parts(schema()), *(pair for name, part in schema()["$defs"].items() for pair in parts(part, name))]
    assert len(found) > 40
    assert [path for path, part in found if part.get("additionalProperties") is not False] == []


def test_should_have_a_default_of_every_key() -> None:
    top = {"properties": {name: part for name, part in schema()["properties"].items() if name != "global"}}
    # strategies have their own, and a strategy's rollingUpdate is Kubernetes'
    missing = [key for key in keys_without_default(top, defaults(), "") if not key.endswith("strategy.type")]
    assert missing == []


@pytest.mark.parametrize("file", [None, *EXAMPLES], ids=lambda file: file.stem if file else "defaults")
def test_should_take_values(file: Path | None) -> None:
    own = yaml.safe_load(file.read_text()) if file else {}
    jsonschema.validate(merged(defaults(), own), schema(), jsonschema.Draft202012Validator)


def test_should_document_values_that_it_takes() -> None:
    text = (ROOT / "docs" / "kubernetes.md").read_text()
    documents = [yaml.safe_load(part.split("```", 1)[0]) for part in text.split("```yaml\n")[1:]]
    values = [document for document in documents if "apiVersion" not in document and "rules" not in document]
    assert len(values) >= 4
    for own in values:
        jsonschema.validate(merged(defaults(), own), schema(), jsonschema.Draft202012Validator)


def test_should_scale_by_metrics_that_there_are() -> None:
    rules = yaml.safe_load((CHART / "files" / "prometheus-adapter.yaml").read_text())["rules"]["custom"]
    made = {rule["name"]["as"] for rule in rules}
    scaling = defaults()["pool"]["autoscaling"]
    assert {scaling[by]["metric"] for by in ("device", "queue")} == made
    told = set(SERIES.findall((ROOT / "docs" / "metrics.md").read_text()))
    asked = {name for rule in rules for key in ("seriesQuery", "metricsQuery") for name in SERIES.findall(rule[key])}
    assert len(asked) == 3
    assert asked <= told


@pytest.mark.parametrize(
    ("own", "where"),
    [
        ({"replicas": 2}, "'replicas' was unexpected"),
        ({"gateway": {"replica": 2}}, "'replica' was unexpected"),
        ({"pools": {"a": {"gpu": 1}}}, "'gpu' was unexpected"),
        ({"pools": {"A": {}}}, "'A' does not match"),
        ({"pool": {"resources": {"requets": {}}}}, "'requets' was unexpected"),
        ({"pool": {"resources": {"limits": {"memory": "4GiB"}}}}, "'4GiB' does not match"),
        ({"images": {"node": {"digest": "sha256:1"}}}, "'sha256:1' does not match"),
        ({"layout": "both"}, "'both' is not one of"),
    ],
)
def test_should_refuse_values(own: dict, where: str) -> None:
    with pytest.raises(jsonschema.ValidationError, match=where):
        jsonschema.validate(merged(defaults(), own), schema(), jsonschema.Draft202012Validator)


@pytest.mark.parametrize("file", [None, *EXAMPLES], ids=lambda file: file.stem if file else "defaults")
def test_should_render_what_kubernetes_takes(file: Path | None) -> None:
    values = ["--values", file] if file else []
    lint = helm("lint", "--strict", CHART, *values)
    assert lint.returncode == 0, lint.stdout
    documents = render(*values)
    names = [(each["kind"], each["metadata"]["name"]) for each in documents]
    assert len(names) == len(set(names))
    ours = [each for each in documents if not each["apiVersion"].startswith(CUSTOM)]
    assert ours or "kserve" in file.stem
    for document in ours:
        for release in RELEASES:
            kubernetes_validate.validate(document, release, strict=True)


def test_should_pass_its_own_suites() -> None:
    done = subprocess.run(
        [tool("helm-unittest"), "--strict", CHART], capture_output=True, text=True, timeout=SECONDS, cwd=CHART
    )
    assert done.returncode == 0, done.stdout
    assert "Tests:       0 passed" not in done.stdout


def test_should_refuse_what_helm_is_given_wrong() -> None:
    done = helm("template", "rh", CHART, "--kube-version", "1.34.0", "--set", "pools.a.gpu=1")
    assert done.returncode != 0
    assert "additional properties 'gpu' not allowed" in done.stderr


def test_should_replace_only_pods_whose_configuration_changes() -> None:
    def checksum(document: dict) -> str:
        return document["spec"]["template"]["metadata"]["annotations"]["roundhouse.dev/config-checksum"]

    def checksums(*settings: str) -> dict[str, str]:
        return {
            each["metadata"]["name"]: checksum(each)
            for each in render(*(part for setting in settings for part in ("--set", setting)))
            if each["kind"] == "Deployment"
        }

    before = checksums("pools.a.replicas=1", "pools.b.replicas=1")
    after = checksums("pools.a.replicas=3", "pools.b.config.roundhouse.worker.scheduler.discipline=fifo")
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {"rh-roundhouse-worker-b"}


class Certificates:
    """A key of a server's and what vouches for it, as files of a secret."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        files = ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
        subprocess.run([*command, *names, *files], check=True, capture_output=True, timeout=SECONDS)
        shutil.copy(folder / "tls.crt", folder / "ca.crt")
        self.folder = folder
        # where the chart mounts those of the gateways' ports, and of the workers'
        self.secrets = {"etc_roundhouse_tls": folder, "etc_roundhouse_worker-tls": folder}


def written(documents: list[dict], name: str, folder: Path, **paths: Path) -> str:
    """The setting that reads a ConfigMap of the chart's, with its folders in a container replaced."""
    text = pick(documents, "ConfigMap", name)["data"]["application.yaml"]
    for inside, outside in paths.items():
        text = text.replace(f"/{inside.replace('_', '/')}", str(outside))
    folder.mkdir()
    (folder / "application.yaml").write_text(text)
    return f"--spring.config.additional-location=file:{folder}/"


def curl(url: str, *options: str | Path) -> str:
    command = ["curl", "--silent", "--show-error", "--fail", "--max-time", "20", *map(str, options), url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    return done.stdout if done.returncode == 0 else f"{done.returncode} {done.stderr}"


starts = pytest.mark.skipif(not WHOLE, reason="starts applications: ./roundhouse test --chart runs it")


@starts
def test_should_start_a_worker_with_what_it_writes(tmp_path: Path) -> None:
    documents = render("--values", CHART / "ci" / "split-values.yaml")
    setting = written(documents, "rh-roundhouse-worker-edge", tmp_path / "config", models=SAMPLE_MODELS)
    ports = free_ports()
    worker = WorkerProcess(worker_command(setting, ports), ports, tmp_path / "log")
    try:
        worker.await_ready()
        assert worker.get(ports.metrics, "/actuator/health/readiness")[0] == 200
        assert worker.get(ports.metrics, "/actuator/health/liveness")[0] == 200
    finally:
        worker.close()


@starts
def test_should_start_a_gateway_that_wants_certificates_with_what_it_writes(tmp_path: Path) -> None:
    client_tools.need("curl")
    documents = render("--values", CHART / "ci" / "dns-tls-values.yaml")
    keys = Certificates(tmp_path / "keys")
    setting = written(documents, "rh-roundhouse-gateway", tmp_path / "config", **keys.secrets)
    ports = free_ports()
    gateway = WorkerProcess(gateway_command(setting, ports), ports, tmp_path / "log")
    try:
        # without workers it is not ready, but alive
        wait_until(lambda: is_alive(gateway), START_SECONDS, "a gateway that is alive")
        live = f"https://localhost:{ports.http}/v2/health/live"
        identity = ("--cert", keys.folder / "tls.crt", "--key", keys.folder / "tls.key")
        trust = ("--cacert", keys.folder / "ca.crt")
        assert curl(live, *trust, *identity) == '{"live":true}'
        assert "certificate" in curl(live, *trust)
        secure = {"ssl": True, "root_certificates": str(keys.folder / "ca.crt")}
        known = {"certificate_chain": str(keys.folder / "tls.crt"), "private_key": str(keys.folder / "tls.key")}
        with triton.InferenceServerClient(f"localhost:{ports.grpc}", **secure, **known) as client:
            assert client.is_server_live()
        with (
            triton.InferenceServerClient(f"localhost:{ports.grpc}", **secure) as client,
            pytest.raises(triton.InferenceServerException, match="UNAVAILABLE"),
        ):
            client.is_server_live(client_timeout=10)
        # probes come without certificates
        assert gateway.get(ports.metrics, "/actuator/health/liveness")[0] == 200
    finally:
        gateway.close()


@starts
def test_should_join_a_gateway_and_a_worker_by_tls_with_what_it_writes(tmp_path: Path) -> None:
    documents = render("--values", CHART / "ci" / "dns-tls-values.yaml")
    keys = Certificates(tmp_path / "keys")
    setting = written(
        documents, "rh-roundhouse-worker-default", tmp_path / "worker", models=SAMPLE_MODELS, **keys.secrets
    )
    inner, outer = free_ports(), free_ports()
    worker = WorkerProcess(worker_command(setting, inner), inner, tmp_path / "worker.log")
    try:
        worker.await_ready()
        known = {
            "ssl": True,
            "root_certificates": str(keys.folder / "ca.crt"),
            "certificate_chain": str(keys.folder / "tls.crt"),
            "private_key": str(keys.folder / "tls.key"),
        }
        with (
            triton.InferenceServerClient(
                f"localhost:{inner.grpc}", ssl=True, root_certificates=known["root_certificates"]
            ) as client,
            pytest.raises(triton.InferenceServerException, match="UNAVAILABLE"),
        ):
            client.is_server_live(client_timeout=10)
        setting = written(documents, "rh-roundhouse-gateway", tmp_path / "gateway", **keys.secrets)
        command = gateway_command(setting, outer)
        where = [("address", inner.grpc), ("http", inner.http)]
        command += [f"--roundhouse.gateway.workers.w.{key}=127.0.0.1:{port}" for key, port in where]
        gateway = WorkerProcess(command, outer, tmp_path / "gateway.log")
        try:
            gateway.await_ready()
            with triton.InferenceServerClient(f"localhost:{outer.grpc}", **known) as client:
                assert client.is_model_ready("scalar")
            model = f"https://localhost:{outer.http}/v2/models/scalar"
            identity = ("--cert", known["certificate_chain"], "--key", known["private_key"])
            assert '"scalar"' in curl(model, "--cacert", known["root_certificates"], *identity)
        finally:
            gateway.close()
    finally:
        worker.close()


def is_alive(process: WorkerProcess) -> bool:
    assert process.process.poll() is None, process.log()
    try:
        return process.get(process.ports.metrics, "/actuator/health/liveness")[0] == 200
    except OSError:
        return False


def worker_command(setting: str, ports: Ports) -> list[str]:
    where = [f"--server.port={ports.http}", f"--spring.grpc.server.port={ports.grpc}"]
    where.append(f"--management.server.port={ports.metrics}")
    return [java(), "-jar", str(worker_jar()), setting, *kept_files(), *where]


def gateway_command(setting: str, ports: Ports) -> list[str]:
    where = [f"--server.port={ports.http}", f"--spring.grpc.server.port={ports.grpc}"]
    return [
        java(),
        "-Xmx128m",
        "-jar",
        str(gateway_jar()),
        setting,
        *where,
        f"--management.server.port={ports.metrics}",
    ]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--chart", "--cluster"), "--chart and --cluster are different tests; give one"),
        (("--cluster", "--quick"), "--cluster is a test of its own; give no other option"),
        (("--fuzz=1", "--chart"), "--chart is a test of its own; give no other option"),
    ],
)
def test_should_refuse_other_tests_beside_these(options: tuple[str, ...], complaint: str) -> None:
    done = subprocess.run([ROOT / "roundhouse", "test", *options], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 2
    assert complaint in done.stderr
