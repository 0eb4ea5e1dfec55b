package dev.roundhouse.pjrt;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What a compiled program takes and returns: parameters from its HLO, results from PJRT. */
record ProgramSignature(List<TensorType> parameters, List<Result> results) {

  record Result(TensorType type, long byteSize) {}

  /**
   * @param types PJRT_Buffer_Type per result
   * @param dimensions per result its rank and then its extents
   * @throws DeviceException when the program cannot be served
   */
  static ProgramSignature of(HloModule module, int[] types, long[] dimensions) {
    List<TensorType> parameters = rowMajor("parameter", module.parameters());
    List<TensorType> fromModule = rowMajor("result", module.results());
    List<Result> results = new ArrayList<>();
    int position = 0;
    for (int type : types) {
      int rank = (int) dimensions[position++];
      Shape shape = Shape.of(Arrays.copyOfRange(dimensions, position, position + rank));
      position += rank;
      TensorType tensor = new TensorType(dtype(type, results.size()), shape);
      results.add(new Result(tensor, byteSize(tensor)));
    }
    if (!results.stream().map(Result::type).toList().equals(fromModule)) {
      throw new DeviceException(
          Code.INTERNAL,
          "the plugin tells of results %s, the compiled program of %s"
              .formatted(results, fromModule));
    }
    return new ProgramSignature(parameters, List.copyOf(results));
  }

  /**
   * Types of values, all of them row-major. The plugin compares byte sizes only, so that a
   * row-major upload would be read transposed; and the CPU plugin ignores the host layout asked of
   * a copy.
   */
  private static List<TensorType> rowMajor(String role, List<HloModule.Value> values) {
    List<TensorType> types = new ArrayList<>();
    for (HloModule.Value value : values) {
      if (!value.rowMajor()) {
        throw new DeviceException(
            Code.UNSUPPORTED,
            "%s %d, %s, has a layout that is not row-major; compile it without a layout attribute"
                .formatted(role, types.size(), value.type()));
      }
      types.add(value.type());
    }
    return List.copyOf(types);
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
