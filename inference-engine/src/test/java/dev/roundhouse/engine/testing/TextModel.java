package dev.roundhouse.engine.testing;

import dev.roundhouse.bundle.model.Axis;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ServingDefaults;
import dev.roundhouse.bundle.model.TensorSpec;
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
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * {@code text bytes[n,s] -> upper bytes[n,s], length i32[n,s], said bytes[n,k]}: texts in upper
 * case, how many bytes they had, and in each row the request's parameters by name, each {@code
 * name=Type value}. Of the parameters {@code answer} is obeyed: {@code dtype} and {@code shape}
 * break the contract. {@code raw} answers {@code text} as it came.
 */
public final class TextModel extends ComposedModel {
  public TextModel(String name) {
    super(spec(name), "1", List.of(8));
  }

  private static ModelSpec spec(String name) {
    Axis s = new Axis.Variable('s');
    return new ModelSpec(
        name,
        "3",
        ModelSpec.Kind.META,
        "",
        List.of(),
        List.of(),
        Optional.of(
            new ModelSpec.ClientContract(
                List.of(new TensorSpec("text", DType.BYTES, List.of(Axis.BATCH, s))),
                List.of(
                    new TensorSpec("upper", DType.BYTES, List.of(Axis.BATCH, s)),
                    new TensorSpec("length", DType.I32, List.of(Axis.BATCH, s)),
                    new TensorSpec(
                        "said", DType.BYTES, List.of(Axis.BATCH, new Axis.Variable('k')))))),
        List.of(),
        List.of(Variant.SINGLE),
        List.of(),
        ServingDefaults.DEFAULT,
        Map.of());
  }

  @Override
  protected void run(ComposedRun run) {
    InputTensor text = run.inputs().getFirst();
    MemorySegment data = ((TensorData.Contiguous) text.data()).data();
    List<String> texts = BytesLayout.strings(data);
    Map<String, Object> parameters = run.request().options().parameters();
    Object answer = parameters.getOrDefault("answer", "");
    MemorySegment upper =
        answer.equals("raw")
            ? MemorySegment.ofArray(new byte[(int) data.byteSize()]).copyFrom(data)
            : BytesLayout.ofStrings(
                texts.stream().map(each -> each.toUpperCase(Locale.ROOT)).toList());
    Shape shape = answer.equals("shape") ? Shape.of(texts.size() + 1, 1) : text.shape();
    List<String> said =
        parameters.entrySet().stream()
            .map(
                each ->
                    "%s=%s %s"
                        .formatted(
                            each.getKey(),
                            each.getValue().getClass().getSimpleName(),
                            each.getValue()))
            .sorted()
            .toList();
    int rows = (int) text.shape().dim(0);
    run.complete(
        List.of(
            new OutputTensor(
                "said",
                DType.BYTES,
                Shape.of(rows, said.size()),
                BytesLayout.ofStrings(
                    Collections.nCopies(rows, said).stream().flatMap(List::stream).toList())),
            new OutputTensor("upper", DType.BYTES, shape, upper),
            new OutputTensor(
                "length",
                answer.equals("dtype") ? DType.F32 : DType.I32,
                text.shape(),
                lengths(texts))));
  }

  private static MemorySegment lengths(List<String> texts) {
    ByteBuffer lengths =
        ByteBuffer.allocate(Integer.BYTES * texts.size()).order(ByteOrder.LITTLE_ENDIAN);
    texts.forEach(text -> lengths.putInt(text.getBytes(StandardCharsets.UTF_8).length));
    return MemorySegment.ofBuffer(lengths.flip());
  }
}
