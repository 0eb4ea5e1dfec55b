"""The container images, built and run: ``./roundhouse test --images``. Not part of CI, as they take minutes.

ROUNDHOUSE_E2E_IMAGES is the tag of images that are there; _BASE and _JDK what they were built from.
"""

import os
import re
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import spinning_bundle
from conftest import Report
from container_calls import CallUnderWay, affine, sums, text
from containers import GRPC, HTTP, METRICS, NODE, Container, docker
from worker_process import ROOT, SAMPLE_MODELS, memory_options, wait_until

TAG = os.environ.get("ROUNDHOUSE_E2E_IMAGES", "")
MIB = 1 << 20
APPLICATION_LAYER = 8 * MIB  # ours: seven jars and a few scripts
STOP_SECONDS = 40

pytestmark = pytest.mark.skipif(not TAG, reason="builds and runs container images: ./roundhouse test --images")

Start = Callable[..., Container]


def image(name: str) -> str:
    return f"roundhouse-{name}:{TAG}"


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Container] = []

    def run(
        name: str, *options: str, models: Path | None = SAMPLE_MODELS, arguments: tuple[str, ...] = ()
    ) -> Container:
        started.append(Container(image(name), models, options, tuple(arguments)))
        return started[-1]

    yield run
    for container in started:
        container.close()


def command_lines(container: Container) -> list[str]:
    script = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done"
    return container.execute("bash", "-c", script).splitlines()


@pytest.mark.parametrize("user", ["65532:0", "1234567:0"])
def test_should_serve_from_a_node_as_any_user_with_nothing_writable_but_what_is_declared(
    user: str, start: Start, report: Report
) -> None:
    node = start("node", f"--user={user}", "--memory=4g", "--env=ROUNDHOUSE_NODE_DEVICES_CPU_WORKERS=2").await_ready()
    assert "gateway=true" in node.log()
    assert affine(node.address(GRPC)).shape[0] == 1
    assert (sums(node.address(HTTP)) == 3).all()
    assert 'roundhouse_node_process_up{process="worker1"} 1.0' in text(node.address(NODE), "/metrics")

    assert node.execute("id", "-u") == user.split(":")[0]
    assert "noexec" in next(line for line in node.execute("cat", "/proc/mounts").splitlines() if " /tmp " in line)
    for place in ("/x", "/models/x", "/opt/roundhouse/x"):
        refused = subprocess.run(["docker", "exec", node.id, "touch", place], capture_output=True)
        assert refused.returncode != 0, place
    written = node.execute("bash", "-c", "ls /var/cache/roundhouse/executables | wc -l")
    assert int(written) > 0, "no compiled program was kept"
    assert "not kept" not in node.log()

    # the launcher's division, with the supervisor's and the gateway's parts taken off
    heap = memory_options((4096 - 192 - 768) // 2)[0]
    workers = [line for line in command_lines(node) if "worker-service.jar" in line]
    assert len(workers) == 2
    assert all(f" {heap} " in line for line in workers), workers
    assert any(" -Xmx256m " in line for line in command_lines(node) if "gateway-service.jar" in line)

    began = time.monotonic()
    assert node.stop(STOP_SECONDS) in (0, 143)
    report(f"user {user}: stopped in {time.monotonic() - began:.1f} s")


def test_should_have_nothing_that_changes_the_user_and_nothing_of_a_package_manager(start: Start) -> None:
    node = start("node", "--memory=2g")
    assert node.execute("find", "/", "-xdev", "-type", "f", "-perm", "/6000") == ""
    assert node.execute("bash", "-c", "ls -A /var/lib/apt/lists 2>/dev/null || true") == ""
    labels = node.inspect()["Config"]["Labels"]
    for name in ("title", "description", "licenses", "version", "revision", "created", "base.name"):
        assert labels[f"org.opencontainers.image.{name}"] not in ("", "unknown"), name


def test_should_divide_its_container_among_a_supervisor_and_one_worker(start: Start) -> None:
    node = start("node", "--memory=2g").await_ready()
    assert "gateway=false" in node.log()
    heap = memory_options(2048 - 192)[0]
    assert any(f" {heap} " in line for line in command_lines(node) if "worker-service.jar" in line)


def test_should_refuse_a_container_that_is_too_small_and_say_so(start: Start) -> None:
    for name, least in (("worker", 1024), ("gateway", 768)):
        container = start(name, "--memory=512m")
        wait_until(lambda container=container: not container.is_running(), 60, "the end of the container")
        assert container.inspect()["State"]["ExitCode"] == 1
        assert f"a {name} needs {least} MiB and may use 512 MiB here" in container.log()


def test_should_refuse_to_start_without_models_and_name_their_place(start: Start) -> None:
    container = start("worker", "--memory=2g", models=None)
    wait_until(lambda: not container.is_running(), 120, "the end of the container")
    assert container.inspect()["State"]["ExitCode"] == 1
    assert "models" in container.log()


def test_should_answer_what_it_has_taken_when_a_worker_is_stopped(start: Start, tmp_path: Path, report: Report) -> None:
    tmp_path.chmod(0o755)
    spinning_bundle.write(tmp_path, "spin", costly=True)
    worker = start("worker", "--memory=2g", models=tmp_path).await_ready()
    call = CallUnderWay(worker.address(GRPC), worker.address(METRICS), seconds=5)
    told = time.monotonic()
    assert worker.stop(STOP_SECONDS) in (0, 143)
    stopped = time.monotonic()
    answered = call.answered()
    assert answered > told, "it had been answered before; the test needs a longer call"
    report(f"stopped in {stopped - told:.1f} s, {answered - told:.1f} s of them for the call under way")


def test_should_send_on_from_a_gateway_to_a_worker_in_another_container(start: Start) -> None:
    worker = start("worker", "--memory=2g").await_ready()
    host = worker.inspect()["NetworkSettings"]["Networks"]["bridge"]["IPAddress"]
    gateway = start(
        "gateway",
        "--memory=1g",
        "--user=4321:0",
        models=None,
        arguments=(f"--roundhouse.gateway.workers.a.address={host}:8001",),
    ).await_ready()
    assert (sums(gateway.address(HTTP)) == 3).all()
    assert affine(gateway.address(GRPC)).shape[0] == 1
    health = lambda: gateway.inspect()["State"]["Health"]["Status"]  # noqa: E731
    wait_until(lambda: health() == "healthy", 60, "the health check")
    assert gateway.stop(STOP_SECONDS) in (0, 143)


def test_should_compile_hooks_and_know_what_it_is() -> None:
    # what javax.tools needs is in the runtime: Java compiles this file before it runs it
    hello = "void main() { IO.println(javax.tools.ToolProvider.getSystemJavaCompiler() != null); }"
    script = f"echo '{hello}' >/tmp/Hello.java && java /tmp/Hello.java"
    assert docker("run", "--rm", "--entrypoint=bash", image("worker"), "-c", script) == "true"
    for name in ("worker", "gateway", "node"):
        label = '{{index .Config.Labels "org.opencontainers.image.title"}} {{.Config.User}}'
        assert docker("image", "inspect", "--format", label, image(name)) == f"roundhouse-{name} 65532:0"


@pytest.mark.parametrize("collector", ["-XX:+UseG1GC", "-XX:+UseSerialGC"])
def test_should_start_by_its_aot_cache_with_either_collector(
    collector: str, start: Start, tmp_path: Path, report: Report
) -> None:
    tmp_path.chmod(0o755)
    shutil.copytree(SAMPLE_MODELS / "scalar", tmp_path / "scalar")
    spent = {}
    for mode in ("on", "off"):  # 'on' ends a process whose cache does not fit
        options = ("--memory=2g", f"--env=JDK_JAVA_OPTIONS={collector} -XX:AOTMode={mode}")
        worker = start("worker", *options, models=tmp_path).await_ready()
        spent[mode] = worker.cpu_seconds()
        seconds = re.search(r"ready .*seconds=([\d.]+)", worker.log())
        report(f"{collector}, AOT cache {mode}: {spent[mode]:.1f} s of CPU, ready after {seconds[1]} s")
        worker.close()
    assert spent["on"] < spent["off"]


def layers(name: str) -> list[str]:
    return docker("image", "inspect", "--format", '{{join .RootFS.Layers "\\n"}}', name).splitlines()


def test_should_be_of_a_size_that_is_known(report: Report) -> None:
    for name, most in (("gateway", 450), ("worker", 800), ("node", 900)):
        size = int(docker("image", "inspect", "--format", "{{.Size}}", image(name))) / MIB
        base = int(docker("image", "inspect", "--format", "{{.Size}}", os.environ["ROUNDHOUSE_E2E_IMAGE_BASE"])) / MIB
        report(f"{name}: {size - base:.0f} MiB on a base of {base:.0f}, {len(layers(image(name)))} layers")
        assert size - base < most


def test_should_change_only_the_last_and_small_layers_when_a_class_changes(tmp_path: Path, report: Report) -> None:
    context = tmp_path / "context"
    shutil.copytree(ROOT / "target" / "image", context)  # with its times, by which layers are the same

    def build(tag: str) -> list[str]:
        arguments = {
            "BASE_IMAGE": os.environ["ROUNDHOUSE_E2E_IMAGE_BASE"],
            "JDK_IMAGE": os.environ["ROUNDHOUSE_E2E_IMAGE_JDK"],
            "AOT": "false",
            "MODULES": modules(),
        }
        flags = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        file = f"--file={ROOT}/docker/Dockerfile"
        docker("build", "--target=worker", file, f"--tag={tag}", *flags, str(context), seconds=900)
        return layers(tag)

    before = build(f"{image('worker')}-before")
    change_a_class(context / "worker" / "worker-service.jar")
    after = build(f"{image('worker')}-after")
    changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert changed, "the class did not change"
    # the application, and the place of its AOT cache after it
    assert min(changed) >= len(before) - 2
    size = sum(copied_sizes(f"{image('worker')}-after")[: len(changed)])
    report(f"{len(changed)} of {len(before)} layers changed, {size / MIB:.1f} MiB together")
    assert 0 < size < APPLICATION_LAYER
    for name in ("before", "after"):
        docker("image", "rm", f"{image('worker')}-{name}", check=False)


def copied_sizes(name: str) -> list[int]:
    """Of the layers that COPY made, the newest first."""
    lines = docker("history", "--human=false", "--no-trunc", "--format", "{{.Size}} {{.CreatedBy}}", name).splitlines()
    return [int(line.split()[0]) for line in lines if "COPY" in line]


def modules() -> str:
    script = f'ROOT={ROOT}; source "$ROOT/tools/cli/command_image.sh"; echo "$IMAGE_MODULES"'
    return subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout.strip()


def change_a_class(jar: Path) -> None:
    """Another name of its source file: the class does what it did."""
    name = "dev/roundhouse/worker/WorkerApplication.class"
    part = jar.with_suffix(".part")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(part, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == name:
                assert b"WorkerApplication.java" in data
                data = data.replace(b"WorkerApplication.java", b"WorkerApplicatioN.java")
            new.writestr(entry, data)
    part.replace(jar)
