package dev.roundhouse.client;

import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Map;
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
  private int tries;
  private int attempts;
  private Sharing sharing = Sharing.ALL;
  private boolean registeredAgain;
  private long bytesSent;
  private long bytesReceived;

  /** Which tensors may go through shared memory. */
  private enum Sharing {
    ALL,
    INPUTS,
    NONE
  }

  InferCall(ClientLink link, InferRequest request, InferEnd end) {
    this.link = link;
    this.request = request;
    this.end = end;
    Duration deadline = request.deadline() == null ? link.settings.deadline() : request.deadline();
    allowedNanos = deadline == null ? Long.MAX_VALUE : deadline.toNanos();
  }

  /** Begins without blocking. */
  InferCall start() {
    count();
    if (mayShare()) {
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

  private boolean mayShare() {
    return sharing != Sharing.NONE && link.shared != null && link.shared.considers(request);
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
    tries++;
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
      Status status = Status.fromCode(e.code()).withDescription(e.text()).withCause(e.getCause());
      if (!retry(status)) {
        fail(status, stats(null, 0));
      }
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

  private void answer(ModelInferResponse response, CallStats stats, @Nullable Loan loan) {
    Answer answer = new Answer(response, stats, loan);
    if (ended.compareAndSet(false, true)) {
      link.tally.answered.increment();
      link.tally.sharedBytes.add(stats.sharedBytes());
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
  private boolean shareOtherwise(SharedTensors shared, Loan loan, Status status) {
    if (link.closed) {
      return false;
    }
    if (SharedTensors.lost(status, loan) && !registeredAgain) {
      registeredAgain = true;
      Thread.startVirtualThread(() -> registerAgain(shared, loan));
      return true;
    }
    if (SharedTensors.lost(status, loan)) {
      if (!shared.mayFallBack()) {
        return false;
      }
      shared.giveUp("it does not keep the region");
      sharing = Sharing.NONE;
    } else if (SharedTensors.about(status, loan)) {
      shared.forget(request);
      if (sharing == Sharing.ALL && !loan.outputs().isEmpty()) {
        sharing = Sharing.INPUTS;
      } else if (shared.mayFallBack()) {
        sharing = Sharing.NONE;
      } else {
        return false;
      }
    } else {
      return false;
    }
    Thread.startVirtualThread(this::again);
    return true;
  }

  private void registerAgain(SharedTensors shared, Loan loan) {
    try {
      shared.register(loan, leftNanos());
    } catch (StatusRuntimeException e) {
      Status status = e.getStatus();
      if (SharedTensors.notAnAnswer(status)) {
        if (!retry(status)) {
          fail(status, stats(null, 0));
        }
        return;
      }
      if (!shared.mayFallBack()) {
        fail(
            Status.FAILED_PRECONDITION.withDescription(
                "shared memory is on, and the server has lost the region and does not take it again: "
                    + status.getDescription()),
            stats(null, 0));
        return;
      }
      shared.giveUp("it lost the region and does not take it again: " + status.getDescription());
      sharing = Sharing.NONE;
    } catch (KServeException e) {
      fail(Status.fromCode(e.code()).withDescription(e.text()), stats(null, 0));
      return;
    }
    again();
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
        last == null ? 0 : last.sharedBytes());
  }

  private static long outputBytes(ModelInferResponse response) {
    long bytes = 0;
    for (int i = 0; i < response.getRawOutputContentsCount(); i++) {
      bytes += response.getRawOutputContents(i).size();
    }
    return bytes;
  }

  private final class Attempt extends ClientCall.Listener<ModelInferResponse> {
    private final Target target;
    private final WireCounts wire = new WireCounts();
    private final long beginNanos = System.nanoTime();
    private @Nullable ModelInferResponse response;
    private @Nullable Loan loan;
    private boolean started;
    private boolean closed; // under the call's lock

    Attempt(Target target) {
      this.target = target;
    }

    void begin(long leftNanos) {
      SharedTensors.Borrowed borrowed =
          mayShare() && link.shared != null
              ? link.shared.borrow(request, leftNanos, sharing == Sharing.ALL)
              : null;
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
      long left = leftNanos();
      long budget = link.settings.budgetParameter() && left != Long.MAX_VALUE ? left : 0;
      OutgoingMessage message =
          loan == null
              ? RequestHead.inline(request, budget)
              : loan.message(request, budget, places);
      requireSize(request, message, link.settings.maxRequestBytes());
      Metadata headers = link.headers();
      ClientCall<OutgoingMessage, ModelInferResponse> call =
          target.channel.newCall(
              Methods.INFER, link.options(left).withStreamTracerFactory(wire.factory()));
      attempts++;
      link.tally.attempts.increment();
      target.open.incrementAndGet();
      if (attempts > 1) {
        target.channel.resetConnectBackoff(); // waited long enough
      }
      started = true; // from here on its end is told to onClose
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
      if (status.isOk() && response != null) {
        if (loan == null && link.shared != null) {
          link.shared.onAnswer(request.model(), outputBytes(response));
        }
        answer(response, stats, loan);
        return;
      }
      if (loan != null) {
        loan.end(settled(status));
      }
      if (unwanted != null) {
        fail(Status.CANCELLED.withDescription(unwanted), stats);
      } else if (status.isOk()) {
        fail(Status.INTERNAL.withDescription("the server ended the call without an answer"), stats);
      } else if (!mended(status) && !retry(status)) {
        fail(status, stats);
      }
    }

    private boolean mended(Status status) {
      return loan != null && link.shared != null && shareOtherwise(link.shared, loan, status);
    }

    /** Whether the server writes no more to memory that it was lent. */
    private boolean settled(Status status) {
      return switch (status.getCode()) {
        case CANCELLED, DEADLINE_EXCEEDED -> wire.unsent();
        default -> wire.settled();
      };
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
}
