package dev.roundhouse.gateway.route;

import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.platform.telemetry.SpanWriter;
import dev.roundhouse.platform.telemetry.TraceContexts;
import io.grpc.Status;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The spans of one sampled request: one of the request, and within it one of each worker that it
 * was sent to. For the request's event loop, until it has ended.
 */
final class RequestTrace {

  /** Why a worker was asked. */
  enum Why {
    /** The request's first. */
    FIRST,
    /** Another could not answer. */
    FOLLOW,
    /** Another was slow. */
    HEDGE
  }

  private final SpanExport spans;
  private final TraceContexts contexts;
  private final SpanContext caller;
  private final SpanContext own;
  private final String model;
  private final long epochMinusNano = SpanWriter.epochNanos() - System.nanoTime();
  private final long startNanos;
  private final List<Asked> asked = new ArrayList<>(2);

  /**
   * @param caller invalid for none
   * @param own the request's
   * @param startNanos as {@link System#nanoTime}
   */
  RequestTrace(
      SpanExport spans,
      TraceContexts contexts,
      SpanContext caller,
      SpanContext own,
      String model,
      long startNanos) {
    this.spans = spans;
    this.contexts = contexts;
    this.caller = caller;
    this.own = own;
    this.model = model;
    this.startNanos = startNanos;
  }

  /** The request's span. */
  SpanContext own() {
    return own;
  }

  /** The span of a worker that is asked now. */
  SpanContext worker() {
    return contexts.child(own);
  }

  /** A worker has ended the request, or is not waited for any more. */
  void ended(SpanContext span, String worker, Why why, Status status, long beganNanos) {
    asked.add(new Asked(span, worker, why, status, beganNanos, System.nanoTime()));
  }

  /** The request is over; nothing is told of it afterwards. */
  void over(Status status) {
    long endNanos = System.nanoTime();
    spans.offer(to -> tell(to, status, endNanos));
  }

  private void tell(SpanWriter to, Status status, long endNanos) {
    Span request = to.begin(own, caller, SpanKind.SERVER, "infer " + model, epoch(startNanos));
    request.setAttribute("roundhouse.model", model);
    end(request, status, endNanos);
    for (Asked each : asked) {
      Span span =
          to.begin(
              each.span, own, SpanKind.CLIENT, "worker " + each.worker, epoch(each.beganNanos));
      span.setAttribute("roundhouse.worker", each.worker);
      span.setAttribute("roundhouse.why", each.why.name());
      end(span, each.status, each.endNanos);
    }
  }

  private void end(Span span, Status status, long nanos) {
    span.setAttribute("roundhouse.status", status.getCode().name());
    if (!status.isOk() && status.getCode() != Status.Code.CANCELLED) {
      String text = status.getDescription();
      span.setStatus(StatusCode.ERROR, text == null ? "" : text);
    }
    span.end(epoch(nanos), TimeUnit.NANOSECONDS);
  }

  private long epoch(long nanos) {
    return epochMinusNano + nanos;
  }

  private record Asked(
      SpanContext span, String worker, Why why, Status status, long beganNanos, long endNanos) {}
}
