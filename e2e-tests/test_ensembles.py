"""Ensembles: converted from Triton's form, by gRPC and HTTP, beside the same models called one after the other."""

import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

import bundle_files
import java_bundles
from conftest import running
from worker_process import ROOT, WorkerProcess

FOLDER = "ROUNDHOUSE_TRITON_EXAMPLES"
CONFIG = """\
platform: "ensemble"
max_batch_size: 4
input { name: "IMAGE" data_type: TYPE_STRING dims: [ 1 ] }
output { name: "SCORES" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" }
ensemble_scheduling {
  step { model_name: "decode" model_version: -1
    input_map { key: "image" value: "IMAGE" } output_map { key: "pixels" value: "pixels" } }
  step { model_name: "means" model_version: -1
    input_map { key: "pixels" value: "pixels" } output_map { key: "means" value: "SCORES" } }
}
"""
DECODE = """\
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.*;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import javax.imageio.ImageIO;

/** Pictures, each in a file's bytes, as 8 x 8 pixels with red, green and blue from 0 to 1. */
class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) throws IOException {
    Tensor image = request.input("image");
    int rows = image.dim(0);
    Tensor pixels = request.tensor("pixels", DType.F32, rows, 8, 8, 3);
    for (int row = 0; row < rows; row++) {
      byte[] file = new byte[image.bytes(row).remaining()];
      image.bytes(row).get(file);
      BufferedImage read = ImageIO.read(new ByteArrayInputStream(file));
      if (read == null) {
        throw HookException.invalid("row " + row + " is no picture that is known here");
      }
      for (int i = 0; i < 64; i++) {
        int rgb = read.getRGB(i % 8 * read.getWidth() / 8, i / 8 * read.getHeight() / 8);
        for (int c = 0; c < 3; c++) {
          pixels.f32().put((row * 64 + i) * 3 + c, ((rgb >> (16 - 8 * c)) & 0xff) / 255f);
        }
      }
    }
    return Tensors.of(pixels);
  }
}
"""
DECODE_CONTRACT = """\
client_inputs:
- {name: image, dtype: bytes, shape: [n, 1]}
client_outputs:
- {name: pixels, dtype: f32, shape: [n, 8, 8, 3]}
"""
MEANS = """\
format_version: "3"
kind: model
description: the mean of each colour
inputs:
- {name: pixels, dtype: f32, shape: [n, 8, 8, 3]}
outputs:
- {name: means, dtype: f32, shape: [n, 3]}
batch_sizes: [1, 4]
files:
"""
PROGRAM = """\
module {{
  func.func public @main(%pixels: tensor<{rows}x8x8x3xf32>) -> tensor<{rows}x3xf32> {{
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%pixels init: %zero) applies stablehlo.add across dimensions = [1, 2]
      : (tensor<{rows}x8x8x3xf32>, tensor<f32>) -> tensor<{rows}x3xf32>
    %many = stablehlo.constant dense<64.0> : tensor<{rows}x3xf32>
    %mean = stablehlo.divide %sum, %many : tensor<{rows}x3xf32>
    return %mean : tensor<{rows}x3xf32>
  }}
}}
"""


COLOURS = {"red": (250, 10, 10), "green": (0, 128, 0), "blue": (20, 20, 60)}


def png(colour: tuple[int, int, int], size: int = 16) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(colour) * size) * size
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def convert(repository: Path, models: Path) -> None:
    """Makes bundles of a repository of Triton's that holds the ensemble."""
    for name in ("preprocess_inception_ensemble", "pictures"):
        folder = repository / name
        (folder / "1").mkdir(parents=True)
        (folder / "config.pbtxt").write_text(CONFIG)
        (folder / "labels.txt").write_text("red\ngreen\nblue\n")
    command = [sys.executable, "-m", "roundhouse_export", "repository", str(repository), "--out", str(models)]
    path = str(ROOT / "tools" / "model-export" / "src")
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("ensembles")
    convert(folder / "triton", folder / "models")
    java_bundles.write(folder / "models", "decode", DECODE_CONTRACT, DECODE)
    programs = {f"model.b{rows}.mlir": PROGRAM.format(rows=rows) for rows in (1, 4)}
    bundle_files.write(folder / "models" / "means", MEANS, programs)
    with running(folder / "models", folder / "log") as process:
        yield process


def test_should_answer_as_its_steps_do(server: WorkerProcess) -> None:
    pictures = np.array([[png(colour)] for colour in COLOURS.values()], np.object_)
    with triton.InferenceServerClient(server.address) as client:
        image = triton.InferInput("image", [3, 1], "BYTES").set_data_from_numpy(pictures)
        pixels = client.infer("decode", [image]).as_numpy("pixels")
        given = triton.InferInput("pixels", list(pixels.shape), "FP32").set_data_from_numpy(pixels)
        means = client.infer("means", [given]).as_numpy("means")
        whole = triton.InferInput("IMAGE", [3, 1], "BYTES").set_data_from_numpy(pictures)
        answer = client.infer("pictures", [whole]).as_numpy("SCORES")
        np.testing.assert_array_equal(answer, means)
        np.testing.assert_allclose(answer, np.array(list(COLOURS.values())) / 255, atol=1e-5)
        counts = {
            each.name: each.inference_count for each in client.get_inference_statistics().model_stats if each.version
        }
        assert (counts["pictures"], counts["decode"], counts["means"]) == (3, 6, 6)


def test_should_say_that_it_is_an_ensemble(server: WorkerProcess) -> None:
    with triton_http.InferenceServerClient(f"127.0.0.1:{server.ports.http}") as client:
        assert client.get_model_metadata("pictures")["platform"] == "ensemble"
        config = client.get_model_config("pictures")
        assert (config["platform"], config["max_batch_size"]) == ("ensemble", 4)
        steps = config["ensemble_scheduling"]["step"]
        assert [step["model_name"] for step in steps] == ["decode", "means"]
        assert steps[0]["input_map"] == {"image": "IMAGE"}


def test_should_end_with_the_step_that_fails(server: WorkerProcess) -> None:
    with triton.InferenceServerClient(server.address) as client:
        wrong = triton.InferInput("IMAGE", [1, 1], "BYTES").set_data_from_numpy(np.array([[b"no picture"]], np.object_))
        with pytest.raises(InferenceServerException, match="model 'decode', which model 'pictures' calls: row 0 is no"):
            client.infer("pictures", [wrong])


@pytest.mark.parametrize("protocol", ["grpc", "HTTP"])
def test_should_serve_the_example_of_triton(server: WorkerProcess, tmp_path: Path, protocol: str) -> None:
    folder = os.environ.get(FOLDER)
    if not folder:
        pytest.skip(f"{FOLDER} names no folder with Triton's Python examples")
    for name, colour in COLOURS.items():
        (tmp_path / f"{name}.png").write_bytes(png(colour))
    address = server.address if protocol == "grpc" else f"127.0.0.1:{server.ports.http}"
    command = [sys.executable, str(Path(folder) / "ensemble_image_client.py"), "-u", address, "-i", protocol]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("PASS")
    found = re.findall(r"(\w+)\.png.*\n.*\n.*= (\w+)", done.stdout)
    assert found == [("blue", "blue"), ("green", "green"), ("red", "red")]
