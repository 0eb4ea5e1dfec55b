package dev.roundhouse.worker.trace;

import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Receipt;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.platform.telemetry.EndedRequest;
import dev.roundhouse.platform.telemetry.SharedRuns;
import dev.roundhouse.platform.telemetry.SpanWriter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import java.util.List;
import java.util.concurrent.TimeUnit;
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
    Span span =
        to.begin(own, caller, SpanKind.SERVER, "infer " + model, epoch(request.startNanos()));
    if (!requestId.isEmpty()) {
      span.setAttribute("roundhouse.request_id", requestId);
    }
    if (moreCalls > 0) {
      span.setAttribute("roundhouse.calls_without_spans", moreCalls);
    }
    end(to, span, request, calls.isEmpty()); // else they say more of its stages
    for (CallReport call : calls) {
      end(to, to.begin(own, "call " + call.model(), epoch(call.startNanos())), call, true);
    }
  }

  private void end(SpanWriter to, Span span, CallReport report, boolean withStages) {
    span.setAttribute("roundhouse.model", report.model());
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
        span.setAttribute("roundhouse.shed", shed.reason().name());
        failed(span, shed.status(), shed.message());
      }
      case Outcome.Cancelled cancelled -> failed(span, Status.CANCELLED, cancelled.message());
    }
    span.end(epoch(report.endNanos()), TimeUnit.NANOSECONDS);
  }

  /** What is the caller's fault, or wish, is no error of this service. */
  private static void failed(Span span, Status status, String message) {
    span.setAttribute("roundhouse.status", status.name());
    switch (status) {
      case INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, CANCELLED ->
          span.setAttribute("roundhouse.message", message);
      default -> span.setStatus(StatusCode.ERROR, message);
    }
  }

  private static void completed(Span span, Outcome.Completed completed) {
    Outcome.Timings took = completed.timings();
    span.setAttribute("roundhouse.status", "OK");
    span.setAttribute("roundhouse.model_version", completed.modelVersion());
    if (took.batchRows() > 0) {
      span.setAttribute("roundhouse.batch_rows", took.batchRows());
      span.setAttribute("roundhouse.padding_rows", took.paddingRows());
    }
    Receipt receipt = completed.receipt();
    if (receipt != null && receipt.weightsCame()) {
      span.setAttribute("roundhouse.weights_came", true);
      span.setAttribute("roundhouse.load_ns", receipt.loadNanos());
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
      to.begin(within, COMPUTE, epoch(start), others)
          .setAttribute("roundhouse.run", run.id())
          .end(epoch(end), TimeUnit.NANOSECONDS);
    }
  }

  private void stage(SpanWriter to, SpanContext within, String name, long start, long end) {
    if (end > start) {
      to.begin(within, name, epoch(start)).end(epoch(end), TimeUnit.NANOSECONDS);
    }
  }

  private long epoch(long nanos) {
    return epochMinusClock + nanos;
  }
}
