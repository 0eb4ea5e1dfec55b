package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Requests and answers over one call. Roundhouse answers in request order; a failed request is
 * reported as {@link StreamAnswer.Failed}, and the stream continues. Nothing is retried except
 * requests refused because of shared memory; their answers keep their place.
 *
 * <p>Thread-safe: one thread may send while another takes answers. A single thread that does both
 * must not send much more than the connection and server buffer, or both sides wait.
 */
public final class InferStream implements AutoCloseable {
  /** Most answers that may come before they are taken. */
  private static final int AHEAD = 16;

  private final ClientLink link;
  private final Target target;
  private final ClientCall<OutgoingMessage, ModelStreamInferResponse> call;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** In the order in which their answers are told. */
  private final Queue<StreamTurn> turns = new ArrayDeque<>();

  /** In the order in which their answers come. */
  private final Queue<StreamTurn> sent = new ArrayDeque<>();

  /** Turns that share memory and may have to be sent again. */
  private int open;

  /** A model that may answer many times was asked: answers can no longer be matched to requests. */
  private boolean manyAnswers;

  private @Nullable Status end;
  private boolean halfClosed;
  private boolean told; // of the half close

  private InferStream(ClientLink link, long allowedNanos) {
    this.link = link;
    target = link.targets.pick(null);
    call = target.channel.newCall(Methods.STREAM, link.options(allowedNanos));
  }

  static InferStream open(ClientLink link, @Nullable Duration deadline) {
    InferStream stream =
        new InferStream(link, deadline == null ? Long.MAX_VALUE : deadline.toNanos());
    Metadata headers = link.headers();
    CallSpan.injectCurrent(link.settings.openTelemetry(), headers);
    stream.target.open.incrementAndGet();
    stream.call.start(stream.new Listener(), headers);
    stream.call.request(AHEAD);
    return stream;
  }

  /**
   * Sends a request when the connection takes it, and waits until then. Its tensors are free again
   * when this returns. The server enforces the request's deadline.
   *
   * @throws KServeException when the stream has ended
   */
  public void send(InferRequest request) throws InterruptedException {
    send(request, Long.MAX_VALUE);
  }

  /**
   * Sends a request if the connection takes it in time.
   *
   * @param patience zero not to wait at all
   * @return false when it did not; nothing of the request was sent
   * @throws KServeException when the stream has ended
   */
  public boolean send(InferRequest request, Duration patience) throws InterruptedException {
    return send(request, patience.toNanos());
  }

  private boolean send(InferRequest request, long patienceNanos) throws InterruptedException {
    long begin = System.nanoTime();
    lock.lockInterruptibly();
    try {
      if (!await(() -> call.isReady(), patienceNanos)) {
        return false;
      }
      requireOpen();
    } finally {
      lock.unlock();
    }
    Duration deadline = request.deadline();
    long budget = deadline == null || !link.settings.budgetParameter() ? 0 : deadline.toNanos();
    StreamTurn turn = StreamTurn.of(request, link.shared, budget);
    SharedTensors.Borrowed borrowed = null;
    SharedTensors shared = link.shared;
    if (shared != null && shared.isPossible()) {
      if (!shared.answers().isSingleResponse(request, left(patienceNanos, begin))) {
        if (!shared.mayFallBack() && turn.sharing().may()) {
          throw new KServeException(
              Status.Code.FAILED_PRECONDITION,
              "shared memory is on and cannot be used in a stream for '%s', which may answer a request many times"
                  .formatted(request.model()),
              null,
              null);
        }
        if (!awaitNothingShared(left(patienceNanos, begin))) {
          return false;
        }
      } else if (mayShare(request, shared)) {
        try {
          borrowed = turn.sharing().borrowWhole(left(patienceNanos, begin));
        } catch (KServeException e) {
          if (patienceNanos < Long.MAX_VALUE && e.code() == Status.Code.DEADLINE_EXCEEDED) {
            return false;
          }
          throw e;
        }
      }
    }
    send(request, turn, borrowed);
    return true;
  }

  private static long left(long patienceNanos, long begin) {
    return patienceNanos == Long.MAX_VALUE
        ? Long.MAX_VALUE
        : Math.max(0, patienceNanos - (System.nanoTime() - begin));
  }

  /** Under the lock: waits for a condition, or the end; false when there was no time for it. */
  private boolean await(BooleanSupplier met, long patienceNanos) throws InterruptedException {
    long left = patienceNanos;
    while (end == null && !halfClosed && !met.getAsBoolean()) {
      if (left <= 0) {
        return false;
      }
      left = changed.awaitNanos(left);
    }
    return true;
  }

  /** Before a model is asked that may answer often; nothing of this stream is shared afterwards. */
  private boolean awaitNothingShared(long patienceNanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      manyAnswers = true;
      return await(() -> open == 0, patienceNanos);
    } finally {
      lock.unlock();
    }
  }

  /**
   * A step of a sequence is not sent again after the next one, so it is not shared if it need not.
   */
  private boolean mayShare(InferRequest request, SharedTensors shared) {
    lock.lock();
    try {
      return !manyAnswers && (request.sequence() == null || !shared.mayFallBack());
    } finally {
      lock.unlock();
    }
  }

  private void send(
      InferRequest request, StreamTurn turn, SharedTensors.@Nullable Borrowed borrowed) {
    lock.lock();
    try {
      OutgoingMessage message;
      try {
        requireOpen();
        message = turn.message(borrowed);
        message.requireAtMost(link.settings.maxRequestBytes(), request.model());
      } catch (RuntimeException e) {
        if (borrowed != null) {
          borrowed.loan().end(true);
        }
        throw e;
      }
      turns.add(turn);
      sent.add(turn);
      open += turn.loan() == null ? 0 : 1;
      call.sendMessage(message);
      try {
        message.requireSent();
      } catch (KServeException e) {
        call.cancel("a request could not be read", e);
        throw e;
      }
    } finally {
      lock.unlock();
    }
  }

  private void requireOpen() {
    if (halfClosed) {
      throw new IllegalStateException("nothing can be sent after halfClose()");
    }
    if (end != null) {
      throw end.isOk()
          ? new KServeException(
              Status.Code.CANCELLED, "the server has ended the stream", null, null)
          : KServeException.of(end, null);
    }
  }

  /** True when {@link #send} would not wait. */
  public boolean ready() {
    lock.lock();
    try {
      return end == null && !halfClosed && call.isReady();
    } finally {
      lock.unlock();
    }
  }

  /** True when the server has ended it, or it was closed; answers may be left. */
  boolean hasEnded() {
    lock.lock();
    try {
      return end != null;
    } finally {
      lock.unlock();
    }
  }

  /** Ends sending; answers still arrive. Idempotent. */
  public void halfClose() {
    lock.lock();
    try {
      halfClosed = true;
      tellHalfClose();
    } finally {
      lock.unlock();
    }
  }

  /** Under the lock: once nothing may need resending. */
  private void tellHalfClose() {
    if (halfClosed && !told && open == 0 && end == null) {
      told = true;
      call.halfClose();
    }
  }

  /**
   * Waits for the next answer.
   *
   * @return empty when the server has ended the stream, after all answers
   * @throws KServeException when it ended otherwise, after all answers received
   */
  public Optional<StreamAnswer> next() throws InterruptedException {
    StreamTurn next;
    lock.lockInterruptibly();
    try {
      next = turns.peek();
      while ((next == null || !next.isAnswered()) && end == null) {
        changed.await();
        next = turns.peek();
      }
      while (next != null && !next.isAnswered()) {
        turns.remove(); // the stream has ended without its answer
        next = turns.peek();
      }
      if (next == null) {
        if (end != null && !end.isOk()) {
          throw KServeException.of(end, null);
        }
        return Optional.empty();
      }
      turns.remove();
      if (end == null) {
        call.request(1);
      }
    } finally {
      lock.unlock();
    }
    return Optional.of(next.take()); // nobody else has it any more
  }

  /** Under the lock. */
  private void onAnswer(ModelStreamInferResponse message) {
    StreamTurn turn = sent.poll();
    if (turn == null) {
      turn = StreamTurn.beyond();
      turns.add(turn);
    }
    Loan loan = turn.loan();
    if (loan == null) {
      turn.answer(message);
      return;
    }
    String error = message.getErrorMessage();
    if (!error.isEmpty() && turn.mayBeSentAgain()) {
      Status status = Status.UNKNOWN.withDescription(error);
      ServerReason reason = ServerReason.of(message.getInferResponse().getParametersMap());
      CallSharing.Next next = turn.sharing().after(status, reason, loan);
      if (next != CallSharing.Next.AS_EVER) {
        StreamTurn refused = turn;
        call.request(1);
        Thread.startVirtualThread(() -> sendAgain(refused, loan, next));
        return;
      }
    }
    link.tally.sharedBytes.add(turn.answer(message));
    settled();
  }

  /** Under the lock: one turn less that may be sent again. */
  private void settled() {
    open--;
    tellHalfClose();
    changed.signalAll();
  }

  private void sendAgain(StreamTurn turn, Loan loan, CallSharing.Next next) {
    String failure = null;
    try {
      if (next == CallSharing.Next.REGISTER) {
        turn.sharing().register(loan, Long.MAX_VALUE);
      }
    } catch (RuntimeException | Error e) {
      failure = String.valueOf(e.getMessage());
    }
    lock.lock();
    try {
      if (end != null) {
        return; // which has given the slots back
      }
      if (failure != null) {
        turn.fail(failure);
        settled();
        return;
      }
      sent.add(turn);
      if (turn.sharing().may()) {
        boolean same = next == CallSharing.Next.REGISTER;
        call.sendMessage(same ? turn.again() : turn.withoutPlaces());
        return;
      }
      call.sendMessage(turn.inline());
      turn.release(true);
      settled();
    } catch (RuntimeException e) {
      call.cancel("a request could not be sent again", e);
    } finally {
      lock.unlock();
    }
  }

  /** Cancels unanswered requests. No effect when the stream has ended. */
  @Override
  public void close() {
    call.cancel("the stream was closed", null);
  }

  private final class Listener extends ClientCall.Listener<ModelStreamInferResponse> {
    @Override
    public void onMessage(ModelStreamInferResponse message) {
      lock.lock();
      try {
        onAnswer(message);
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void onReady() {
      lock.lock();
      try {
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      target.open.decrementAndGet();
      lock.lock();
      try {
        end = status;
        for (StreamTurn turn : turns) {
          if (turn.isAnswered()) {
            turn.settle();
          } else {
            turn.release(false); // the server may still write its outputs
          }
        }
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
