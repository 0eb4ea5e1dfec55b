package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.codec.MessageMemory;
import dev.roundhouse.kserve.codec.ReadMessage;
import dev.roundhouse.kserve.codec.TensorHeader;
import dev.roundhouse.kserve.codec.TensorSource;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.Body;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.worker.transport.rest.InferDocument.OutputForms;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;

/**
 * A request that is only the bytes of its one tensor, described by the model. One row; one axis
 * beside the batch may be of any size. Every output is answered as a binary tensor.
 */
final class RawInfer {
  private RawInfer() {}

  /**
   * @param inputs what the model takes
   */
  static InferDocument read(
      String model, String version, List<TensorSpec> inputs, Body body, MemoryHold memory) {
    if (inputs.size() != 1) {
      throw WireException.invalidArgument(
          "raw request must only have 1 input to be deduced but model '%s' has %d; send JSON"
              .formatted(model, inputs.size()));
    }
    TensorSpec input = inputs.getFirst();
    boolean bytes = input.dtype() == DType.BYTES;
    TensorHeader tensor =
        new TensorHeader(
            input.name(),
            input.dtype().wireName(),
            dims(model, input, body.length()),
            Map.of(),
            new TensorSource.Raw(bytes ? withLength(body, memory) : body.slice(0, body.length())));
    return new InferDocument(
        new ReadMessage(
            model, version, "", Map.of(), List.of(tensor), List.of(), MessageMemory.COLLECTED),
        OutputForms.ALL_BINARY,
        !bytes);
  }

  private static long[] dims(String model, TensorSpec input, int byteSize) {
    List<Axis> axes = input.axes();
    long[] dims = new long[axes.size()];
    int open = -1;
    long known = 1;
    for (int axis = 0; axis < dims.length; axis++) {
      switch (axes.get(axis)) {
        case Axis.Batch batch -> dims[axis] = 1;
        case Axis.Fixed fixed -> dims[axis] = fixed.extent();
        case Axis.Variable variable -> {
          if (open >= 0) {
            throw WireException.invalidArgument(
                "raw request must have at most one variable dimension to be deduced but input '%s' of model '%s' has shape %s; send JSON"
                    .formatted(input.name(), model, input.wireShape()));
          }
          open = axis;
          dims[axis] = 1;
        }
      }
      known = Math.multiplyExact(known, dims[axis]);
    }
    if (input.dtype() == DType.BYTES) {
      if (known != 1) {
        throw WireException.invalidArgument(
            "raw request must have one element where that is BYTES but input '%s' of model '%s' has shape %s; send JSON"
                .formatted(input.name(), model, input.wireShape()));
      }
      return dims;
    }
    if (open >= 0) {
      long unit = known * input.dtype().byteSize();
      if (unit == 0 || byteSize % unit != 0) {
        throw WireException.invalidArgument(
            "raw request has %d bytes, which is no multiple of the %d that one step of the variable dimension of input '%s' of model '%s' has"
                .formatted(byteSize, unit, input.name(), model));
      }
      dims[open] = byteSize / unit;
    }
    return dims;
  }

  private static ByteBuffer withLength(Body body, MemoryHold memory) {
    memory.take(Integer.BYTES + (long) body.length());
    return ByteBuffer.allocate(Integer.BYTES + body.length())
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(body.length())
        .put(body.bytes(), 0, body.length())
        .flip()
        .asReadOnlyBuffer();
  }
}
