"""The files in docker/, without an engine: what linters and schemas say, and what a container is allowed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from client_tools import need
from compose import variables
from worker_process import ROOT

DOCKER = ROOT / "docker"
COMPOSE = DOCKER / "compose.yaml"
COMPOSE_GO = "github.com/compose-spec/compose-go/v2@v2.16.2"
CUDA_PIN = re.compile(r"^[a-z0-9-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}$")


def service() -> dict:
    return yaml.safe_load(COMPOSE.read_text())["services"]["node"]


def image(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "roundhouse", "image", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("file", sorted(DOCKER.glob("*Dockerfile")), ids=lambda file: file.name)
def test_should_find_nothing_to_say_of_a_dockerfile(file: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, "--failure-threshold=style", file], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


def final_stages() -> dict[str, str]:
    """What the Dockerfile says of each image, by the stage's name."""
    stages = re.split(r"^FROM ", (DOCKER / "Dockerfile").read_text(), flags=re.MULTILINE)
    named = {stage.split("\n")[0].rpartition(" ")[2]: stage for stage in stages}
    return {name: named[name] for name in ("worker", "gateway", "node")}


@pytest.mark.parametrize("name", ["worker", "gateway", "node"])
def test_should_label_an_image_and_run_it_as_nobody_in_particular(name: str) -> None:
    stage = final_stages()[name]
    for label in ("title", "description", "licenses", "version", "revision", "created", "base.name"):
        assert f"org.opencontainers.image.{label}=" in stage, label
    assert stage.count("\nUSER 65532:0\n") == 1
    assert "\nRUN " not in stage
    assert "\nADD " not in stage


def test_should_install_nothing_into_an_image_and_leave_no_file_that_changes_the_user() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    assert not re.search(r"\b(apt-get|apk|dnf|microdnf|pip|curl|wget)\b", re.sub(r"^#.*", "", text, flags=re.MULTILINE))
    assert "-perm /6000 -exec chmod a-s" in text.split("FROM ${BASE_IMAGE} AS runtime")[1].split("\nFROM ")[0]


@pytest.mark.parametrize(("engine", "timestamp"), [("docker", ""), ("podman", "--timestamp 86400 ")])
def test_should_date_an_image_as_it_is_told(engine: str, timestamp: str) -> None:
    script = """
        ROOT=$PWD CACHE=/nonexistent ENGINE=$1 SOURCE_DATE_EPOCH=86400
        for part in build command_image; do source tools/cli/$part.sh; done
        begin_step() { :; }; end_step() { :; }
        run_logged() { shift; echo "$*"; }
        image_date
        build_image name:1 file context "CREATED=$(image_date)" --target worker
        unset SOURCE_DATE_EPOCH
        image_date
        """
    result = subprocess.run(["bash", "-euc", script, "bash", engine], cwd=ROOT, capture_output=True, text=True)
    date, command, of_the_commit = result.stdout.splitlines()
    assert date == "1970-01-02T00:00:00Z"
    formatted = "" if engine == "docker" else "--format docker --layers "
    told = "--tag name:1 --file file --build-arg CREATED=1970-01-02T00:00:00Z --target worker context"
    assert command == f"{engine} build {formatted}{timestamp}{told}"
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", of_the_commit)


def test_should_be_a_compose_file() -> None:
    """As compose itself finds where it is installed, and else as its published schema says."""
    if shutil.which("docker") and subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        command = ["docker", "compose", "--file", COMPOSE, "config", "--quiet"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return
    command = [need("go"), "mod", "download", "-json", COMPOSE_GO]
    fetched = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd="/")
    if fetched.returncode != 0:
        pytest.skip(f"there is no docker compose, and go cannot fetch its schema: {fetched.stderr[:300]}")
    schema = json.loads((Path(json.loads(fetched.stdout)["Dir"]) / "schema" / "compose-spec.json").read_text())
    validator = jsonschema_rs.validator_for(schema)
    validator.validate(yaml.safe_load(COMPOSE.read_text()))
    assert not validator.is_valid({"services": {"node": {"read_onyl": True}}}), "the schema refuses nothing"


def test_should_give_a_container_of_compose_nothing_that_it_does_not_need() -> None:
    node = service()
    assert node["read_only"] is True
    assert node["cap_drop"] == ["ALL"]
    assert node["security_opt"] == ["no-new-privileges:true"]
    assert node["user"] == "65532:0"
    assert all(port.startswith(("127.0.0.1:", "${ROUNDHOUSE_ADDRESS:-127.0.0.1}:")) for port in node["ports"])
    assert "privileged" not in node
    models = node["volumes"][0]
    assert models["target"] == "/models"
    assert models["read_only"] is True


def test_should_give_a_node_longer_to_stop_than_its_processes_take() -> None:
    defaults = (ROOT / "docs" / "configuration-node.md").read_text()
    graces = [int(seconds) for seconds in re.findall(r"stop-grace` \| `(\d+)s`", defaults)]
    assert len(graces) == 2
    assert int(service()["stop_grace_period"].removesuffix("s")) > sum(graces)


def test_should_name_the_image_that_the_launcher_makes() -> None:
    command = [ROOT / "roundhouse", "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1]
    assert service()["image"] == f"${{ROUNDHOUSE_IMAGE:-roundhouse-node:{version}}}"


def test_should_have_every_variable_of_compose_documented() -> None:
    page = (ROOT / "docs" / "images.md").read_text()
    assert len(variables()) > 5
    assert [name for name in sorted(variables()) if f"| `{name}` |" not in page] == []


def test_should_pin_every_package_of_the_cuda_variant_by_its_hash() -> None:
    text = (DOCKER / "cuda-requirements.txt").read_text().replace("\\\n", "")
    pins = [" ".join(line.split()) for line in text.splitlines() if not line.startswith("#")]
    assert all(CUDA_PIN.match(pin) for pin in pins), pins
    names = [pin.split("==")[0] for pin in pins]
    page = (ROOT / "docs" / "cuda.md").read_text()
    assert f'"{pins[0].split(" ")[0]}"' in page, "docs/cuda.md names another plugin"
    command = page.split("pip install", 1)[1].split("$ ./roundhouse", 1)[0]
    assert set(re.findall(r"\bnvidia-[a-z0-9-]+", command)) <= set(names)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--variant", "rocm"), "--variant is cpu or cuda, not 'rocm'"),
        (("--tag", "a b"), "--tag takes letters, digits, '.', '_' and '-', not 'a b'"),
        (("--engine", "kaniko"), "--engine is docker, podman or buildah, not 'kaniko'"),
        (("--base",), "--base needs a value"),
        (("--base", ""), "--base needs a value, not an empty one"),
        (("proxy",), "image does not know 'proxy'; images are worker gateway node"),
    ],
)
def test_should_refuse_and_name_the_option_when_it_is_wrong(arguments: tuple[str, ...], complaint: str) -> None:
    result = image(*arguments)
    assert result.returncode == 2
    assert complaint in result.stderr


def test_should_say_which_engines_would_do_when_none_answers(tmp_path: Path) -> None:
    for name in ("docker", "podman", "buildah"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [ROOT / "roundhouse", "image"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert result.returncode == 1
    assert "no engine answers: install docker, podman or buildah" in result.stderr
