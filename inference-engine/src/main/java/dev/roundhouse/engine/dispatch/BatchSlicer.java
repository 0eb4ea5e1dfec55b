package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Cuts a batch's outputs back into what each request asked for. Padding rows go to nobody. */
final class BatchSlicer {
  private BatchSlicer() {}

  /**
   * @param row first row of the request in the batch
   */
  static List<OutputTensor> slice(Batch batch, InferenceRequest request, int row) {
    List<TensorSpec> specs = batch.lane().model().spec().outputs();
    int[] wanted = request.admitted().outputs();
    int count = wanted == null ? specs.size() : wanted.length;
    List<OutputTensor> outputs = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int index = wanted == null ? i : wanted[i];
      RowLayout layout = batch.program().outputs().get(index);
      outputs.add(
          cut(specs.get(index), layout, batch.execution(), index, row, request.admitted().rows()));
    }
    return outputs;
  }

  private static OutputTensor cut(
      TensorSpec spec, RowLayout layout, Execution execution, int index, int row, int rows) {
    MemorySegment data = MemorySegment.ofArray(new byte[Math.toIntExact(layout.bytesOf(rows))]);
    DeviceBuffer buffer = execution.output(index);
    long length = data.byteSize() / Math.max(layout.outer(), 1);
    if (length > 0) {
      for (long repetition = 0; repetition < layout.outer(); repetition++) {
        buffer.read(
            layout.offset(repetition, layout.batched() ? row : 0),
            layout.outer() == 1 ? data : data.asSlice(repetition * length, length));
      }
    }
    Shape shape = layout.type().shape();
    Shape own = layout.batched() ? shape.withDim(spec.batchAxis(), rows) : shape;
    return new OutputTensor(spec.name(), spec.dtype(), own, data);
  }
}
