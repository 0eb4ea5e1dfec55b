package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.ForwardingSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Traces sampled requests to files, and says which have spans where {@link TraceMode} has that. Any
 * other request costs one read, and a look-up of its model while anything is traced. Thread-safe.
 */
public final class Tracer {
  private final TraceWriter writer;
  private final TensorCopies copies;
  private final LongSupplier clock;
  private final AtomicLong ids = new AtomicLong();
  private volatile @Nullable Sampling sampling;

  /**
   * @param clock the engine's
   */
  Tracer(TraceWriter writer, TensorCopies copies, LongSupplier clock) {
    this.writer = writer;
    this.copies = copies;
    this.clock = clock;
  }

  /**
   * The sink for the answer of a request that has just been read: its own, wrapped by the trace if
   * it is traced.
   *
   * @param inputs of the request, borrowed until it has ended
   */
  public AnswerSink traced(
      String model, String requestId, List<InputTensor> inputs, AnswerSink sink) {
    Sampling by = sampling;
    if (by == null) {
      return sink;
    }
    Sampler sampler = by.of(model);
    return sampler.setting().writesFiles() && sampler.takes()
        ? new Traced(sampler, model, requestId, inputs, sink)
        : sink;
  }

  /**
   * What decides, of a model's requests whose callers say nothing of it, which have spans. Null
   * where the configured ratio does.
   */
  @Nullable Sampler ofSpans(String model) {
    Sampling by = sampling;
    if (by == null) {
      return null;
    }
    Sampler sampler = by.of(model);
    return sampler.setting().decidesSpans() ? sampler : null;
  }

  void use(Sampling changed) {
    boolean writes = changed.writesFiles();
    if (writes) {
      writer.start();
    }
    sampling = writes || changed.decidesSpans() ? changed : null;
  }

  private final class Traced extends ForwardingSink {
    private final Sampler sampler;
    private final String model;
    private final String requestId;
    private final long startNanos = clock.getAsLong();
    private final List<InputTensor> inputs;
    private final Queue<CallReport> calls = new ConcurrentLinkedQueue<>();
    private @Nullable Answer answer; // of whoever answers

    Traced(
        Sampler sampler,
        String model,
        String requestId,
        List<InputTensor> inputs,
        AnswerSink sink) {
      super(sink);
      this.sampler = sampler;
      this.model = model;
      this.requestId = requestId;
      this.inputs = inputs;
    }

    @Override
    public void onCall(CallReport call) {
      calls.add(call);
    }

    @Override
    public void onPart(Answer part) {
      if (part.isLast()) { // an earlier one may be gone at the end
        answer = part;
      }
      sink().onPart(part);
    }

    @Override
    public void onEnd(Outcome outcome) {
      TracedTensors tensors = TracedTensors.NONE;
      try {
        tensors = tensors();
      } finally {
        try {
          sink().onEnd(outcome);
        } finally {
          offer(outcome, tensors);
        }
      }
    }

    /** Copied now: afterwards neither the request's memory nor the answer's need be there. */
    private TracedTensors tensors() {
      if (!sampler.setting().levels().tensors()) {
        return TracedTensors.NONE;
      }
      Answer part = answer;
      return new TracedTensors(
          copies.ofInputs(inputs), part == null ? List.of() : copies.ofOutputs(part.outputs()));
    }

    private void offer(Outcome outcome, TracedTensors tensors) {
      long id = ids.incrementAndGet();
      writer.offer(
          new Trace(
              id, 0, sampler, model, requestId, outcome, tensors, startNanos, clock.getAsLong()));
      for (CallReport call : calls) {
        writer.offer(
            new Trace(
                ids.incrementAndGet(),
                id,
                sampler,
                call.model(),
                requestId,
                call.outcome(),
                TracedTensors.NONE,
                call.startNanos(),
                call.endNanos()));
      }
    }
  }
}
