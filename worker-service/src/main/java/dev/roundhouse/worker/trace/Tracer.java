package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Traces the requests that are sampled. Costs a request that is not one read, and a look-up of its
 * model when any is. Thread-safe.
 */
public final class Tracer {
  private final TraceWriter writer;
  private final LongSupplier clock;
  private final AtomicLong ids = new AtomicLong();
  private volatile @Nullable Sampling sampling;

  /**
   * @param clock the engine's
   */
  Tracer(TraceWriter writer, LongSupplier clock) {
    this.writer = writer;
    this.clock = clock;
  }

  /**
   * Where the answer of a request that has just been read goes: to its sink, by way of the trace if
   * it is traced.
   */
  public AnswerSink traced(String model, String requestId, AnswerSink sink) {
    Sampling by = sampling;
    if (by == null) {
      return sink;
    }
    Sampler sampler = by.of(model);
    return sampler.takes() ? new Traced(sampler, model, requestId, sink) : sink;
  }

  void use(Sampling changed) {
    boolean on = changed.isOn();
    if (on) {
      writer.start();
    }
    sampling = on ? changed : null;
  }

  private final class Traced implements AnswerSink {
    private final Sampler sampler;
    private final String model;
    private final String requestId;
    private final AnswerSink sink;
    private final long startNanos = clock.getAsLong();

    Traced(Sampler sampler, String model, String requestId, AnswerSink sink) {
      this.sampler = sampler;
      this.model = model;
      this.requestId = requestId;
      this.sink = sink;
    }

    @Override
    public void onPart(Answer part) {
      sink.onPart(part);
    }

    @Override
    public void onEnd(Outcome outcome) {
      try {
        sink.onEnd(outcome);
      } finally {
        writer.offer(
            new Trace(
                ids.incrementAndGet(),
                sampler,
                model,
                requestId,
                outcome,
                startNanos,
                clock.getAsLong()));
      }
    }
  }
}
