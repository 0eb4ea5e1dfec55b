package dev.roundhouse.worker;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.model.ComposedModel;
import dev.roundhouse.engine.model.ComposedRun;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Takes 8 rows at once. Embeds a text as its bytes, the rows of the request that it came in, and
 * 0.1; ranks a document by its bytes; classifies a text by the same numbers as it embeds it, as
 * {@code long}, {@code crowded} or {@code little}. Has a token for each byte. Throws at the text
 * {@code fail}, and makes NaN of {@code nan}.
 */
final class TaskModel extends ComposedModel {
  static final int ROWS = 8;
  private static final int WIDTH = 3;

  private final TextTask task;

  TaskModel(String name, TextTask.Kind kind) {
    this(name, task(kind));
  }

  private TaskModel(String name, TextTask task) {
    super(spec(name, task), "1", List.of(ROWS));
    this.task = task;
  }

  private static TextTask task(TextTask.Kind kind) {
    boolean wide = kind != TextTask.Kind.RERANK;
    return new TextTask(
        kind,
        wide ? List.of(text("text")) : List.of(text("query"), text("document")),
        new TensorSpec(
                "result",
                DType.F32,
                wide ? List.of(Axis.BATCH, new Axis.Fixed(WIDTH)) : List.of(Axis.BATCH))
            .withClasses(
                ClassLabels.parse("long\ncrowded\nlittle".getBytes(StandardCharsets.UTF_8))),
        wide);
  }

  private static TensorSpec text(String name) {
    return new TensorSpec(name, DType.BYTES, List.of(Axis.BATCH));
  }

  private static ModelSpec spec(String name, TextTask task) {
    List<TensorSpec> outputs =
        List.of(task.result(), new TensorSpec(TextTask.TOKENS, DType.I32, List.of(Axis.BATCH)));
    return new ModelSpec(
        name,
        "3",
        ModelSpec.Kind.META,
        "",
        List.of(),
        List.of(),
        Optional.of(new ModelSpec.ClientContract(task.inputs(), outputs)),
        List.of(),
        List.of(Variant.SINGLE),
        List.of(),
        List.of(),
        false,
        ServingDefaults.DEFAULT,
        Map.of(),
        Optional.of(task));
  }

  @Override
  protected void run(ComposedRun run) {
    InputTensor input = run.inputs().getLast();
    List<String> texts = BytesLayout.strings(((TensorData.Contiguous) input.data()).data());
    int rows = texts.size();
    ByteBuffer result = floats(rows * task.width());
    ByteBuffer tokens = floats(rows);
    for (String text : texts) {
      if (text.equals("fail")) {
        throw new IllegalStateException("told to");
      }
      int bytes = text.getBytes(StandardCharsets.UTF_8).length;
      if (text.equals("nan")) {
        result.putFloat(Float.NaN).putFloat(Float.NaN).putFloat(Float.NaN);
      } else {
        result.putFloat(bytes);
        if (task.width() > 1) {
          result.putFloat(rows).putFloat(0.1f);
        }
      }
      tokens.putInt(bytes);
    }
    Shape shape = task.width() > 1 ? Shape.of(rows, WIDTH) : Shape.of(rows);
    run.complete(
        List.of(
            new OutputTensor("result", DType.F32, shape, MemorySegment.ofBuffer(result.flip())),
            new OutputTensor(
                TextTask.TOKENS,
                DType.I32,
                Shape.of(rows),
                MemorySegment.ofBuffer(tokens.flip()))));
  }

  private static ByteBuffer floats(int count) {
    return ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }
}
