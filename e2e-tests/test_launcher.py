"""The parts of ./roundhouse that decide something, by themselves: memory, jars, the cache."""

import os
import platform
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MIB = 1 << 20


def shell(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    parts = "; ".join(f"source {ROOT}/tools/cli/{part}.sh" for part in ("terminal", "build", "memory"))
    environment = {"PATH": os.environ["PATH"], **variables}
    command = ["bash", "-euo", "pipefail", "-c", f"{parts}; {script}"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)


def limit(tmp_path: Path, cgroup: str, files: dict[str, str], **variables: str) -> str:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text(f"MemTotal:       {16 * 1024 * 1024} kB\nMemFree: 1 kB\n")
    (tmp_path / "proc" / "self" / "cgroup").write_text(cgroup)
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    result = shell(f"PROC_ROOT={tmp_path}/proc CGROUP_ROOT={tmp_path}/cgroup; memory_limit_mib", **variables)
    return result.stdout.strip() or result.stderr.strip()


@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/\n", {"memory.max": f"{2048 * MIB}\n"}, "2048"),
        ("0::/\n", {"memory.max": "max\n"}, "16384"),
        ("0::/\n", {}, "16384"),
        # the limit of a slice above counts too
        ("0::/pods/one\n", {"pods/memory.max": f"{4096 * MIB}\n", "pods/one/memory.max": "max\n"}, "4096"),
        ("0::/pods/one\n", {"pods/memory.max": f"{4096 * MIB}\n", "pods/one/memory.max": f"{1500 * MIB}\n"}, "1500"),
        ("5:cpu:/\n4:memory:/\n0::/\n", {"memory/memory.limit_in_bytes": f"{3000 * MIB}\n"}, "3000"),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, "16384"),
        ("0::/\n", {"memory.max": f"{99_999 * MIB}\n"}, "16384"),
    ],
)
def test_should_find_the_limit_of_the_container(
    cgroup: str, files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    assert limit(tmp_path, cgroup, files) == expected


def test_should_take_the_limit_that_is_given(tmp_path: Path) -> None:
    assert limit(tmp_path, "0::/\n", {"memory.max": f"{2048 * MIB}"}, ROUNDHOUSE_MEMORY_MIB="1200") == "1200"


def test_should_refuse_a_limit_that_is_no_number(tmp_path: Path) -> None:
    assert "takes a number of MiB, not '8g'" in limit(tmp_path, "0::/\n", {}, ROUNDHOUSE_MEMORY_MIB="8g")


PARTS = 'echo "$HEAP_MIB | $DIRECT_MIB | $QUEUED_MIB | $MESSAGE_MIB | $WEIGHTS_MIB"'


@pytest.mark.parametrize("gib", [1, 2, 4, 16, 64])
def test_should_divide_memory_as_the_page_says(gib: int) -> None:
    parts = shell(f"size_memory {gib * 1024}; {PARTS}").stdout.strip()
    assert f"| {gib} GiB | {parts} |" in (ROOT / "docs" / "memory.md").read_text()
    heap, direct, queued, _, weights = map(int, parts.split(" | "))
    assert weights == max(heap, direct, queued, weights)
    assert heap + direct + queued + weights < gib * 1024


def test_should_refuse_to_start_in_too_little_memory() -> None:
    result = shell("memory_options", ROUNDHOUSE_MEMORY_MIB="1023")
    assert result.returncode == 1
    assert "a worker needs 1024 MiB and may use 1023 MiB here" in result.stderr


def test_should_tell_the_process_its_parts() -> None:
    result = shell('memory_options; echo "${MEMORY_OPTIONS[@]}"', ROUNDHOUSE_MEMORY_MIB="4096")
    assert result.stdout.split() == [
        "-Xmx716m",
        "-XX:MaxDirectMemorySize=448m",
        "-XX:+ExitOnOutOfMemoryError",
        "-Dlauncher.max-queued-bytes=358MB",
        "-Dlauncher.max-unread=179MB",
        "-Dlauncher.max-message-size=149MB",
        "-Dlauncher.max-program-memory=2062MB",
    ]


def test_should_divide_memory_among_several_workers_and_their_gateway() -> None:
    result = shell('node_memory 3; echo "${MEMORY_OPTIONS[0]}"', ROUNDHOUSE_MEMORY_MIB=str(3 * 4096 + 960))
    assert result.stdout.split() == ["-Xmx716m"]


def test_should_leave_a_nodes_only_worker_all_but_what_the_supervisor_takes() -> None:
    result = shell('node_memory 1; echo "${MEMORY_OPTIONS[0]}"', ROUNDHOUSE_MEMORY_MIB=str(4096 + 192))
    assert result.stdout.split() == ["-Xmx716m"]
    result = shell("node_memory 1", ROUNDHOUSE_MEMORY_MIB=str(1024 + 191))
    assert "a worker needs 1024 MiB and may use 1023 MiB here" in result.stderr


@pytest.mark.parametrize(("gib", "each"), [(1, 320), (4, 1664), (64, 4096)])
def test_should_divide_a_gateways_memory_as_the_page_says(gib: int, each: int) -> None:
    result = shell('gateway_memory; echo "${MEMORY_OPTIONS[*]}"', ROUNDHOUSE_MEMORY_MIB=str(gib * 1024))
    assert result.stdout.split() == [f"-Xmx{each}m", f"-XX:MaxDirectMemorySize={each}m", "-XX:+ExitOnOutOfMemoryError"]
    assert f"| {gib} GiB | {each} | {each} |" in (ROOT / "docs" / "memory.md").read_text()


def test_should_refuse_a_gateway_too_little_memory() -> None:
    result = shell("gateway_memory", ROUNDHOUSE_MEMORY_MIB="767")
    assert result.returncode == 1
    assert "a gateway needs 768 MiB and may use 767 MiB here" in result.stderr


@pytest.mark.parametrize("own", [None, "", "glibc.malloc.hugetlb=0"])
def test_should_start_a_worker_with_large_pages_unless_a_person_says_otherwise(tmp_path: Path, own: str | None) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho "[$GLIBC_TUNABLES]"')
    java.chmod(0o755)
    variables = {} if own is None else {"GLIBC_TUNABLES": own}
    script = f'source {ROOT}/tools/cli/worker.sh; worker_command models 0 0 0; "${{WORKER[@]}}"'
    result = shell(script, JAVA_HOME=str(tmp_path), JAR="worker.jar", ROUNDHOUSE_MEMORY_MIB="4096", **variables)
    assert result.stdout == f"[{'glibc.malloc.hugetlb=1' if own is None else own}]\n", result.stderr


def test_should_keep_a_jar_that_a_process_has_open(tmp_path: Path) -> None:
    run = tmp_path / "target" / "run"
    run.mkdir(parents=True)
    open_jar, old_jar, new_jar = (run / f"worker-service-{key}.jar" for key in ("open", "old", "new"))
    for jar in (open_jar, old_jar, new_jar):
        jar.write_text("classes")
    an_hour_ago = time.time() - 3600
    for jar in (open_jar, old_jar):
        os.utime(jar, (an_hour_ago, an_hour_ago))
    built = tmp_path / "built.jar"
    built.write_text("newer classes")
    with open_jar.open():
        assert shell(f"keep_jar worker-service {built} key", ROOT=str(tmp_path)).returncode == 0
    assert sorted(jar.name for jar in run.iterdir()) == [
        "worker-service-key.jar",
        "worker-service-new.jar",
        "worker-service-open.jar",
    ]


def test_should_say_what_to_set_when_there_is_no_place_for_the_cache() -> None:
    for script in ("roundhouse", "tools/pjrt-plugin/fetch", "tools/peers/fetch"):
        result = subprocess.run(
            [ROOT / script, "--help"], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
        )
        assert result.returncode != 0
        assert "set HOME, ROUNDHOUSE_CACHE or XDG_CACHE_HOME" in result.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="Triton can be had for x86-64 only")
@pytest.mark.parametrize("what", ["server", "perf-analyzer"])
def test_should_keep_nothing_when_a_wheel_is_not_the_pinned_one(tmp_path: Path, what: str) -> None:
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    # a pip that has another wheel under every name
    python.write_text(
        "#!/usr/bin/env bash\n"
        'while (($# > 0)); do [[ $1 == --dest ]] && mkdir -p "$2" && echo other >"$2/other.whl"; shift; done\n'
    )
    python.chmod(0o755)
    cache = tmp_path / "cache"
    environment = {"PATH": f"{python.parent}:{os.environ['PATH']}", "ROUNDHOUSE_CACHE": str(cache)}
    command = [ROOT / "tools" / "peers" / "fetch", what]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30)
    assert result.returncode != 0
    assert "other.whl has sha256" in result.stderr, result.stderr
    assert list(cache.iterdir()) == []
