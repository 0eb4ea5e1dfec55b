package dev.roundhouse.client;

import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One inference call: attempts one after the other, until one is answered or no more are allowed.
 * It ends exactly once.
 */
final class InferCall {
  private final ClientLink link;
  private final InferRequest request;
  private final InferEnd end;
  private final CallSharing sharing;
  private final @Nullable CallSpan span;
  private final long startNanos = System.nanoTime();

  /** Of the whole call; {@link Long#MAX_VALUE} for none. */
  private final long allowedNanos;

  private final AtomicBoolean ended = new AtomicBoolean();

  // Under this object's lock: what is under way, and why the caller wants no more of it.
  private @Nullable ClientCall<?, ?> current;
  private @Nullable String cancelled;

  // Of the attempts so far: each begins after the one before it has ended.
  private int tries;
  private int attempts;
  private long bytesSent;
  private long bytesReceived;

  InferCall(ClientLink link, InferRequest request, InferEnd end) {
    this.link = link;
    this.request = request;
    this.end = end;
    sharing = new CallSharing(link.shared, request);
    span = CallSpan.begin(link.settings.openTelemetry(), request);
    Duration deadline = request.deadline() == null ? link.settings.deadline() : request.deadline();
    allowedNanos = deadline == null ? Long.MAX_VALUE : deadline.toNanos();
  }

  /** Begins without blocking. */
  InferCall start() {
    count();
    if (sharing.may()) {
      Thread.startVirtualThread(this::attempt);
    } else {
      attempt();
    }
    return this;
  }

  /** Begins on a thread that may block: to set up shared memory, or to wait for some. */
  InferCall startHere() {
    count();
    attempt();
    return this;
  }

  private void count() {
    link.tally.calls.increment();
    link.retries.earn();
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

  /** Until its deadline; {@link Long#MAX_VALUE} without one. */
  long leftNanos() {
    return allowedNanos == Long.MAX_VALUE
        ? Long.MAX_VALUE
        : allowedNanos - (System.nanoTime() - startNanos);
  }

  private void attempt() {
    tries++;
    InferAttempt attempt =
        new InferAttempt(this, link, request, link.targets.pick(request.sequence()));
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
      attempt.begin(sharing.borrow(left));
    } catch (Throwable e) {
      refused(e);
    }
  }

  /** Whether the call is to be made again; if so it will be. */
  private boolean retry(Status status, ServerReason reason) {
    RetryPolicy policy = link.settings.retry();
    boolean retryable =
        switch (status.getCode()) {
          case UNAVAILABLE -> true;
          case RESOURCE_EXHAUSTED -> policy.resourceExhausted() && !tooLarge(status);
          default -> false;
        };
    if (!retryable
        || reason.isFinal()
        || link.closed
        || request.sequence() != null && !policy.sequences()) {
      return false;
    }
    long wait = policy.waitNanos(tries, leftNanos(), ThreadLocalRandom.current().nextDouble());
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

  /** An answer too large for a message stays too large; the text is grpc-java's. */
  private static boolean tooLarge(Status status) {
    String description = status.getDescription();
    return description != null && description.contains("exceeds maximum size");
  }

  private void again() {
    if (!ended.get()) {
      attempt();
    }
  }

  private void answer(ModelInferResponse response, CallStats stats, @Nullable Loan loan) {
    Answer answer = new Answer(response, stats, loan);
    if (ended.compareAndSet(false, true)) {
      link.tally.answered.increment();
      link.tally.sharedBytes.add(stats.sharedBytes());
      endSpan(Status.OK);
      end.answered(answer);
    } else {
      answer.close();
    }
  }

  /**
   * Makes the call again when the server refused it for the memory that it was to share.
   *
   * @return whether it will be
   */
  private boolean shareOtherwise(Status status, ServerReason reason, @Nullable Loan loan) {
    if (link.closed || loan == null) {
      return false;
    }
    return switch (sharing.after(status, reason, loan)) {
      case AS_EVER -> false;
      case AGAIN -> {
        Thread.startVirtualThread(this::again);
        yield true;
      }
      case REGISTER -> {
        Thread.startVirtualThread(() -> registerAgain(loan));
        yield true;
      }
    };
  }

  private void registerAgain(Loan loan) {
    try {
      sharing.register(loan, leftNanos());
    } catch (Throwable e) {
      refused(e);
      return;
    }
    again();
  }

  /** Something went wrong on this side, before an attempt was sent. */
  private void refused(Throwable failure) {
    if (!(failure instanceof KServeException e)) {
      // An Error too: the waiter must be notified.
      Status status =
          failure instanceof StatusRuntimeException told
              ? told.getStatus()
              : Status.UNKNOWN
                  .withDescription("the request could not be sent: " + failure)
                  .withCause(failure);
      fail(status, stats(null, 0));
      return;
    }
    Status status = Status.fromCode(e.code()).withDescription(e.text()).withCause(e.getCause());
    // What this side refuses once it always refuses; an unreachable server may come back.
    if (e.code() != Status.Code.UNAVAILABLE || !retry(status, ServerReason.NONE)) {
      fail(status, stats(null, 0));
    }
  }

  private void fail(Status status, CallStats stats) {
    if (ended.compareAndSet(false, true)) {
      link.tally.failed.increment();
      endSpan(status);
      Status told =
          attempts > 1 ? status.augmentDescription(attempts + " attempts were made") : status;
      end.failed(KServeException.of(told, stats));
    }
  }

  private void endSpan(Status status) {
    if (span != null) {
      span.end(status, attempts);
    }
  }

  private CallStats stats(@Nullable InferAttempt last, long nowNanos) {
    return new CallStats(
        attempts,
        Duration.ofNanos(System.nanoTime() - startNanos),
        Duration.ofNanos(last == null ? 0 : last.sendNanos()),
        Duration.ofNanos(last == null ? 0 : last.receiveNanos(nowNanos)),
        bytesSent,
        bytesReceived,
        last == null ? 0 : last.sharedBytes());
  }

  // What an attempt tells.

  /** What goes before an attempt's request. */
  Metadata headers() {
    Metadata headers = link.headers();
    if (span != null) {
      span.inject(headers);
    }
    return headers;
  }

  /** Counts one that is about to be sent; the number of it. */
  int countAttempt() {
    link.tally.attempts.increment();
    return ++attempts;
  }

  /**
   * An attempt is under way.
   *
   * @return why the caller wants no more of it; null when it is wanted
   */
  synchronized @Nullable String started(InferAttempt attempt, ClientCall<?, ?> call) {
    if (!attempt.hasEnded) { // which it may have before this
      current = call;
    }
    return cancelled;
  }

  /** The same, once an attempt has ended. */
  private synchronized @Nullable String stopped(InferAttempt attempt) {
    attempt.hasEnded = true;
    current = null;
    return cancelled;
  }

  /** An attempt has ended. */
  void closed(InferAttempt attempt, Status status, ServerReason reason, long nowNanos) {
    String unwanted = stopped(attempt);
    WireCounts wire = attempt.wire();
    bytesSent += wire.bytesSent();
    bytesReceived += wire.bytesReceived();
    link.tally.bytesSent.add(wire.bytesSent());
    link.tally.bytesReceived.add(wire.bytesReceived());
    CallStats stats = stats(attempt, nowNanos);
    if (lostItsMemory(attempt, stats)) {
      attempt.endLoan(status);
      return;
    }
    ModelInferResponse response = attempt.response();
    Loan loan = attempt.loan();
    if (status.isOk() && response != null) {
      if (loan == null) {
        sharing.onAnswer(response);
      }
      answer(response, stats, loan);
      return;
    }
    attempt.endLoan(status);
    if (unwanted != null) {
      fail(Status.CANCELLED.withDescription(unwanted), stats);
    } else if (status.isOk()) {
      fail(Status.INTERNAL.withDescription("the server ended the call without an answer"), stats);
    } else if (!shareOtherwise(status, reason, loan) && !retry(status, reason)) {
      fail(status, stats);
    }
  }

  /** Fails the call when what was sent differs from the caller's memory. */
  private boolean lostItsMemory(InferAttempt attempt, CallStats stats) {
    try {
      attempt.requireSent();
      return false;
    } catch (KServeException e) {
      fail(Status.fromCode(e.code()).withDescription(e.text()).withCause(e.getCause()), stats);
      return true;
    }
  }
}
