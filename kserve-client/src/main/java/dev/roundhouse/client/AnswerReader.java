package dev.roundhouse.client;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import io.grpc.Status;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads answers. A malformed one is the server's fault: INTERNAL, with what is wrong. */
final class AnswerReader {
  /** Largest array a JVM makes. */
  private static final long MOST_ARRAY_BYTES = Integer.MAX_VALUE - 8;

  private AnswerReader() {}

  /** What becomes of outputs in shared memory. */
  enum Place {
    COPY,
    VIEW
  }

  static InferResult read(
      ModelInferResponse response, @Nullable CallStats stats, @Nullable Loan loan, Place place) {
    Map<String, Tensor> outputs = new LinkedHashMap<>();
    RawContents raw = new RawContents(response, stats);
    for (InferOutputTensor output : response.getOutputsList()) {
      Tensor tensor;
      try {
        tensor = tensor(output, raw, loan, place);
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
        Receipt.of(response.getParametersMap()).orElse(null),
        !response.containsParameters(Parameters.FINAL)
            || response.getParametersOrThrow(Parameters.FINAL).getBoolParam(),
        stats);
  }

  private static Tensor tensor(
      InferOutputTensor output, RawContents raw, @Nullable Loan loan, Place place) {
    DType dtype =
        DType.fromKserveName(output.getDatatype())
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "datatype '%s' is not known".formatted(output.getDatatype())));
    Shape shape = shape(output);
    MemorySegment bytes = raw.next(shared(output));
    if (shared(output) || unsaid(output, dtype, shape, bytes, loan)) {
      MemorySegment written = written(output, new TensorType(dtype, shape), loan);
      return Tensor.of(dtype, shape, place == Place.VIEW ? written : copy(written));
    }
    return bytes != null
        ? Tensor.of(dtype, shape, bytes)
        : TypedContents.read(dtype, shape, output.getContents());
  }

  private static boolean shared(InferOutputTensor output) {
    return output.containsParameters(Parameters.REGION);
  }

  /** Triton does not say that an output is where it was to be; there is none of it elsewhere. */
  private static boolean unsaid(
      InferOutputTensor output,
      DType dtype,
      Shape shape,
      @Nullable MemorySegment bytes,
      @Nullable Loan loan) {
    return bytes != null
        && bytes.byteSize() == 0
        && loan != null
        && loan.outputs().containsKey(output.getName())
        && dtype.fixedSize()
        && shape.elementCount() > 0;
  }

  /** Where the server says that it has written an output: where it was to. */
  private static MemorySegment written(
      InferOutputTensor output, TensorType type, @Nullable Loan loan) {
    MemorySegment place = loan == null ? null : loan.outputs().get(output.getName());
    InferParameter named = output.getParametersMap().get(Parameters.REGION);
    String region = named == null ? "" : named.getStringParam();
    if (loan == null
        || place == null
        || named != null && !region.equals(loan.pool.region().name())) {
      throw new IllegalArgumentException(
          "it is in the region '%s', where nobody wanted it".formatted(region));
    }
    if (type.byteSize() > place.byteSize()) {
      throw new IllegalArgumentException(
          "it is %s of %d bytes, and had room for %d"
              .formatted(type, type.byteSize(), place.byteSize()));
    }
    return place.asSlice(0, type.byteSize());
  }

  private static MemorySegment copy(MemorySegment shared) {
    return shared.byteSize() <= MOST_ARRAY_BYTES
        ? MemorySegment.ofArray(shared.toArray(ValueLayout.JAVA_BYTE))
        : Arena.ofAuto().allocate(shared.byteSize(), Long.BYTES).copyFrom(shared);
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

  /**
   * Raw contents in the order of the outputs: one for each, for each that is not in shared memory,
   * or for none of them.
   */
  private static final class RawContents {
    private final ModelInferResponse response;
    private final boolean ofAll;
    private int next;

    RawContents(ModelInferResponse response, @Nullable CallStats stats) {
      this.response = response;
      int raw = response.getRawOutputContentsCount();
      long sent =
          response.getOutputsList().stream().filter(each -> !AnswerReader.shared(each)).count();
      ofAll = raw == response.getOutputsCount();
      if (raw != 0 && !ofAll && raw != sent) {
        throw new KServeException(
            Status.Code.INTERNAL,
            "'%s' answered %d outputs and raw contents of %d"
                .formatted(response.getModelName(), response.getOutputsCount(), raw),
            null,
            stats);
      }
    }

    /** Null when contents are typed, or in shared memory. */
    @Nullable MemorySegment next(boolean shared) {
      if (response.getRawOutputContentsCount() == 0 || shared && !ofAll) {
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

    private static short[] shorts(List<Integer> contents) {
      short[] values = new short[contents.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = contents.get(i).shortValue();
      }
      return values;
    }

    private static byte[] bytes(List<Integer> contents) {
      byte[] values = new byte[contents.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = contents.get(i).byteValue();
      }
      return values;
    }
  }
}
