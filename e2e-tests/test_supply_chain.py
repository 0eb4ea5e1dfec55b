"""What is downloaded, what is shipped, and what is known to be at fault; the page is docs/supply-chain.md."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import affected
import boms
import jars
import lock_python
import pytest
import unpinned
import write_sboms

from worker_process import ROOT

ADVISORIES = ROOT / "tools" / "advisories" / "advisories.json"
BUILD_SECONDS = 900


def jar(*entries: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as out:
        for name, data in entries:
            out.writestr(name, data)
    return packed.getvalue()


def part(name: str, version: str, data: bytes) -> boms.Component:
    purl = f"pkg:maven/org.example/{name}@{version}?type=jar"
    return boms.component("library", name, version, purl, sha256=hashlib.sha256(data).hexdigest(), licence="MIT")


def application(folder: Path, parts: list[boms.Component], *libraries: tuple[str, bytes]) -> Path:
    made = folder / "application.jar"
    about = boms.component("application", "app", "1.0", "pkg:maven/dev.roundhouse/app@1.0")
    document = json.dumps(boms.document(about, parts)).encode()
    inside = [(f"BOOT-INF/lib/{name}", data) for name, data in libraries]
    made.write_bytes(jar((write_sboms.INSIDE, document), *inside))
    return made


def check(folder: Path, *purls: str) -> subprocess.CompletedProcess[str]:
    about = boms.component("application", "made-up", "1")
    parts = [boms.component("library", "x", "1", purl) for purl in purls]
    sbom = folder / "made-up.cdx.json"
    sbom.write_text(json.dumps(boms.document(about, parts)))
    command = [sys.executable, ROOT / "tools" / "advisories" / "affected.py", ADVISORIES, sbom]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_should_pin_what_is_downloaded() -> None:
    command = [sys.executable, ROOT / "tools" / "pins" / "unpinned.py"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "curl -fsSL https://example.org/tool.tar.gz | tar xz",
        "wget http://example.org/tool",
        "python3 -m pip install requests",
        '"$VENV/bin/pip" download numpy',
        'subprocess.run([sys.executable, "-m", "pip", "install", "requests"])',
        "npm install left-pad",
        "npx cowsay",
        "go install example.org/tool@latest",
        'run(need("go"), "get", "example.org/tool")',
        "git clone https://example.org/tool",
        "docker pull example/image",
        "FROM example/image:latest",
        'urllib.request.urlopen("https://example.org/weights")',
        "mvn dependency:get -Dartifact=org.example:tool:1",
        "apt-get install -y tool",
    ],
)
def test_should_refuse_a_download_that_nobody_listed(tmp_path: Path, line: str) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "new.sh").write_text(f"# curl https://example.org in a comment\n    {line}\n")
    (fault,) = unpinned.unlisted(tmp_path, ["tools/new.sh"], [])
    assert fault.startswith("tools/new.sh: ")
    listed = {"file": "tools/new.sh", "line": line, "pin": "tried"}
    assert list(unpinned.unlisted(tmp_path, ["tools/new.sh"], [listed])) == []
    (gone,) = unpinned.unlisted(tmp_path, [], [listed])
    assert "is not in tools/new.sh any more" in gone
    (hashless,) = unpinned.unlisted(tmp_path, ["tools/new.sh"], [listed | {"hashes": "tools/new.sh"}])
    assert "has no hash" in hashless


def test_should_refuse_a_lock_that_is_not_of_its_requirements(tmp_path: Path) -> None:
    requirements, lock = tmp_path / "requirements.txt", tmp_path / "requirements.lock"
    requirements.write_text("a-b==1\nc[extra]==2\n")
    assert "not there" in next(unpinned.faulty_locks({lock: [requirements]}))
    digest = f"--hash=sha256:{'0' * 64}"
    lock.write_text(f"# made\na_b==1 \\\n    {digest}\nc==2 ; sys_platform == 'linux' \\\n    {digest}\n")
    assert list(unpinned.faulty_locks({lock: [requirements]})) == []
    lock.write_text(f"a-b==1\nc==3 {digest}\n")
    faults = list(unpinned.faulty_locks({lock: [requirements]}))
    assert len(faults) == 2
    assert "a-b has no hash" in faults[0]
    assert "requirements.txt, which has c[extra]==2" in faults[1]


def test_should_install_no_environment_but_from_locks() -> None:
    locks = {lock.relative_to(ROOT).as_posix() for lock in lock_python.environments()}
    assert "e2e-tests/requirements.lock" in locks
    calls = [
        line
        for script in sorted((ROOT / "tools" / "cli").glob("*.sh"))
        for line in script.read_text().splitlines()
        if "ensure_venv " in line and not line.strip().startswith("#")
    ]
    assert calls
    assert [line for line in calls if ".lock" not in line and '"$lock"' not in line] == []


def test_should_have_the_jars_that_are_pinned(tmp_path: Path) -> None:
    pins = jars.pinned(jars.PINS.read_text())
    assert "netty-codec-http2" in {name.rpartition("-")[0] for name in pins}
    built = os.environ.get("ROUNDHOUSE_E2E_JAR")
    if built:
        assert jars.faults(jars.third_party(Path(built)), pins) == []
    made = application(tmp_path, [], ("a-1.jar", b"a"), ("b-1.jar", b"b"), ("transport-1.jar", b"ours"))
    found = jars.third_party(made)
    assert sorted(found) == ["a-1.jar", "b-1.jar"]
    wrong = jars.faults(found, {"a-1.jar": "0"})
    assert len(wrong) == 2
    assert "not 0 as" in wrong[0]
    assert "b-1.jar" in wrong[1]


def test_should_refuse_a_jar_whose_libraries_are_not_all_named(tmp_path: Path) -> None:
    named = part("a", "1", b"a")
    document = write_sboms.of_jar("app", application(tmp_path, [named], ("a-1.jar", b"a")))
    assert [each["name"] for each in document["components"]] == ["a"]
    for parts, library, complaint in (
        ([named], ("b-1.jar", b"b"), "b-1.jar: not named"),
        ([named], ("a-1.jar", b"other"), "a-1.jar: of another SHA-256"),
        ([boms.component("library", "a", "1", "pkg:maven/x/a@1")], ("a-1.jar", b"a"), "without a SHA-256"),
    ):
        with pytest.raises(SystemExit, match=complaint):
            write_sboms.of_jar("app", application(tmp_path, parts, library))
    bare = tmp_path / "bare.jar"
    bare.write_bytes(jar(("x", b"")))
    with pytest.raises(SystemExit, match="build it with the profile sbom"):
        write_sboms.of_jar("app", bare)


def test_should_name_what_boot_adds_and_classifiers(tmp_path: Path) -> None:
    native = part("n", "1.Final", b"n")
    native["purl"] = "pkg:maven/io.netty/n@1.Final?classifier=linux-x86_64&type=jar"
    made = application(
        tmp_path, [native], ("n-1.Final-linux-x86_64.jar", b"n"), ("spring-boot-jarmode-tools-4.jar", b"j")
    )
    document = write_sboms.of_jar("app", made)
    assert (
        document["components"][1]["purl"] == "pkg:maven/org.springframework.boot/spring-boot-jarmode-tools@4?type=jar"
    )


def test_should_say_what_an_image_has_beside_jars(tmp_path: Path) -> None:
    packages = [
        "Package: bash\nStatus: install ok installed\nVersion: 5.2+b1\nArchitecture: amd64\n",
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\nArchitecture: all\n",
    ]
    (tmp_path / "status").write_text("\n".join(packages))
    (tmp_path / "os-release").write_text('NAME="Debian"\nID=debian\n')
    (tmp_path / "release").write_text('IMPLEMENTOR="Eclipse Adoptium"\nJAVA_VERSION="25.0.1"\nMODULES="java.base"\n')
    about = boms.component("application", "worker-service", "1")
    of_jars = {"worker-service": boms.document(about, [part("a", "1", b"a")])}
    plugin = boms.component("library", "xla-cpu-pjrt", "0.0.1", "pkg:pypi/xla-cpu-pjrt@0.0.1")
    image = write_sboms.of_image("roundhouse-worker", "1", of_jars, plugin, tmp_path)
    assert [each["name"] for each in image["components"]] == ["openjdk", "bash", "a", "xla-cpu-pjrt", "worker-service"]
    again = write_sboms.of_image("roundhouse-worker", "1", of_jars, plugin, tmp_path)
    assert json.dumps(again) == json.dumps(image)


def test_should_name_every_package_that_the_exporter_pins() -> None:
    document = write_sboms.of_python("1", None)
    named = {each["name"] for each in document["components"]}
    pins = list(lock_python.lines(write_sboms.EXPORT / "requirements.txt", "-r"))
    assert named == {boms.normal(pin.split("==")[0]) for pin in pins}
    assert all(each["hashes"] for each in document["components"])


@pytest.mark.parametrize(
    ("purl", "advisory"),
    [
        ("pkg:maven/io.netty/netty-codec-http2@4.2.3.Final?type=jar", "CVE-2025-55163"),
        ("pkg:maven/org.springframework.boot/spring-boot@4.0.5", "CVE-2026-40976"),
        ("pkg:maven/org.apache.tomcat.embed/tomcat-embed-core@11.0.0-M5", "CVE-2025-24813"),
        ("pkg:pypi/keras@3.8.0", "CVE-2025-1550"),
    ],
)
def test_should_end_with_1_when_a_version_is_affected(tmp_path: Path, purl: str, advisory: str) -> None:
    result = check(tmp_path, "pkg:deb/debian/bash@1", purl)
    assert result.returncode == 1
    assert advisory in result.stdout
    assert "fixed in " in result.stdout


def test_should_end_with_0_when_none_is_affected(tmp_path: Path) -> None:
    result = check(tmp_path, "pkg:maven/io.netty/netty-codec-http2@4.2.17.Final", "pkg:maven/x/unknown@0.1")
    assert result.returncode == 0, result.stdout
    assert result.stdout.startswith("2 packages, ")
    assert ": 0 affected" in result.stdout


def test_should_order_versions_as_maven_and_pip_do() -> None:
    rising = [
        "0",
        "1.0.dev1",
        "1.0-alpha-1",
        "1.0b2",
        "1.0-M1",
        "1.0rc1",
        "1.0-SNAPSHOT",
        "1.0",
        "1.0.1",
        "1.2",
        "1.10",
    ]
    keys = [affected.version_key(version) for version in rising]
    assert keys == sorted(keys)
    assert len({tuple(key) for key in keys}) == len(rising)
    assert affected.version_key("4.2.0.Final") == affected.version_key("4.2")
    assert affected.version_key("33.6.0-jre") == affected.version_key("33.6")
    assert not affected.is_affected("3.0", [{"introduced": "1", "fixed": "2"}])
    assert affected.is_affected("3.0", [{"introduced": "1"}])


def test_should_have_advisories_that_can_be_compared() -> None:
    kept = json.loads(ADVISORIES.read_text())
    assert len(kept["advisories"]) > 50
    for advisory in kept["advisories"]:
        assert advisory["ecosystem"] in affected.ECOSYSTEMS.values()
        assert advisory["packages"]
        for each in advisory["ranges"]:
            assert affected.version_key(each["introduced"]) < affected.version_key(each["fixed"]), advisory["id"]


@pytest.mark.skipif("ROUNDHOUSE_E2E_SBOM" not in os.environ, reason="builds the applications: ROUNDHOUSE_E2E_SBOM=1")
def test_should_write_documents_of_all_that_is_shipped(tmp_path: Path) -> None:
    command = [ROOT / "roundhouse", "sbom", f"--out={tmp_path}", "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert result.returncode == 0, result.stderr
    applications = {"worker-service", "gateway-service", "node-supervisor"}
    written = {file.name.removesuffix(".cdx.json") for file in tmp_path.iterdir()}
    assert written == {*applications, *write_sboms.IMAGES, "roundhouse", "roundhouse-export"}
    for name in applications:
        parts = json.loads((tmp_path / f"{name}.cdx.json").read_text())["components"]
        assert [each["name"] for each in parts if not each["version"] or not each.get("licenses")] == []
    assert ": 0 affected" in result.stdout


def release(*arguments: str, key: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "COSIGN_KEY"}
    if key:
        environment["COSIGN_KEY"] = key
    command = [ROOT / "roundhouse", "release", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


BASES = (f"--base=debian@sha256:{'a' * 64}", f"--jdk=temurin@sha256:{'b' * 64}")


def test_should_print_what_a_release_would_do_and_do_none_of_it(tmp_path: Path) -> None:
    out = tmp_path / "release"
    result = release("--dry-run", f"--out={out}", "--repository=registry.example/team", *BASES, key="/a/secret.key")
    assert result.returncode == 0, result.stderr
    assert not out.exists()
    assert "secret" not in result.stdout + result.stderr
    lines = result.stdout.splitlines()
    places = [
        next(place for place, line in enumerate(lines) if text in line)
        for text in (
            "cp worker-service.jar ",
            "-m build ",
            "roundhouse sbom --check ",
            "roundhouse image --engine docker --repository registry.example/team ",
            " --engine=docker --repository=registry.example/team --tag=",
            "write_checksums ",
            'cosign sign-blob --yes --key "$COSIGN_KEY" ',
            "docker push registry.example/team/roundhouse-worker:",
            'cosign sign --yes --key "$COSIGN_KEY" registry.example/team/roundhouse-worker@sha256:',
            "cosign attest ",
        )
    ]
    assert places == sorted(places)
    signed = {line.rpartition("/")[2] for line in lines if line.startswith("cosign sign-blob ")}
    assert "SHA256SUMS" in signed
    assert {name.partition("-")[0] for name in signed if name.endswith(".jar")} == {"worker", "gateway", "node"}
    assert sum(line.startswith("cosign sign --yes") for line in lines) == 3


def test_should_sign_nothing_without_a_key_and_say_so(tmp_path: Path) -> None:
    result = release("--dry-run", f"--out={tmp_path / 'release'}")
    assert result.returncode == 0, result.stderr
    assert "cosign" not in result.stdout
    assert "COSIGN_KEY is not set: nothing is signed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ((), 2, "release needs --out=FOLDER"),
        (("--out=/tmp", "--dry-run"), 1, "/tmp is there already"),
        (("--out=/tmp/none", "--fast"), 2, "release does not know '--fast'"),
        (("--out=/tmp/none", BASES[0]), 2, "--base and --jdk are of images, which need --repository"),
        (("--out=/tmp/none", "--repository=r", "--base=debian:13-slim"), 2, "--base takes an image by its digest"),
        (("--out=/tmp/none", "--repository=r", BASES[0]), 2, "--jdk takes an image by its digest"),
    ],
)
def test_should_refuse_a_release_and_say_why(arguments: tuple[str, ...], code: int, complaint: str) -> None:
    result = release(*arguments)
    assert result.returncode == code
    assert complaint in result.stderr
