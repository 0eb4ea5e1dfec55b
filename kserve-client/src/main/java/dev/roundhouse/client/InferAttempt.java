package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One attempt of a call, at one server: what is sent, what it shares, and what comes back. */
final class InferAttempt extends ClientCall.Listener<ModelInferResponse> {
  private final InferCall of;
  private final ClientLink link;
  private final InferRequest request;
  private final Target target;
  private final WireCounts wire = new WireCounts();
  private final long beginNanos = System.nanoTime();
  private @Nullable ModelInferResponse response;
  private @Nullable Loan loan;
  private @Nullable OutgoingMessage message;
  private boolean started;

  /** Under the call's lock. */
  boolean hasEnded;

  InferAttempt(InferCall of, ClientLink link, InferRequest request, Target target) {
    this.of = of;
    this.link = link;
    this.request = request;
    this.target = target;
  }

  /**
   * Sends the request. What it throws is the attempt's end; any other is told to the call.
   *
   * @param borrowed memory that it shares, taken; null when all is sent in the message
   */
  void begin(SharedTensors.@Nullable Borrowed borrowed) {
    loan = borrowed == null ? null : borrowed.loan();
    try {
      send(borrowed == null ? Map.of() : borrowed.places());
    } catch (RuntimeException e) {
      if (loan != null && !started) {
        loan.end(true);
      }
      throw e;
    }
  }

  private void send(Map<String, Long> places) {
    long left = of.leftNanos();
    long budget = link.settings.budgetParameter() && left != Long.MAX_VALUE ? left : 0;
    message =
        loan == null ? RequestHead.inline(request, budget) : loan.message(request, budget, places);
    message.requireAtMost(link.settings.maxRequestBytes(), request.model());
    Metadata headers = of.headers();
    ClientCall<OutgoingMessage, ModelInferResponse> call =
        target.channel.newCall(
            Methods.INFER, link.options(left).withStreamTracerFactory(wire.factory()));
    target.open.incrementAndGet();
    if (of.countAttempt() > 1) {
      target.channel.resetConnectBackoff(); // waited long enough
    }
    started = true; // from here on its end is told to onClose
    call.start(this, headers);
    String unwanted = of.started(this, call);
    if (unwanted != null) {
      call.cancel(unwanted, null);
      return;
    }
    try {
      call.request(2);
      call.sendMessage(message);
      call.halfClose();
    } catch (RuntimeException e) {
      call.cancel("the request cannot be sent", e);
    }
  }

  @Override
  public void onMessage(ModelInferResponse message) {
    response = message;
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    long now = System.nanoTime();
    target.open.decrementAndGet();
    of.closed(this, status, ServerReason.of(trailers), now);
  }

  /** What was answered; null when nothing was. */
  @Nullable ModelInferResponse response() {
    return response;
  }

  /** What it shares; null when it shares nothing. */
  @Nullable Loan loan() {
    return loan;
  }

  WireCounts wire() {
    return wire;
  }

  /** Gives its shared memory back, once it has ended without an answer in it. */
  void endLoan(Status status) {
    if (loan != null) {
      loan.end(settled(status));
    }
  }

  /** Whether the server has stopped writing to lent memory. */
  private boolean settled(Status status) {
    return switch (status.getCode()) {
      case CANCELLED, DEADLINE_EXCEEDED -> wire.unsent();
      default -> wire.settled();
    };
  }

  /**
   * @throws KServeException when what was sent differs from the caller's memory
   */
  void requireSent() {
    if (message != null) {
      message.requireSent();
    }
  }

  long sharedBytes() {
    return loan == null ? 0 : loan.sharedBytes();
  }

  long sendNanos() {
    return wire.sentNanos() == 0 ? 0 : wire.sentNanos() - beginNanos;
  }

  long receiveNanos(long nowNanos) {
    return wire.firstNanos() == 0 ? 0 : nowNanos - wire.firstNanos();
  }
}
