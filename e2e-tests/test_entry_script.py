"""The commands of README, as a user runs them. The build and the plugin are there already when these run."""

import hashlib
import json
import os
import re
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from worker_process import ROOT, WorkerProcess, free_ports, kept_files, wait_until

SCRIPT = ROOT / "roundhouse"


def run(*arguments: str, cwd: Path = ROOT, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], cwd=cwd, capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        *((command,) for command in ("up", "import", "test", "demo", "doctor", "bench")),
        *((command,) for command in ("classpath", "top", "sim", "image", "sbom", "release", "token", "gpu-pack")),
    ],
)
def test_should_explain_itself_when_asked_for_help(arguments: tuple[str, ...], tmp_path: Path) -> None:
    result = run(*arguments, "--help", cwd=tmp_path)
    assert result.returncode == 0
    assert result.stdout.startswith(f"Usage: ./roundhouse {' '.join(arguments) or 'COMMAND'}")


def test_should_list_the_commands_when_the_command_is_unknown() -> None:
    result = run("serve")
    assert result.returncode == 2
    assert "unknown command 'serve'" in result.stderr
    assert "up " in result.stderr


def test_should_make_tokens_of_which_a_file_has_the_hashes_alone(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("# of two")  # no end of line
    one = run("token", f"--add={tokens}").stdout.strip()
    other = run("token", f"--add={tokens}", "--expires=90").stdout.strip()
    hashes = [hashlib.sha256(token.encode()).hexdigest() for token in (one, other)]
    lines = tokens.read_text().splitlines()
    assert lines[:2] == ["# of two", f"sha256:{hashes[0]}"]
    expires = re.fullmatch(rf"sha256:{hashes[1]} expires=(\S+)", lines[2])
    assert expires, lines[2]
    left = datetime.fromisoformat(expires[1]) - datetime.now(tz=UTC)
    assert timedelta(days=89) < left <= timedelta(days=90)
    shown = dict(line.split() for line in run("token").stdout.splitlines())
    assert shown["line"] == f"sha256:{hashlib.sha256(shown['token'].encode()).hexdigest()}"
    assert len(run("token", "--secret").stdout.strip()) >= 32
    assert "from 1 to 3650 and not '0'" in run("token", "--expires=0").stderr
    assert "cannot be written" in run("token", f"--add={tmp_path}/none/tokens").stderr


def test_should_state_its_version_when_asked() -> None:
    assert re.fullmatch(r"roundhouse \d+\.\d+\.\d+\S*\n", run("--version").stdout)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--grpc-port", "80001"), "--grpc-port takes a port from 0 to 65535"),
        (("--http-port", "8001"), "port 8001 is given twice"),
        (("--models", "/nonexistent"), "--models /nonexistent: no such folder"),
        (("--set", "drain"), "--set takes KEY=VALUE"),
        (("--port", "1"), "up does not know '--port'"),
        (("--axis", "s=1"), "--axis is for models that are converted, and"),
        (("--observe-port", "9090"), "--observe-port is of --observe, which is not given"),
        (("--observe", "--observe-port", "8000"), "port 8000 is given twice"),
    ],
)
def test_should_refuse_and_name_the_flag_when_an_option_is_wrong(arguments: tuple[str, ...], complaint: str) -> None:
    result = run("up", *arguments)
    assert result.returncode != 0
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--sort", "size"), 2, "--sort takes model, state, queue, due, had, place, next or waits, not 'size'"),
        (("--worker",), 2, "--worker needs a value"),
        (("http://localhost",), 2, "top takes an address as host:port, not 'http://localhost'"),
        (("localhost:1", "--once"), 1, "no events from localhost:1: "),
    ],
)
def test_should_refuse_to_show_what_is_not_there(arguments: tuple[str, ...], code: int, complaint: str) -> None:
    result = run("top", *arguments)
    assert result.returncode == code
    assert complaint in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--soak",), "--soak takes HOURS[,SEED], such as --soak=2 or --soak=0.1,7, and not ''"),
        (("--soak=0",), "and not '0'"),
        (("--soak=1,x",), "and not '1,x'"),
        (("--faults", "--soak=1"), "--faults and --soak are different tests"),
        (("--upgrade",), "--upgrade takes a commit of this repository, such as HEAD~1, and not ''"),
        (("--upgrade=no-such",), "and not 'no-such'"),
    ],
)
def test_should_refuse_to_test_for_what_is_none(arguments: tuple[str, ...], complaint: str) -> None:
    result = run("test", *arguments)
    assert result.returncode == 2
    assert complaint in result.stderr


def test_should_show_a_line_for_each_module_that_is_built(tmp_path: Path) -> None:
    script = """
        ROOT=$PWD CLI=$PWD/tools/cli CACHE=$1
        for part in terminal child build; do source tools/cli/$part.sh; done
        compile() {
            printf '[INFO] %s\\n' 'Reactor' '' 'Building roundhouse 0.1.0   [1/2]'
            sleep 1
            printf '[INFO] %s\\n' 'Building model-bundle 0.1.0-SNAPSHOT        [2/2]' 'BUILD'
        }
        begin_steps 1
        begin_step "build it"
        run_build "$1/logs/build.log" compile
        end_step built
        """
    result = subprocess.run(["bash", "-euc", script, "bash", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(
        r"\[1/1\] build it … \n      roundhouse \(1/2\)\n      model-bundle \(2/2\)\n      built \([\d.]+ s\)\n",
        result.stderr,
    )


@pytest.mark.parametrize(
    ("what", "needed"),
    [
        ("client", ["kserve-client", "model-bundle", "grpc-api"]),
        ("engine", ["inference-engine", "pjrt-binding", "device-spi", "model-bundle"]),
    ],
)
def test_should_print_a_class_path_that_a_program_can_be_started_with(what: str, needed: list[str]) -> None:
    entries = run("classpath", what, timeout=900).stdout.strip().split(":")
    names = [Path(entry).name for entry in entries]
    assert all(Path(entry).is_file() for entry in entries)
    assert len(set(entries)) == len(entries)
    for module in needed:
        assert any(name.startswith(module) for name in names), module
    assert not any(name.startswith(("junit", "assertj")) for name in names)


def test_should_refuse_and_name_the_flag_or_the_kinds_when_nothing_can_be_imported(tmp_path: Path) -> None:
    for arguments, complaint in (
        ((), "import needs a source"),
        (("a", "b"), "import takes one source, got 'a' and 'b'"),
        (("a", "--axis"), "--axis needs a value"),
        ((str(tmp_path),), f"'{tmp_path}' is none of: a Triton repository or model; an ONNX file"),
    ):
        result = run("import", *arguments)
        assert result.returncode == 2
        assert complaint in result.stderr


def test_should_link_bundles_of_our_own_beside_those_that_are_converted(tmp_path: Path) -> None:
    for name in ("models/one", "models/two/1", "models/other/1", "cache/converted"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("models/one", "models/two/1", "cache/converted"):
        (tmp_path / name / "manifest.yaml").touch()
    (tmp_path / "models/other/1/model.onnx").touch()
    (tmp_path / "cache/gone").symlink_to(tmp_path / "models/gone")
    script = 'ROOT=$PWD; source tools/cli/exporter.sh; has_foreign_models "$1"; drop_links "$2"; link_bundles "$1" "$2"'
    arguments = ["bash", "-euc", script, "bash", tmp_path / "models", tmp_path / "cache"]
    for _ in range(2):
        subprocess.run(arguments, cwd=ROOT, check=True)
    assert sorted(entry.name for entry in (tmp_path / "cache").iterdir()) == ["converted", "one", "two"]
    assert (tmp_path / "cache/two").readlink() == tmp_path / "models/two"


def test_should_name_port_and_flag_when_the_port_is_taken(worker: WorkerProcess) -> None:
    ports = free_ports()
    result = run("up", "--http-port", str(ports.http), "--grpc-port", str(worker.ports.grpc), "--metrics-port", "0")
    assert result.returncode == 1
    assert f"port {worker.ports.grpc} is already in use" in result.stderr
    assert "--grpc-port" in result.stderr


@pytest.mark.parametrize(("stop", "chosen"), [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_should_serve_in_the_foreground_and_leave_nothing_when_stopped(
    stop: signal.Signals, chosen: bool, tmp_path: Path
) -> None:
    ports = free_ports()
    http, grpc, metrics = (ports.http, ports.grpc, ports.metrics) if chosen else (0, 0, 0)
    arguments = ["--http-port", http, "--grpc-port", grpc, "--metrics-port", metrics]
    for setting in kept_files():
        arguments += ["--set", setting.removeprefix("--")]
    log = tmp_path / "log"
    with log.open("w") as out:
        up = subprocess.Popen(
            [SCRIPT, "up", *map(str, arguments)],
            cwd=tmp_path,
            stdout=out,
            stderr=out,
            # Whoever runs the tests in the background may have had SIGINT ignored, and a child keeps that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        wait_until(lambda: "\nready " in log.read_text() or up.poll() is not None, 120, "the line 'ready ...'")
        assert up.poll() is None, log.read_text()
        assert re.search(r"^ready grpc=[1-9]\d+ http=[1-9]\d+ metrics=[1-9]\d+ ", log.read_text(), re.MULTILINE)
        # The worker took the script's place: one process, so no child can be left behind.
        assert Path(f"/proc/{up.pid}/exe").readlink().name == "java"
        assert Path(f"/proc/{up.pid}/task/{up.pid}/children").read_text().split() == []
        pages = os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
        assert f"GLIBC_TUNABLES={pages}".encode() in Path(f"/proc/{up.pid}/environ").read_bytes().split(b"\0")
        up.send_signal(stop)
        assert up.wait(30) in (0, 128 + stop)
    finally:
        up.kill()
        up.wait()


def test_should_show_digits_from_the_running_server_when_one_answers(worker: WorkerProcess) -> None:
    result = run("demo", "digits", "--grpc-port", str(worker.ports.grpc))
    assert result.returncode == 0, result.stderr
    assert re.search(r"accuracy +358 of 360 \(99\.44 %\)", result.stdout), result.stdout
    assert re.search(r"latency +p50 [0-9.]+ ms, worst [0-9.]+ ms", result.stdout), result.stdout


def test_should_start_and_stop_a_server_of_its_own_when_none_answers() -> None:
    result = run("demo", "digits", "--grpc-port", str(free_ports().grpc))
    assert result.returncode == 0, result.stderr
    assert "server on port" in result.stderr
    assert "accuracy" in result.stdout


def test_should_find_everything_when_doctor_looks_at_a_machine_that_builds() -> None:
    result = run("doctor")
    assert result.returncode == 0, result.stdout
    assert "MISSING" not in result.stdout


def test_should_name_the_fix_when_doctor_finds_no_jdk() -> None:
    parts = ["terminal", "jdk", "tools", "command_doctor"]
    sources = "; ".join(f"source tools/cli/{part}.sh" for part in parts)
    nothing_there = "find_jdk() { return 1; }; examine_jdk"
    result = subprocess.run(["bash", "-c", f"{sources}; {nothing_there}"], cwd=ROOT, capture_output=True, text=True)
    assert re.search(r"MISSING +JDK 25", result.stdout), result.stderr
    assert re.search(r"fix: .*(openjdk-25-jdk-headless|Temurin 25.*JAVA_HOME=)", result.stdout)


def test_should_print_the_same_bytes_when_sim_runs_twice() -> None:
    first, second = (run("sim", "--seed", "7", "--models", "1000", "--seconds", "10") for _ in range(2))
    assert first.returncode == 0
    assert "gap/bound" in first.stdout
    assert first.stdout == second.stdout


def test_should_name_the_benches_when_one_is_unknown() -> None:
    result = run("bench", "wires", "--quick")
    assert result.returncode == 2
    assert "there is no bench 'wires'; there are: first-light, engine, glue, residency" in result.stderr


BENCH_KEYS = {"bench", "cell", "ours", "peer", "unit", "ratio", "goal", "met"}


def test_should_print_objects_of_known_keys_when_bench_is_asked_for_json() -> None:
    result = run("bench", "wire-decode", "--quick", "--json")
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows
    assert all(row.keys() == BENCH_KEYS for row in rows)
