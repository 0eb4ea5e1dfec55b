package dev.roundhouse.worker.transport;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.transport.TransportRequest;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.telemetry.TraceContexts;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http1.ReceivedRequest;
import dev.roundhouse.worker.payload.PayloadTap;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.trace.RequestSpans;
import dev.roundhouse.worker.trace.Tracer;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.Lease;
import io.grpc.StatusException;
import io.opentelemetry.api.trace.SpanContext;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a request for inference passes on its way in, by whatever transport. Thread-safe. */
public final class Inference {
  private final Engine engine;
  private final ClientRegions regions;
  private final Tracer tracer;
  private final @Nullable RequestSpans spans;
  private final ReceiptOrigin origin;
  private final Tenants tenants;
  private final @Nullable Tee tee;
  private final @Nullable PayloadTap payloads;

  /**
   * @param regions of memory that clients share
   * @param spans null when no request has any
   * @param origin of answers, as their receipts say it
   * @param tenants whose requests are told apart
   * @param tee null when no request is copied
   * @param payloads null when none is sent to a collector
   */
  public Inference(
      Engine engine,
      ClientRegions regions,
      Tracer tracer,
      @Nullable RequestSpans spans,
      ReceiptOrigin origin,
      Tenants tenants,
      @Nullable Tee tee,
      @Nullable PayloadTap payloads) {
    this.engine = engine;
    this.regions = regions;
    this.tracer = tracer;
    this.spans = spans;
    this.origin = origin;
    this.tenants = tenants;
    this.tee = tee;
    this.payloads = payloads;
  }

  public Engine engine() {
    return engine;
  }

  /**
   * Holds a request against what its caller may do.
   *
   * @param caller null when nothing is checked
   * @param bytes of the request
   * @throws WireException when the caller may not use the model, or has used up its quota
   */
  public static void admit(@Nullable CallerRights caller, String model, long bytes) {
    if (caller == null) {
      return;
    }
    try {
      caller.infer(model);
    } catch (StatusException e) {
      throw new WireException(
          e.getStatus().getCode() == io.grpc.Status.Code.RESOURCE_EXHAUSTED
              ? WireStatus.RESOURCE_EXHAUSTED
              : WireStatus.PERMISSION_DENIED,
          String.valueOf(e.getStatus().getDescription()));
    }
    caller.arrived(bytes);
  }

  /**
   * Checks a request in itself and holds the shared memory that it names.
   *
   * @return to be closed when the answer has been written or given up
   * @throws WireException when it makes no sense, or its memory cannot be had
   */
  public InferExchange begin(InferMessage message) {
    try {
      return InferExchange.begin(message, regions, origin);
    } catch (WireException e) {
      countRefused(message.modelName(), e);
      throw e;
    }
  }

  /**
   * Holds a region of system shared memory, which the caller closes.
   *
   * @throws WireException when there is none of the name, or shared memory is off
   */
  public Lease region(String name) {
    return regions.lease(name);
  }

  /**
   * Counts a request that is refused before the engine, which counts all others, has seen it: only
   * what is wrong in the request itself, and only for a model that there is.
   */
  public void countRefused(String model, WireException refusal) {
    if (refusal.status() == WireStatus.INVALID_ARGUMENT) {
      engine.countRefused(model, Status.INVALID_ARGUMENT);
    }
  }

  /** Notes which requests have spans; null when none has. */
  public @Nullable RequestSpans spans() {
    return spans;
  }

  /** The span that an HTTP request's caller has for it; null when no request has spans. */
  public @Nullable SpanContext caller(ReceivedRequest request) {
    return spans == null
        ? null
        : spans.caller(
            request.header(TraceContexts.TRACEPARENT), request.header(TraceContexts.TRACESTATE));
  }

  /**
   * The engine's request, to be submitted; its answer comes to {@code sink}.
   *
   * @param callNanos what is left to the call by its transport, or {@link
   *     dev.roundhouse.bundle.request.RequestOptions#NO_TIMEOUT}; negative when it is over
   * @param caller who asks, as {@link dev.roundhouse.kserve.codec.CallerHeader} has it; 0 when that
   *     is not known
   * @param rights of the caller; null when nothing is checked
   */
  public InferenceRequest request(
      InferExchange exchange,
      long callNanos,
      int caller,
      @Nullable CallerRights rights,
      AnswerSink sink) {
    AnswerSink told = sent(exchange.modelName(), exchange.id(), exchange.inputs(), sink);
    AnswerSink traced = tracer.traced(exchange.modelName(), exchange.id(), exchange.inputs(), told);
    RequestSpans on = spans;
    if (on != null) {
      SpanContext calledIn = exchange.calledIn();
      SpanContext own = on.own(exchange.modelName(), calledIn);
      exchange.span(own);
      if (own != null) {
        traced = on.traced(exchange.modelName(), exchange.id(), calledIn, own, traced);
      }
    }
    return exchange
        .toEngine(engine.nanoTime(), callNanos, caller, traced != told, traced, tee)
        .tenant(tenants.numberOf(rights))
        .build();
  }

  /**
   * The engine's request for messages of a stream, which have neither ids nor parameters.
   *
   * @param version empty for the one that is served
   * @param deadlineNanos on the engine's clock, or {@link InferenceRequest#NO_DEADLINE}
   * @param caller and {@code rights} as above
   */
  public InferenceRequest request(
      String model,
      String version,
      List<InputTensor> inputs,
      long deadlineNanos,
      int caller,
      @Nullable CallerRights rights,
      AnswerSink sink) {
    TransportRequest asked =
        new TransportRequest(
            model, version, "", inputs, List.of(), deadlineNanos, RequestOptions.DEFAULT);
    return request(asked, caller, rights, sink);
  }

  /**
   * The engine's request for one that a transport has understood.
   *
   * @param caller and {@code rights} as above
   */
  public InferenceRequest request(
      TransportRequest asked, int caller, @Nullable CallerRights rights, AnswerSink sink) {
    AnswerSink told = sent(asked.model(), asked.id(), asked.inputs(), sink);
    AnswerSink traced = tracer.traced(asked.model(), asked.id(), asked.inputs(), told);
    RequestSpans on = spans;
    SpanContext own = on == null ? null : on.own(asked.model(), SpanContext.getInvalid());
    if (on != null && own != null) {
      traced = on.traced(asked.model(), asked.id(), SpanContext.getInvalid(), own, traced);
    }
    RequestOptions options = asked.options();
    AnswerSink tapped = tee == null ? traced : tee.tapped(asked.model(), asked.inputs(), traced);
    return InferenceRequest.of(asked.model(), asked.inputs(), tapped)
        .version(asked.version())
        .id(asked.id())
        .outputs(asked.outputs())
        .deadlineNanos(asked.deadlineNanos())
        .options(traced == told ? options : options.withTrace().withReceipt())
        .caller(caller)
        .tenant(tenants.numberOf(rights))
        .build();
  }

  /** What a collector is sent is what the client is told: the nearest to its sink. */
  private AnswerSink sent(String model, String id, List<InputTensor> inputs, AnswerSink sink) {
    return payloads == null ? sink : payloads.tapped(model, id, inputs, sink);
  }
}
