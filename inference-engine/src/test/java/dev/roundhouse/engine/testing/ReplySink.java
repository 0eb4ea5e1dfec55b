package dev.roundhouse.engine.testing;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Collects what comes of one request: copies the answer and closes it, and allows one end. */
public final class ReplySink implements AnswerSink {
  private final CompletableFuture<Reply> reply = new CompletableFuture<>();
  private final List<OutputTensor> outputs = new ArrayList<>();

  /** Completes with the end. */
  public CompletableFuture<Reply> reply() {
    return reply;
  }

  @Override
  public void onPart(Answer part) {
    for (OutputTensor output : part.outputs()) {
      byte[] copy = new byte[(int) output.data().byteSize()];
      MemorySegment.ofArray(copy).copyFrom(output.data());
      outputs.add(
          new OutputTensor(
              output.name(), output.dtype(), output.shape(), MemorySegment.ofArray(copy)));
    }
    part.close();
  }

  @Override
  public void onEnd(Outcome outcome) {
    if (!reply.complete(new Reply(outcome, List.copyOf(outputs)))) {
      throw new AssertionError("a request ended twice, now with " + outcome);
    }
  }

  /** How a request ended, and its outputs, if it has any. */
  public record Reply(Outcome outcome, List<OutputTensor> outputs) {

    /** The version that answered. */
    public String modelVersion() {
      return ((Outcome.Completed) outcome).modelVersion();
    }

    /** Where the time went, of a request that ran. */
    public Outcome.Timings timings() {
      return ((Outcome.Completed) outcome).timings();
    }
  }
}
