"""Models that are Java: those that Triton's examples of strings and parts ask for, and a test's own."""

import hashlib
from pathlib import Path

REPEAT = """\
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.*;

/** Each element of IN as a part, DELAY milliseconds behind the one before; ends after WAIT. */
class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) throws Exception {
    Tensor in = request.input("IN");
    for (int i = 0; i < in.dim(0); i++) {
      Thread.sleep(request.input("DELAY").u32().get(i));
      Tensor out = request.tensor("OUT", DType.I32, 1);
      out.i32().put(0, in.i32().get(i));
      Tensor index = request.tensor("IDX", DType.U32, 1);
      index.u32().put(0, i);
      request.answer(Tensors.of(out, index));
    }
    Thread.sleep(request.input("WAIT").u32().get(0));
    return Tensors.of();
  }
}
"""
REPEAT_CONTRACT = """\
decoupled: true
client_inputs:
- {name: IN, dtype: i32, shape: [s]}
- {name: DELAY, dtype: u32, shape: [s]}
- {name: WAIT, dtype: u32, shape: [1]}
client_outputs:
- {name: OUT, dtype: i32, shape: [1]}
- {name: IDX, dtype: u32, shape: [1]}
"""
STRINGS = """\
import dev.roundhouse.hooks.*;
import java.util.*;

/** Sums and differences of numbers that are texts. */
class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) {
    List<String> sums = new ArrayList<>();
    List<String> differences = new ArrayList<>();
    Tensor one = request.input("INPUT0");
    Tensor other = request.input("INPUT1");
    for (int i = 0; i < 16 * one.dim(0); i++) {
      int a = Integer.parseInt(one.string(i));
      int b = Integer.parseInt(other.string(i));
      sums.add(Integer.toString(a + b));
      differences.add(Integer.toString(a - b));
    }
    return Tensors.of(
        request.strings("OUTPUT0", sums, one.dim(0), 16),
        request.strings("OUTPUT1", differences, one.dim(0), 16));
  }
}
"""
STRINGS_CONTRACT = """\
client_inputs:
- {name: INPUT0, dtype: bytes, shape: [n, 16]}
- {name: INPUT1, dtype: bytes, shape: [n, 16]}
client_outputs:
- {name: OUTPUT0, dtype: bytes, shape: [n, 16]}
- {name: OUTPUT1, dtype: bytes, shape: [n, 16]}
"""
IDENTITY = """\
import dev.roundhouse.hooks.*;

class Model implements MetaModel {
  @Override
  public Tensors run(HookRequest request, Calls calls) {
    return Tensors.of(request.input("INPUT0").named("OUTPUT0"));
  }
}
"""
IDENTITY_CONTRACT = """\
client_inputs:
- {name: INPUT0, dtype: bytes, shape: [n, s]}
client_outputs:
- {name: OUTPUT0, dtype: bytes, shape: [n, s]}
"""


def write(repository: Path, name: str, contract: str, source: str, *calls: str) -> Path:
    """A meta, with the names of the models that it calls."""
    folder = repository / name
    folder.mkdir(parents=True)
    (folder / "Model.java").write_text(source, encoding="utf-8")
    digest = hashlib.sha256(source.encode()).hexdigest()
    called = ", ".join(calls)
    manifest = (
        f'format_version: "3"\nkind: meta\n{contract}meta: {{calls: [{called}]}}\nfiles:\n  Model.java: {digest}\n'
    )
    (folder / "manifest.yaml").write_text(manifest, encoding="utf-8")
    return folder


def write_repeat(repository: Path, name: str = "repeat_int32") -> Path:
    return write(repository, name, REPEAT_CONTRACT, REPEAT)


def write_strings(repository: Path, name: str = "simple_string") -> Path:
    return write(repository, name, STRINGS_CONTRACT, STRINGS)


def write_identity(repository: Path, name: str = "simple_identity") -> Path:
    return write(repository, name, IDENTITY_CONTRACT, IDENTITY)
