package dev.roundhouse.gateway.route;

import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.platform.telemetry.SpanWriter;
import dev.roundhouse.platform.telemetry.TraceContexts;
import dev.roundhouse.platform.telemetry.WrittenSpan;
import io.grpc.Status;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import java.util.ArrayList;
import java.util.List;

/**
 * The spans of one sampled request: one of the request, and within it one of each worker that it
 * was sent to. For the request's event loop, until it has ended.
 */
final class RequestTrace {
  private static final AttributeKey<String> MODEL = AttributeKey.stringKey("roundhouse.model");
  private static final AttributeKey<String> WORKER = AttributeKey.stringKey("roundhouse.worker");
  private static final AttributeKey<String> WHY = AttributeKey.stringKey("roundhouse.why");
  private static final AttributeKey<String> STATUS = AttributeKey.stringKey("roundhouse.status");

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
    WrittenSpan request =
        to.begin(own, caller, SpanKind.SERVER, "infer " + model, epoch(startNanos));
    request.set(MODEL, model);
    end(request, status, endNanos);
    for (Asked each : asked) {
      WrittenSpan span =
          to.begin(
              each.span, own, SpanKind.CLIENT, "worker " + each.worker, epoch(each.beganNanos));
      span.set(WORKER, each.worker);
      span.set(WHY, each.why.name());
      end(span, each.status, each.endNanos);
    }
  }

  private void end(WrittenSpan span, Status status, long nanos) {
    span.set(STATUS, status.getCode().name());
    if (!status.isOk() && status.getCode() != Status.Code.CANCELLED) {
      String text = status.getDescription();
      span.error(text == null ? "" : text);
    }
    span.end(epoch(nanos));
  }

  private long epoch(long nanos) {
    return epochMinusNano + nanos;
  }

  private record Asked(
      SpanContext span, String worker, Why why, Status status, long beganNanos, long endNanos) {}
}
