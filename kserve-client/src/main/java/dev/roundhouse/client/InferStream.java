package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.ModelInferResponse;
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
import org.jspecify.annotations.Nullable;

/**
 * Requests and answers over one call. Roundhouse answers in the order of the requests; a request
 * that fails is told as {@link StreamAnswer.Failed}, and the stream goes on. Nothing is retried.
 *
 * <p>Thread-safe: one thread may send while another takes answers. Who does both in one thread must
 * not send much more than the connection and the server hold, or both sides wait.
 */
public final class InferStream implements AutoCloseable {
  /** Answers that may come before anybody takes them. */
  private static final int AHEAD = 16;

  private final ClientLink link;
  private final Target target;
  private final ClientCall<OutgoingMessage, ModelStreamInferResponse> call;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Queue<ModelStreamInferResponse> received = new ArrayDeque<>();
  private @Nullable Status end;
  private boolean halfClosed;

  private InferStream(ClientLink link, long allowedNanos) {
    this.link = link;
    target = link.targets.pick(null);
    call = target.channel.newCall(Methods.STREAM, link.options(allowedNanos));
  }

  static InferStream open(ClientLink link, @Nullable Duration deadline) {
    InferStream stream =
        new InferStream(link, deadline == null ? Long.MAX_VALUE : deadline.toNanos());
    Metadata headers = link.headers();
    stream.target.open.incrementAndGet();
    stream.call.start(stream.new Listener(), headers);
    stream.call.request(AHEAD);
    return stream;
  }

  /**
   * Sends a request when the connection takes it, and waits until then. Its tensors are not needed
   * any more when this returns. A deadline of the request is told to the server, which holds it.
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
    lock.lockInterruptibly();
    try {
      long left = patienceNanos;
      while (end == null && !halfClosed && !call.isReady()) {
        if (left <= 0) {
          return false;
        }
        left = changed.awaitNanos(left);
      }
      requireOpen();
      Duration deadline = request.deadline();
      long budget = deadline == null || !link.settings.budgetParameter() ? 0 : deadline.toNanos();
      OutgoingMessage message = RequestHead.inline(request, budget);
      InferCall.requireSize(request, message, link.settings.maxRequestBytes());
      call.sendMessage(message);
      try {
        message.requireSent();
      } catch (KServeException e) {
        call.cancel("a request could not be read", e);
        throw e;
      }
      return true;
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

  /** No more requests; answers still come. Harmless when repeated. */
  public void halfClose() {
    lock.lock();
    try {
      if (!halfClosed && end == null) {
        call.halfClose();
      }
      halfClosed = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for the next answer.
   *
   * @return empty when the server has ended the stream, after all answers
   * @throws KServeException when it ended otherwise, after the answers that had come
   */
  public Optional<StreamAnswer> next() throws InterruptedException {
    ModelStreamInferResponse message;
    lock.lockInterruptibly();
    try {
      while (received.isEmpty() && end == null) {
        changed.await();
      }
      message = received.poll();
      if (message == null) {
        if (end != null && !end.isOk()) {
          throw KServeException.of(end, null);
        }
        return Optional.empty();
      }
      if (end == null) {
        call.request(1);
      }
    } finally {
      lock.unlock();
    }
    return Optional.of(read(message));
  }

  private static StreamAnswer read(ModelStreamInferResponse message) {
    ModelInferResponse response = message.getInferResponse();
    return message.getErrorMessage().isEmpty()
        ? new StreamAnswer.Answered(
            AnswerReader.read(response, null, null, AnswerReader.Place.VIEW))
        : new StreamAnswer.Failed(response.getId(), message.getErrorMessage());
  }

  /** Gives up what has not been answered. Harmless when the stream has ended. */
  @Override
  public void close() {
    call.cancel("the stream was closed", null);
  }

  private final class Listener extends ClientCall.Listener<ModelStreamInferResponse> {
    @Override
    public void onMessage(ModelStreamInferResponse message) {
      lock.lock();
      try {
        received.add(message);
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
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
