package dev.roundhouse.client;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import io.grpc.Status;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads answers. One that makes no sense is the server's fault: INTERNAL, with what is wrong. */
final class AnswerReader {
  private AnswerReader() {}

  static InferResult read(ModelInferResponse response, @Nullable CallStats stats) {
    Map<String, Tensor> outputs = new LinkedHashMap<>();
    RawContents raw = new RawContents(response, stats);
    for (InferOutputTensor output : response.getOutputsList()) {
      Tensor tensor;
      try {
        tensor = tensor(output, raw);
      } catch (IllegalArgumentException | ArithmeticException e) {
        throw wrong(response, output.getName(), String.valueOf(e.getMessage()), stats);
      }
      if (outputs.put(output.getName(), tensor) != null) {
        throw wrong(response, output.getName(), "it is there twice", stats);
      }
    }
    return new InferResult(
        response.getModelName(),
        response.getModelVersion(),
        response.getId(),
        Collections.unmodifiableMap(outputs),
        ServerTimings.of(response.getParametersMap()).orElse(null),
        !response.containsParameters(Parameters.FINAL)
            || response.getParametersOrThrow(Parameters.FINAL).getBoolParam(),
        stats);
  }

  private static Tensor tensor(InferOutputTensor output, RawContents raw) {
    DType dtype =
        DType.fromKserveName(output.getDatatype())
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "datatype '%s' is not known".formatted(output.getDatatype())));
    Shape shape = shape(output);
    MemorySegment bytes = raw.next();
    return bytes != null
        ? Tensor.of(dtype, shape, bytes)
        : TypedContents.read(dtype, shape, output.getContents());
  }

  static Shape shape(InferOutputTensor output) {
    long[] dims = new long[output.getShapeCount()];
    for (int axis = 0; axis < dims.length; axis++) {
      dims[axis] = output.getShape(axis);
    }
    return Shape.of(dims);
  }

  static KServeException wrong(
      ModelInferResponse response, String output, String why, @Nullable CallStats stats) {
    return new KServeException(
        Status.Code.INTERNAL,
        "output '%s' of '%s' makes no sense: %s".formatted(output, response.getModelName(), why),
        null,
        stats);
  }

  /** Raw contents in the order of the outputs: one for each, or for none of them. */
  private static final class RawContents {
    private final ModelInferResponse response;
    private int next;

    RawContents(ModelInferResponse response, @Nullable CallStats stats) {
      this.response = response;
      int raw = response.getRawOutputContentsCount();
      if (raw != 0 && raw != response.getOutputsCount()) {
        throw new KServeException(
            Status.Code.INTERNAL,
            "'%s' answered %d outputs and raw contents of %d"
                .formatted(response.getModelName(), response.getOutputsCount(), raw),
            null,
            stats);
      }
    }

    /** Null when contents are typed. */
    @Nullable MemorySegment next() {
      if (response.getRawOutputContentsCount() == 0) {
        return null;
      }
      ByteString bytes = response.getRawOutputContents(next++);
      return MemorySegment.ofBuffer(bytes.asReadOnlyByteBuffer());
    }
  }

  /** Contents that are lists of numbers, as servers other than Roundhouse and Triton answer. */
  private static final class TypedContents {
    private TypedContents() {}

    static Tensor read(DType dtype, Shape shape, InferTensorContents contents) {
      long[] dims = shape.dims();
      if (dims.length == 0 || shape.elementCount() == 0) {
        // A shape of no extents would be taken for one that is not given.
        return Tensor.of(dtype, shape, elements(dtype, contents).bytes());
      }
      return elements(dtype, contents).reshaped(dims);
    }

    private static Tensor elements(DType dtype, InferTensorContents contents) {
      return switch (dtype) {
        case F32 -> Tensor.of(floats(contents));
        case F64 ->
            Tensor.of(contents.getFp64ContentsList().stream().mapToDouble(d -> d).toArray());
        case I64 -> Tensor.of(contents.getInt64ContentsList().stream().mapToLong(l -> l).toArray());
        case U64 ->
            Tensor.of(dtype, contents.getUint64ContentsList().stream().mapToLong(l -> l).toArray());
        case I32 -> Tensor.of(contents.getIntContentsList().stream().mapToInt(i -> i).toArray());
        case U32 ->
            Tensor.of(dtype, contents.getUintContentsList().stream().mapToInt(i -> i).toArray());
        case I16 -> Tensor.of(dtype, shorts(contents.getIntContentsList()));
        case U16 -> Tensor.of(dtype, shorts(contents.getUintContentsList()));
        case I8 -> Tensor.of(dtype, bytes(contents.getIntContentsList()));
        case U8 -> Tensor.of(dtype, bytes(contents.getUintContentsList()));
        case BOOL -> Tensor.of(booleans(contents));
        case BYTES ->
            Tensor.ofByteStrings(
                contents.getBytesContentsList().stream().map(ByteString::toByteArray).toList());
        case F16, BF16, F8_E5M2, F8_E4M3 ->
            throw new IllegalArgumentException(
                "%s has no typed contents, and there are no raw ones".formatted(dtype.wireName()));
      };
    }

    private static float[] floats(InferTensorContents contents) {
      float[] values = new float[contents.getFp32ContentsCount()];
      for (int i = 0; i < values.length; i++) {
        values[i] = contents.getFp32Contents(i);
      }
      return values;
    }

    private static boolean[] booleans(InferTensorContents contents) {
      boolean[] values = new boolean[contents.getBoolContentsCount()];
      for (int i = 0; i < values.length; i++) {
        values[i] = contents.getBoolContents(i);
      }
      return values;
    }

    private static short[] shorts(java.util.List<Integer> contents) {
      short[] values = new short[contents.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = contents.get(i).shortValue();
      }
      return values;
    }

    private static byte[] bytes(java.util.List<Integer> contents) {
      byte[] values = new byte[contents.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = contents.get(i).byteValue();
      }
      return values;
    }
  }
}
