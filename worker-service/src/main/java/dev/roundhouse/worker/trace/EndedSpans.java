package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Receipt;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.platform.telemetry.EndedRequest;
import dev.roundhouse.platform.telemetry.SharedRuns;
import dev.roundhouse.platform.telemetry.SpanWriter;
import dev.roundhouse.platform.telemetry.WrittenSpan;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request that has ended, and its spans: of itself, of its stages, and of each call that answered
 * it with its stages.
 *
 * @param caller invalid for none
 * @param own the request's span
 * @param epochMinusClock what makes a time since 1970 of one on the engine's clock
 * @param request the request itself, from when it was read until its answer was handed over
 * @param moreCalls that have no spans
 */
record EndedSpans(
    String model,
    String requestId,
    SpanContext caller,
    SpanContext own,
    long epochMinusClock,
    CallReport request,
    List<CallReport> calls,
    int moreCalls)
    implements EndedRequest {
  private static final String COMPUTE = "compute";
  private static final AttributeKey<String> REQUEST_ID =
      AttributeKey.stringKey("roundhouse.request_id");
  private static final AttributeKey<Long> CALLS_WITHOUT_SPANS =
      AttributeKey.longKey("roundhouse.calls_without_spans");
  private static final AttributeKey<String> MODEL = AttributeKey.stringKey("roundhouse.model");
  private static final AttributeKey<String> SHED = AttributeKey.stringKey("roundhouse.shed");
  private static final AttributeKey<String> STATUS = AttributeKey.stringKey("roundhouse.status");
  private static final AttributeKey<String> MESSAGE = AttributeKey.stringKey("roundhouse.message");
  private static final AttributeKey<String> MODEL_VERSION =
      AttributeKey.stringKey("roundhouse.model_version");
  private static final AttributeKey<Long> BATCH_ROWS =
      AttributeKey.longKey("roundhouse.batch_rows");
  private static final AttributeKey<Long> PADDING_ROWS =
      AttributeKey.longKey("roundhouse.padding_rows");
  private static final AttributeKey<Boolean> WEIGHTS_CAME =
      AttributeKey.booleanKey("roundhouse.weights_came");
  private static final AttributeKey<Long> LOAD_NS = AttributeKey.longKey("roundhouse.load_ns");
  private static final AttributeKey<String> RUN = AttributeKey.stringKey("roundhouse.run");

  @Override
  public void join(SharedRuns runs) {
    for (CallReport each : calls.isEmpty() ? List.of(request) : calls) {
      SharedRun run = SharedRun.of(each.outcome());
      if (run != null) {
        runs.add(run, own);
      }
    }
  }

  @Override
  public void tell(SpanWriter to) {
    WrittenSpan span =
        to.begin(own, caller, SpanKind.SERVER, "infer " + model, epoch(request.startNanos()));
    if (!requestId.isEmpty()) {
      span.set(REQUEST_ID, requestId);
    }
    if (moreCalls > 0) {
      span.set(CALLS_WITHOUT_SPANS, (long) moreCalls);
    }
    end(to, span, request, calls.isEmpty()); // else they say more of its stages
    for (CallReport call : calls) {
      end(to, to.begin(own, "call " + call.model(), epoch(call.startNanos())), call, true);
    }
  }

  private void end(SpanWriter to, WrittenSpan span, CallReport report, boolean withStages) {
    span.set(MODEL, report.model());
    switch (report.outcome()) {
      case Outcome.Completed completed -> {
        completed(span, completed);
        if (withStages) {
          stages(to, span.getSpanContext(), completed.timings());
        }
      }
      case Outcome.Refused refused -> failed(span, refused.status(), refused.message());
      case Outcome.Failed failed -> failed(span, failed.status(), failed.message());
      case Outcome.Shed shed -> {
        span.set(SHED, shed.reason().name());
        failed(span, shed.status(), shed.message());
      }
      case Outcome.Cancelled cancelled -> failed(span, Status.CANCELLED, cancelled.message());
    }
    span.end(epoch(report.endNanos()));
  }

  /** What is the caller's fault, or wish, is no error of this service. */
  private static void failed(WrittenSpan span, Status status, String message) {
    span.set(STATUS, status.name());
    switch (status) {
      case INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, CANCELLED ->
          span.set(MESSAGE, message);
      default -> span.error(message);
    }
  }

  private static void completed(WrittenSpan span, Outcome.Completed completed) {
    Outcome.Timings took = completed.timings();
    span.set(STATUS, "OK");
    span.set(MODEL_VERSION, completed.modelVersion());
    if (took.batchRows() > 0) {
      span.set(BATCH_ROWS, (long) took.batchRows());
      span.set(PADDING_ROWS, (long) took.paddingRows());
    }
    Receipt receipt = completed.receipt();
    if (receipt != null && receipt.weightsCame()) {
      span.set(WEIGHTS_CAME, true);
      span.set(LOAD_NS, receipt.loadNanos());
    }
  }

  /** A stage that took no time is none. */
  private void stages(SpanWriter to, SpanContext within, Outcome.Timings took) {
    long ran = took.acceptedNanos() + took.queueNanos();
    long ready = ran + took.computeInputNanos();
    long output = took.answeredNanos() - took.computeOutputNanos();
    stage(to, within, "queue", took.acceptedNanos(), ran);
    stage(to, within, "input", ran, ready);
    compute(to, within, Math.max(ready, output - took.computeNanos()), output, SharedRun.of(took));
    stage(to, within, "output", output, took.answeredNanos());
  }

  private void compute(
      SpanWriter to, SpanContext within, long start, long end, @Nullable SharedRun run) {
    if (run == null) {
      stage(to, within, COMPUTE, start, end);
    } else if (end > start) {
      List<SpanContext> others = to.runs().others(run, own);
      to.begin(within, COMPUTE, epoch(start), others).set(RUN, run.id()).end(epoch(end));
    }
  }

  private void stage(SpanWriter to, SpanContext within, String name, long start, long end) {
    if (end > start) {
      to.begin(within, name, epoch(start)).end(epoch(end));
    }
  }

  private long epoch(long nanos) {
    return epochMinusClock + nanos;
  }
}
