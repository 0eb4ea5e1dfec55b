"""Demos that make a bundle first, as a user runs them; each compares its answers with a peer's itself."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from client_tools import cache
from worker_process import ROOT

PNG = b"\x89PNG\r\n\x1a\n"
MAKING = 900  # seconds: environments, wheels and the bundle, where none of them is there yet

makes_bundle = pytest.mark.skipif(
    os.environ.get("ROUNDHOUSE_E2E_DEMOS") != "full",
    reason="makes a bundle of a trained model, for minutes the first time: ./roundhouse test --demos",
)

needs_pytorch = pytest.mark.skipif(
    not any(cache().glob("venv-export-torch-*/.complete")),
    reason="PyTorch is a download of 4 GB, which ./roundhouse demo detect makes",
)


def demo(*arguments: str, timeout: float = MAKING) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "roundhouse", "demo", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)


@makes_bundle
def test_should_find_the_faces_that_onnxruntime_finds() -> None:
    result = demo("faces")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "9 faces in a picture of 1024 x 768" in result.stdout
    assert re.search(r"boxes differ by [0-9.e-]+ px at most, landmarks by [0-9.e-]+ px", result.stdout), result.stdout
    drawn = re.search(r"^picture +(/.+\.png)$", result.stdout, re.MULTILINE)
    assert drawn, result.stdout
    assert Path(drawn[1]).read_bytes().startswith(PNG)


@makes_bundle
def test_should_embed_texts_as_sentence_transformers_does() -> None:
    result = demo("embed")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "tokens    397 in 11 texts" in result.stdout
    off = re.search(r"sentence-transformers, .*: 11 texts differ by ([0-9.e-]+) at most", result.stdout)
    assert off, result.stdout
    assert float(off[1]) < 1e-4


@makes_bundle
def test_should_tell_files_apart_as_magika_does() -> None:
    result = demo("classify")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^ *[01]\.[0-9]+ +markdown +README\.md$", result.stdout, re.MULTILINE), result.stdout
    assert "the same labels for 19 files" in result.stdout


@makes_bundle
def test_should_read_the_lines_that_were_written() -> None:
    result = demo("read")
    assert result.returncode == 0, result.stdout + result.stderr
    right = re.search(r"^lines +([0-9]+) of 50 read, spaces aside", result.stdout, re.MULTILINE)
    assert right, result.stdout
    assert int(right[1]) >= 49
    assert re.search(r"([0-9]+) of \1 texts the same, scores differ by", result.stdout), result.stdout


@makes_bundle
def test_should_step_water_as_numpy_does_and_move_none_of_it() -> None:
    result = demo("pde")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "moved     12 bytes to the device and 12 from it by a step that asks for figures" in result.stdout
    off = re.search(r"^beside +numpy: after 600 steps the surface differs by ([0-9.e-]+)", result.stdout, re.MULTILINE)
    assert off, result.stdout
    assert float(off[1]) < 1e-5
    drawn = re.search(r"^picture +(/.+\.png)$", result.stdout, re.MULTILINE)
    assert drawn, result.stdout
    assert Path(drawn[1]).read_bytes().startswith(PNG)


@makes_bundle
def test_should_continue_texts_as_jax_does() -> None:
    result = demo("stream")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Beautiful is better than ugly." in result.stdout
    assert re.search(r"^beside +JAX: 3 of 3 texts the same, [0-9]+ characters$", result.stdout, re.MULTILINE), (
        result.stdout
    )
    assert re.search(r"^left .* the decoder had run [0-9]+ times, and runs no more$", result.stdout, re.MULTILINE)


@makes_bundle
@needs_pytorch
def test_should_detect_as_torchvision_does() -> None:
    result = demo("detect")
    assert result.returncode == 0, result.stdout + result.stderr
    off = re.search(
        r"torchvision, .*: the same ([0-9]+) labels, boxes differ by ([0-9.e-]+) px at most, scores by ([0-9.e-]+)$",
        result.stdout,
        re.MULTILINE,
    )
    assert off, result.stdout
    assert float(off[2]) <= 1e-2
    assert float(off[3]) <= 1e-5
    right = re.search(r"^shapes +([0-9]+) of ([0-9]+) found", result.stdout, re.MULTILINE)
    assert right, result.stdout
    assert int(off[1]) >= int(right[1]) >= 0.9 * int(right[2]) > 0
    for kind in ("circle", "square", "triangle", "cross"):
        assert re.search(rf"^ *[01]\.[0-9]+ .* {kind}$", result.stdout, re.MULTILINE), result.stdout
    drawn = re.search(r"^picture +(/.+\.png)$", result.stdout, re.MULTILINE)
    assert drawn, result.stdout
    assert Path(drawn[1]).read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("faces", "--grpc-port", "8001"), 2, "demo faces starts a server of its own"),
        (("embed", "--grpc-port", "8001"), 2, "demo embed starts a server of its own"),
        (("faces", "a.png", "b.png"), 2, "demo faces takes one picture, got 'a.png' and 'b.png'"),
        (("read", "a.png", "b.png"), 2, "demo read takes one picture, got 'a.png' and 'b.png'"),
        (("detect", "a.png", "b.png"), 2, "demo detect takes one picture, got 'a.png' and 'b.png'"),
        (("pde", "more"), 2, "demo pde takes nothing more, and got 'more'"),
        (("stream", "a", "b"), 2, "demo stream takes one text, got 'a' and 'b'"),
        (("faces", "nothing.png"), 1, "demo faces: nothing.png is no file that can be read"),
        (("detect", "nothing.png"), 1, "demo detect: nothing.png is no file that can be read"),
        (("classify", "README.md", "docs"), 1, "demo classify: docs is no file that can be read"),
        (("digits", "more"), 2, "demo digits takes nothing more, and got 'more'"),
        (("nothing",), 2, "there is no demo 'nothing'"),
    ],
)
def test_should_refuse_before_anything_is_made(arguments: tuple[str, ...], code: int, complaint: str) -> None:
    result = demo(*arguments, timeout=20)
    assert result.returncode == code
    assert complaint in result.stderr


def test_should_list_all_demos() -> None:
    names = [line.split()[0] for line in demo("list", timeout=20).stdout.splitlines()]
    assert names == sorted(names)
    assert {"classify", "detect", "digits", "embed", "faces", "pde", "read", "stream"} <= set(names)
