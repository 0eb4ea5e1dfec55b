package dev.roundhouse.benchmarks.serving;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.bundle.BundleDraft;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * A model whose answer is as large as what it is asked: f32 {@code x} [n, elements] in, {@code y}
 * [n, elements] out.
 *
 * @param rowBytes each way, a multiple of 4
 * @param batchSizes that programs are compiled for
 * @param work what XLA does with each number
 */
public record RowModel(int rowBytes, List<Integer> batchSizes, Work work) {
  /** What is done with each number. */
  public enum Work {
    /** None: the answer is a copy. */
    COPY("identity", "return %arg0", 1),
    /** A result that nothing but an execution gives. */
    NEGATE("negation", "%0 = stablehlo.negate %arg0 : TYPE\n    return %0", -1);

    private final String noun;
    private final String statements;
    private final int sign;

    Work(String noun, String statements, int sign) {
      this.noun = noun;
      this.statements = statements;
      this.sign = sign;
    }
  }

  /** Batches of up to 64. */
  private static final List<Integer> TO_64 = List.of(1, 4, 16, 64);

  public static final RowModel NEGATE_FOUR_KIB = new RowModel(4096, TO_64, Work.NEGATE);
  public static final RowModel COPY_FOUR_KIB = new RowModel(4096, TO_64, Work.COPY);

  public String name() {
    return work.noun + "-" + rowBytes;
  }

  public int elements() {
    return rowBytes / Float.BYTES;
  }

  /** Writes the bundle into a folder of its own in {@code repository}. */
  public void write(Path repository) throws IOException {
    write(repository, name());
  }

  /** The same, under a name that {@link #request} does not have. */
  public void write(Path repository, String name) throws IOException {
    Map<Integer, String> programs =
        batchSizes.stream().collect(Collectors.toMap(Function.identity(), this::code));
    new BundleDraft(
            "%s of %d numbers, for benchmarks".formatted(work.noun, elements()),
            List.of("{name: x, dtype: f32, shape: [n, %d]}".formatted(elements())),
            List.of("{name: y, dtype: f32, shape: [n, %d]}".formatted(elements())),
            programs,
            List.of())
        .write(repository.resolve(name));
  }

  /** A request of one row that counts from 0. */
  public ModelInferRequest request() {
    return request(1);
  }

  /** A request of so many equal rows. */
  public ModelInferRequest request(int rows) {
    return withoutData(rows)
        .addRawInputContents(ByteString.copyFrom(Collections.nCopies(rows, row())))
        .build();
  }

  /** What a request of so many rows says of them. */
  public ModelInferRequest.Builder withoutData(int rows) {
    return ModelInferRequest.newBuilder()
        .setModelName(name())
        .addInputs(
            InferInputTensor.newBuilder()
                .setName("x")
                .setDatatype("FP32")
                .addShape(rows)
                .addShape(elements()));
  }

  /** Fails unless {@code response} is what the model answers to {@link #request}. */
  public void check(ModelInferResponse response) {
    if (!response.getRawOutputContentsList().equals(List.of(answerRow()))) {
      throw new IllegalStateException(
          "the worker's answer is not the %s: ".formatted(work.noun) + response.getOutputsList());
    }
  }

  /** The row that counts from 0. */
  public ByteString row() {
    return row(1);
  }

  /** What the model answers to it. */
  public ByteString answerRow() {
    return row(work.sign);
  }

  private ByteString row(int sign) {
    ByteBuffer values = ByteBuffer.allocate(rowBytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < elements(); i++) {
      values.putFloat(sign * (float) i);
    }
    return ByteString.copyFrom(values.flip());
  }

  private String code(int batch) {
    String type = "tensor<%dx%dxf32>".formatted(batch, elements());
    return """
        module @rows {
          func.func public @main(%arg0: TYPE) -> TYPE {
            STATEMENTS : TYPE
          }
        }
        """
        .replace("STATEMENTS", work.statements)
        .replace("TYPE", type);
  }
}
