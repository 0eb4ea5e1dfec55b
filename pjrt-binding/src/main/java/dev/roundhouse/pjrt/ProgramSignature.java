package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What a compiled program takes and returns: parameters from its HLO, results as PJRT tells. */
record ProgramSignature(List<TensorType> parameters, List<Result> results) {

  /** {@code rowMajor} tells the layout on the device; hosts only ever see row-major. */
  record Result(TensorType type, long byteSize, boolean rowMajor) {}

  /**
   * @param types PJRT_Buffer_Type per result
   * @param dimensions per result its rank and then its extents
   * @throws DeviceException when the program cannot be served
   */
  static ProgramSignature of(HloModule module, int[] types, long[] dimensions) {
    List<TensorType> parameters = new ArrayList<>();
    for (HloModule.Value parameter : module.parameters()) {
      // The plugin compares byte sizes only: a row-major upload would be read transposed.
      if (!parameter.rowMajor()) {
        throw new DeviceException(
            Code.UNSUPPORTED,
            "parameter %d, %s, asks for a layout that is not row-major; compile it without a layout attribute"
                .formatted(parameters.size(), parameter.type()));
      }
      parameters.add(parameter.type());
    }
    List<Result> results = new ArrayList<>();
    int position = 0;
    for (int type : types) {
      int rank = (int) dimensions[position++];
      Shape shape = Shape.of(Arrays.copyOfRange(dimensions, position, position + rank));
      position += rank;
      boolean rowMajor =
          results.size() < module.results().size()
              && module.results().get(results.size()).rowMajor();
      TensorType tensor = new TensorType(dtype(type, results.size()), shape);
      results.add(new Result(tensor, byteSize(tensor), rowMajor));
    }
    return new ProgramSignature(List.copyOf(parameters), List.copyOf(results));
  }

  private static DType dtype(int bufferType, int index) {
    return ElementType.fromBufferType(bufferType)
        .orElseThrow(
            () ->
                new DeviceException(
                    Code.UNSUPPORTED,
                    "result %d has PJRT element type %d, which no tensor here has"
                        .formatted(index, bufferType)))
        .dtype();
  }

  private static long byteSize(TensorType type) {
    try {
      return type.byteSize();
    } catch (ArithmeticException e) {
      throw new DeviceException(
          Code.OUT_OF_MEMORY, "result " + type + " has more bytes than a long can count", e);
    }
  }
}
