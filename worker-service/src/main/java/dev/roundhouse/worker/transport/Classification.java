package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerForm;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.ForwardingSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.kserve.codec.ClassResults;
import dev.roundhouse.kserve.codec.RequestedOutput;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outputs of one request that are wanted as their highest classes: says at admission what that
 * takes, and replaces them in the answer. That is done by a thread of its own: an output may have a
 * million elements, and the dispatch thread has other models to run.
 */
final class Classification implements AnswerForm {
  private static final Logger log = LoggerFactory.getLogger(Classification.class);

  /** How many classes are wanted, by output. */
  private final Map<String, Long> wanted;

  /** The outputs' own specs, of the version that answers. */
  private Map<String, TensorSpec> specs = Map.of();

  private Classification(Map<String, Long> wanted) {
    this.wanted = wanted;
  }

  /** Null when no output is wanted so. */
  static @Nullable Classification of(List<RequestedOutput> outputs) {
    Map<String, Long> wanted = null;
    for (RequestedOutput output : outputs) {
      if (output.classes() > 0) {
        wanted = wanted == null ? new HashMap<>() : wanted;
        wanted.put(output.name(), output.classes());
      }
    }
    return wanted == null ? null : new Classification(wanted);
  }

  @Override
  public long extraBytes(List<TensorSpec> outputs, Variant variant, int rows) {
    long bytes = 0;
    for (TensorSpec output : outputs) {
      Long classes = wanted.get(output.name());
      if (classes == null) {
        continue;
      }
      if (output.batchAxis() > 0) {
        throw new IllegalArgumentException(
            "output '%s' has its rows along axis %d, and 'classification' needs them along axis 0; request it without"
                .formatted(output.name(), output.batchAxis()));
      }
      results(output.name(), output.dtype(), 0, output.classes()); // whether there can be any
      long elements = elements(output, variant);
      ClassResults results = results(output.name(), output.dtype(), elements, output.classes());
      bytes += results.mostBytes(output.isBatched() ? rows : 1) + results.scratchBytes();
    }
    return bytes;
  }

  private static long elements(TensorSpec output, Variant variant) {
    try {
      return output.resolve(1, variant).shape().elementCount();
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "output '%s' has shape %s, whose size is known only when it is made, and 'classification' needs it before; request it without"
              .formatted(output.name(), output.wireShape()),
          e);
    }
  }

  @Override
  public void answeredBy(List<TensorSpec> outputs) {
    specs = new HashMap<>();
    for (TensorSpec output : outputs) {
      if (wanted.containsKey(output.name())) {
        specs.put(output.name(), output);
      }
    }
  }

  private ClassResults results(String output, DType dtype, long elements, ClassLabels labels) {
    try {
      return new ClassResults(dtype, elements, wanted.getOrDefault(output, 0L), labels);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("output '%s': %s".formatted(output, e.getMessage()), e);
    }
  }

  /** What takes the engine's answer, and gives it on with classes in it. */
  AnswerSink before(AnswerSink sink) {
    return new Ranked(sink);
  }

  private List<OutputTensor> replaced(List<OutputTensor> outputs) {
    List<OutputTensor> replaced = new ArrayList<>(outputs.size());
    for (OutputTensor output : outputs) {
      TensorSpec spec = specs.get(output.name());
      replaced.add(spec == null ? output : ranked(output, spec));
    }
    return replaced;
  }

  private OutputTensor ranked(OutputTensor output, TensorSpec spec) {
    boolean batched = spec.isBatched();
    int rows = batched ? (int) output.shape().dim(0) : 1;
    long elements = output.shape().elementCount() / Math.max(1, rows);
    ClassResults results = results(output.name(), output.dtype(), elements, spec.classes());
    byte[] memory = new byte[Math.toIntExact(results.mostBytes(rows))];
    ByteBuffer text = ByteBuffer.wrap(memory).order(ByteOrder.LITTLE_ENDIAN);
    results.write(output.data().asByteBuffer(), rows, text);
    return new OutputTensor(
        output.name(),
        DType.BYTES,
        batched ? Shape.of(rows, results.classes()) : Shape.of(results.classes()),
        MemorySegment.ofArray(memory).asSlice(0, text.position()));
  }

  /** Ranks when the request has ended well, and then tells its sink of both. */
  private final class Ranked extends ForwardingSink {
    private @Nullable Answer answer;

    Ranked(AnswerSink sink) {
      super(sink);
    }

    @Override
    public String onManyParts() {
      return "'classification' is not served for models with decoupled transaction policy; request the outputs %s without"
          .formatted(wanted.keySet());
    }

    @Override
    public void onPart(Answer part) {
      answer = part;
    }

    @Override
    public void onEnd(Outcome outcome) {
      Answer part = answer;
      if (part == null) {
        sink().onEnd(outcome);
        return;
      }
      try {
        Thread.ofVirtual().name("classification").start(() -> rank(part, outcome));
      } catch (RuntimeException | Error e) {
        fail(part, e);
      }
    }

    private void rank(Answer part, Outcome outcome) {
      Answer ranked;
      try {
        ranked = new WithClasses(part, replaced(part.outputs()));
      } catch (RuntimeException | Error e) {
        fail(part, e);
        return;
      }
      try {
        sink().onPart(ranked);
      } catch (RuntimeException | Error e) {
        part.close();
        log.error("the receiver of an answer with classes threw", e);
      }
      sink().onEnd(outcome);
    }

    /** The request must end: its client would wait forever. */
    private void fail(Answer part, Throwable cause) {
      part.close();
      log.error("the classes of an answer could not be told", cause);
      sink()
          .onEnd(
              new Outcome.Failed(
                  Status.INTERNAL,
                  "the classes of the answer could not be told; see the server's log"));
    }
  }

  /**
   * An answer some of whose outputs lie in memory of the JVM.
   *
   * @param whole what it was made of, and is counted with
   */
  private record WithClasses(Answer whole, List<OutputTensor> outputs) implements Answer {
    @Override
    public String modelVersion() {
      return whole.modelVersion();
    }

    @Override
    public void free() {
      whole.free();
    }

    @Override
    public void close() {
      whole.close();
    }
  }
}
