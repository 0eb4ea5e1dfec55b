package dev.roundhouse.client;

import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One call of inference: its attempts, one after the other, until one is answered, or none may be
 * made any more. Its end is told exactly once.
 */
final class InferCall {
  private final ClientLink link;
  private final InferRequest request;
  private final InferEnd end;
  private final long startNanos = System.nanoTime();

  /** Of the whole call; {@link Long#MAX_VALUE} for none. */
  private final long allowedNanos;

  private final AtomicBoolean ended = new AtomicBoolean();

  /**
   * What is under way, and whether the caller wants no more of it; both under this object's lock.
   */
  private @Nullable ClientCall<?, ?> current;

  private @Nullable String cancelled;

  // Of the attempts so far: each begins after the one before it has ended.
  private int attempts;
  private long bytesSent;
  private long bytesReceived;

  InferCall(ClientLink link, InferRequest request, InferEnd end) {
    this.link = link;
    this.request = request;
    this.end = end;
    Duration deadline = request.deadline() == null ? link.settings.deadline() : request.deadline();
    allowedNanos = deadline == null ? Long.MAX_VALUE : deadline.toNanos();
  }

  InferCall start() {
    link.tally.calls.increment();
    link.retries.earn();
    attempt();
    return this;
  }

  /** Ends the call, unless it has ended. */
  void cancel(String why) {
    ClientCall<?, ?> open;
    synchronized (this) {
      cancelled = why;
      open = current;
    }
    if (open != null) {
      open.cancel(why, null);
    } else {
      fail(Status.CANCELLED.withDescription(why), stats(null, 0));
    }
  }

  static void requireSize(InferRequest request, OutgoingMessage message, int most) {
    if (message.byteSize() > most) {
      throw new KServeException(
          Status.Code.RESOURCE_EXHAUSTED,
          "a request to '%s' of %d bytes, and the limit is %d; send fewer rows, or raise maxRequestBytes as far as the server takes it"
              .formatted(request.model(), message.byteSize(), most),
          null,
          null);
    }
  }

  private long leftNanos() {
    return allowedNanos == Long.MAX_VALUE
        ? Long.MAX_VALUE
        : allowedNanos - (System.nanoTime() - startNanos);
  }

  private void attempt() {
    Attempt attempt = new Attempt(link.targets.pick(request.sequence()));
    try {
      long left = leftNanos();
      if (link.closed) {
        throw Status.CANCELLED.withDescription("the client was closed").asRuntimeException();
      }
      if (left <= 0) {
        throw Status.DEADLINE_EXCEEDED
            .withDescription(
                "the deadline of %d ms passed before the request could be sent"
                    .formatted(TimeUnit.NANOSECONDS.toMillis(allowedNanos)))
            .asRuntimeException();
      }
      attempt.begin(left);
    } catch (KServeException e) {
      fail(
          Status.fromCode(e.code()).withDescription(e.text()).withCause(e.getCause()),
          stats(null, 0));
    } catch (RuntimeException e) {
      fail(Status.fromThrowable(e), stats(null, 0));
    }
  }

  /** Whether the call is to be made again; if so it will be. */
  private boolean retry(Status status) {
    RetryPolicy policy = link.settings.retry();
    boolean retryable =
        switch (status.getCode()) {
          case UNAVAILABLE -> true;
          case RESOURCE_EXHAUSTED -> policy.resourceExhausted() && !tooLarge(status);
          default -> false;
        };
    if (!retryable || link.closed || request.sequence() != null && !policy.sequences()) {
      return false;
    }
    long wait = policy.waitNanos(attempts, leftNanos(), ThreadLocalRandom.current().nextDouble());
    if (wait < 0) {
      return false;
    }
    if (!link.retries.take()) {
      link.tally.retriesWithoutBudget.increment();
      return false;
    }
    CompletableFuture.delayedExecutor(wait, TimeUnit.NANOSECONDS, Thread::startVirtualThread)
        .execute(this::again);
    return true;
  }

  /** Whose answer has no room in a message will not find more of it. */
  private static boolean tooLarge(Status status) {
    String description = status.getDescription();
    return description != null && description.contains("exceeds maximum size");
  }

  private void again() {
    if (!ended.get()) {
      attempt();
    }
  }

  private void answer(ModelInferResponse response, CallStats stats) {
    if (ended.compareAndSet(false, true)) {
      link.tally.answered.increment();
      end.answered(new Answer(response, stats));
    }
  }

  private void fail(Status status, CallStats stats) {
    if (ended.compareAndSet(false, true)) {
      link.tally.failed.increment();
      Status told =
          attempts > 1 ? status.augmentDescription(attempts + " attempts were made") : status;
      end.failed(KServeException.of(told, stats));
    }
  }

  private CallStats stats(@Nullable Attempt last, long nowNanos) {
    return new CallStats(
        attempts,
        Duration.ofNanos(System.nanoTime() - startNanos),
        Duration.ofNanos(last == null ? 0 : last.sendNanos()),
        Duration.ofNanos(last == null ? 0 : last.receiveNanos(nowNanos)),
        bytesSent,
        bytesReceived,
        0);
  }

  private final class Attempt extends ClientCall.Listener<ModelInferResponse> {
    private final Target target;
    private final WireCounts wire = new WireCounts();
    private final long beginNanos = System.nanoTime();
    private @Nullable ModelInferResponse response;
    private boolean closed; // under the call's lock

    Attempt(Target target) {
      this.target = target;
    }

    void begin(long leftNanos) {
      boolean tell = link.settings.budgetParameter() && leftNanos != Long.MAX_VALUE;
      OutgoingMessage message = RequestHead.inline(request, tell ? leftNanos : 0);
      requireSize(request, message, link.settings.maxRequestBytes());
      Metadata headers = link.headers();
      ClientCall<OutgoingMessage, ModelInferResponse> call =
          target.channel.newCall(
              Methods.INFER, link.options(leftNanos).withStreamTracerFactory(wire.factory()));
      attempts++;
      link.tally.attempts.increment();
      target.open.incrementAndGet();
      if (attempts > 1) {
        target.channel.resetConnectBackoff(); // waited long enough
      }
      call.start(this, headers);
      String unwanted;
      synchronized (InferCall.this) {
        current = closed ? null : call;
        unwanted = cancelled;
      }
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
      String unwanted;
      synchronized (InferCall.this) {
        closed = true;
        current = null;
        unwanted = cancelled;
      }
      target.open.decrementAndGet();
      bytesSent += wire.bytesSent();
      bytesReceived += wire.bytesReceived();
      link.tally.bytesSent.add(wire.bytesSent());
      link.tally.bytesReceived.add(wire.bytesReceived());
      CallStats stats = stats(this, now);
      if (unwanted != null) {
        fail(Status.CANCELLED.withDescription(unwanted), stats);
      } else if (!status.isOk()) {
        if (!retry(status)) {
          fail(status, stats);
        }
      } else if (response == null) {
        fail(Status.INTERNAL.withDescription("the server ended the call without an answer"), stats);
      } else {
        answer(response, stats);
      }
    }

    long sendNanos() {
      return wire.sentNanos() == 0 ? 0 : wire.sentNanos() - beginNanos;
    }

    long receiveNanos(long nowNanos) {
      return wire.firstNanos() == 0 ? 0 : nowNanos - wire.firstNanos();
    }
  }
}
