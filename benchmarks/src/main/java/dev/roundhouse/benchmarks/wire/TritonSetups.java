package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.TritonModel;
import dev.roundhouse.benchmarks.serving.TritonModel.Batching;
import java.util.ArrayList;
import java.util.List;

/** How Triton is set up for a model: in every way that may be its fastest. */
final class TritonSetups {
  /** From here on its Python backend may win, which has tensors in shared memory. */
  private static final int PYTHON_FROM_BYTES = 256 << 10;

  private TritonSetups() {}

  static List<TritonModel> of(List<RowModel> models) {
    List<TritonModel> setups = new ArrayList<>();
    for (RowModel model : models) {
      for (Batching batching : Batching.values()) {
        setups.add(TritonModel.identity(model, "identity", batching));
      }
      if (model.rowBytes() >= PYTHON_FROM_BYTES) {
        setups.add(TritonModel.identity(model, "python", Batching.OFF));
      }
    }
    return setups;
  }
}
