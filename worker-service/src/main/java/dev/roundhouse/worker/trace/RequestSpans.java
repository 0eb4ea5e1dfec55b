package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.ForwardingSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.platform.telemetry.SpanWriter;
import dev.roundhouse.platform.telemetry.TraceContexts;
import io.opentelemetry.api.trace.SpanContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Notes of sampled requests what their spans need, and hands it over once they are answered.
 * Thread-safe.
 */
public final class RequestSpans {
  /** Calls of one request that have spans; how many more there were is told. */
  static final int MOST_CALLS = 128;

  private final SpanExport export;
  private final TraceContexts contexts;
  private final Tracer tracer;
  private final LongSupplier clock;
  private final LatestTraces latest;

  private RequestSpans(
      SpanExport export,
      TraceContexts contexts,
      Tracer tracer,
      LongSupplier clock,
      LatestTraces latest) {
    this.export = export;
    this.contexts = contexts;
    this.tracer = tracer;
    this.clock = clock;
    this.latest = latest;
  }

  /**
   * Null when no request has spans.
   *
   * @param tracer knows what clients have set
   * @param clock the engine's
   * @param latest told of those that are answered
   */
  public static @Nullable RequestSpans of(
      SpanExport export, Tracer tracer, LongSupplier clock, LatestTraces latest) {
    TraceContexts contexts = export.contexts();
    return contexts == null ? null : new RequestSpans(export, contexts, tracer, clock, latest);
  }

  /** The span that a caller has for its requests, by its headers; invalid when it says of none. */
  public SpanContext caller(@Nullable String traceparent, @Nullable String tracestate) {
    return contexts.caller(traceparent, tracestate);
  }

  /**
   * The span of a request; null when it has none.
   *
   * @param caller as {@link #caller} has it
   */
  public @Nullable SpanContext own(String model, SpanContext caller) {
    Sampler set = caller.isValid() ? null : tracer.ofSpans(model);
    if (set == null) {
      return contexts.request(caller);
    }
    return set.takes() ? contexts.root() : null;
  }

  /**
   * Wraps the sink for the answer of a request that has spans.
   *
   * @param caller as {@link #caller} has it
   * @param own as {@link #own} has it
   */
  public AnswerSink traced(
      String model, String requestId, SpanContext caller, SpanContext own, AnswerSink sink) {
    return new Traced(model, requestId, caller, own, sink);
  }

  private final class Traced extends ForwardingSink {
    private final String model;
    private final String requestId;
    private final SpanContext caller;
    private final SpanContext own;
    private final long startNanos = clock.getAsLong();
    private final long epochMinusClock = SpanWriter.epochNanos() - startNanos;

    // Guarded by this.
    private final List<CallReport> calls = new ArrayList<>(0);
    private int moreCalls;

    Traced(String model, String requestId, SpanContext caller, SpanContext own, AnswerSink sink) {
      super(sink);
      this.model = model;
      this.requestId = requestId;
      this.caller = caller;
      this.own = own;
    }

    @Override
    public void onCall(CallReport call) {
      sink().onCall(call);
      synchronized (this) {
        if (calls.size() < MOST_CALLS) {
          calls.add(call);
        } else {
          moreCalls++;
        }
      }
    }

    @Override
    public void onEnd(Outcome outcome) {
      try {
        sink().onEnd(outcome);
      } finally {
        if (outcome instanceof Outcome.Completed completed) {
          noteLatest(completed.timings());
        }
        export.offer(ended(outcome));
      }
    }

    private void noteLatest(Outcome.Timings took) {
      latest.answered(
          model,
          new LatestTraces.Told(
              own.getTraceId(),
              own.getSpanId(),
              (took.answeredNanos() - took.acceptedNanos()) / 1e9,
              TimeUnit.NANOSECONDS.toMillis(epochMinusClock + took.answeredNanos())));
    }

    private synchronized EndedSpans ended(Outcome outcome) {
      return new EndedSpans(
          model,
          requestId,
          caller,
          own,
          epochMinusClock,
          new CallReport(model, outcome, startNanos, clock.getAsLong()),
          List.copyOf(calls),
          moreCalls);
    }
  }
}
