package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.trace.SpanContext;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One ModelStreamInfer call: requests run concurrently and are answered in order. A request that
 * fails is answered with an error and the stream goes on, unless the client has asked for a status:
 * then the first failure ends it.
 *
 * <p>The parts of a decoupled model's answer are written as they come, between other answers.
 *
 * <p>Messages are written by whichever thread finds the next answer ready, never by two at once,
 * and only while the client reads: an answer that must wait stays in the engine's memory, where it
 * is counted. No more requests are read than {@link #MOST_OPEN} ahead of the answers.
 */
final class InferStream implements StreamObserver<InferMessage> {
  private static final Logger log = LoggerFactory.getLogger(InferStream.class);

  /** Requests of one stream that were read and not answered. */
  static final int MOST_OPEN = 1024;

  /**
   * A larger answer, which a transport may copy, is written only by the thread that made it, or by
   * one that delays no one: never by the dispatch thread or an event loop in passing.
   */
  private static final long LARGE_BYTES = 256 << 10;

  private final ServerCallStreamObserver<EncodedMessage> call;
  private final InferCalls calls;
  private final Inference inference;
  private final LongSupplier callNanos;
  private final boolean failsWhole;
  private final int caller;
  private final @Nullable CallerRights rights;
  private final @Nullable SpanContext calledIn;

  /** Counts turns; null when not counted. */
  private final @Nullable ConnectionMemory memory;

  private final Queue<StreamTurn> turns = new ConcurrentLinkedQueue<>();

  /** What decoupled models have answered, as it came. */
  private final Queue<StreamPart> parts = new ConcurrentLinkedQueue<>();

  /** Of decoupled models: not among {@link #turns}. */
  private final Set<StreamTurn> decoupled = ConcurrentHashMap.newKeySet();

  /** Whether a part goes before an answer that is ready too. For the writing thread. */
  private boolean partFirst;

  /** Pending requests to write answers; the thread that finds 0 writes them. */
  private final AtomicInteger wanted = new AtomicInteger();

  private final AtomicBoolean over = new AtomicBoolean();
  private volatile boolean halfClosed;
  private volatile @Nullable StatusRuntimeException endsWith;

  /** There was no memory for a turn: no later one is taken. */
  private volatile @Nullable StatusRuntimeException noMemory;

  /** Written, maybe not sent: still counted. For the writing thread. */
  private final ArrayDeque<Answer> unsent = new ArrayDeque<>();

  /** No more messages are written. Set by the writing thread; others may read it. */
  private volatile boolean ended;

  /**
   * @param calls told when the stream is over
   * @param callNanos time left for the whole stream
   * @param failsWhole whether the first failure ends the stream with its status
   * @param caller the caller; 0 when unknown
   * @param rights of the caller; null when nothing is checked
   * @param calledIn the caller's span; null when no request has spans
   * @param memory counts turns; null when not counted
   */
  InferStream(
      ServerCallStreamObserver<EncodedMessage> call,
      InferCalls calls,
      LongSupplier callNanos,
      boolean failsWhole,
      int caller,
      @Nullable CallerRights rights,
      @Nullable SpanContext calledIn,
      @Nullable ConnectionMemory memory) {
    this.call = call;
    this.calls = calls;
    inference = calls.inference();
    this.callNanos = callNanos;
    this.failsWhole = failsWhole;
    this.caller = caller;
    this.rights = rights;
    this.calledIn = calledIn;
    this.memory = memory;
  }

  @Nullable CallerRights rights() {
    return rights;
  }

  /** Call before the first message. */
  void begin() {
    call.disableAutoRequest();
    call.setOnReadyHandler(this::write);
    call.setOnCancelHandler(this::onClosed);
    call.setOnCloseHandler(this::onClosed);
    call.request(MOST_OPEN);
  }

  @Override
  public void onNext(InferMessage message) {
    if (ended || noMemory != null || !takeTurn()) {
      return; // the client has not heard of it yet
    }
    StreamTurn turn = new StreamTurn(this, message.modelName(), message.id());
    turns.add(turn);
    try {
      if (endsWith != null) {
        throw new WireException(WireStatus.UNAVAILABLE, "Server exiting");
      }
      Inference.admit(rights, message.modelName(), 0);
      InferExchange exchange = inference.begin(message);
      if (rights != null) {
        rights.arrived(exchange.inlineBytes());
      }
      turn.submit(exchange);
    } catch (RuntimeException e) {
      turn.fail(e);
    }
  }

  /** Counts a turn; without room for one the stream ends after what was asked before. */
  private boolean takeTurn() {
    String refusal = memory == null ? null : memory.take(Kept.CALL, StreamTurn.BYTES);
    if (refusal == null) {
      return true;
    }
    noMemory = Status.RESOURCE_EXHAUSTED.withDescription(refusal).asRuntimeException();
    write();
    return false;
  }

  @Override
  public void onCompleted() {
    halfClosed = true;
    write();
  }

  @Override
  public void onError(Throwable cancelled) {
    onClosed();
  }

  /** Ends the stream once what was asked is answered. Any thread. */
  void stop() {
    endsWith = Status.UNAVAILABLE.withDescription("Server exiting").asRuntimeException();
    write();
  }

  /** Called on the connection's event loop, at least once. */
  private void onClosed() {
    calls.closed(this);
    over.set(true);
    cancelAll();
    write();
  }

  private void cancelAll() {
    turns.forEach(StreamTurn::cancel);
    decoupled.forEach(StreamTurn::cancel);
  }

  /**
   * @param own the turn whose answer this thread has just made; null for a thread in passing
   * @param patient whether this thread delays no one
   */
  private void write(@Nullable StreamTurn own, boolean patient) {
    if (wanted.getAndIncrement() != 0) {
      return;
    }
    int asked = 1;
    while (asked != 0) {
      try {
        writeReady(own, patient);
      } catch (Throwable e) {
        giveUp(e);
      }
      asked = wanted.addAndGet(-asked);
    }
  }

  private void writeReady(@Nullable StreamTurn own, boolean patient) {
    if (over.get()) {
      dropReady();
      return;
    }
    while (!ended && call.isReady()) {
      closeUnsent();
      StreamTurn turn = turns.peek();
      StreamPart part = parts.peek();
      boolean isAnswered = turn != null && turn.isDone();
      if (part != null && (partFirst || !isAnswered)) {
        partFirst = false;
        if (delays(part.byteSize(), part.turn(), own, patient)) {
          return;
        }
        write(part);
        parts.remove();
        continue;
      }
      partFirst = true;
      if (turn == null && decoupled.isEmpty()) {
        endIfDone();
      }
      if (turn == null || !isAnswered || delays(turn.byteSize(), turn, own, patient)) {
        return;
      }
      write(turn);
      turns.remove();
    }
  }

  /** True when another thread writes what is next: this one would delay others. */
  private boolean delays(
      long byteSize, StreamTurn next, @Nullable StreamTurn own, boolean patient) {
    if (byteSize <= LARGE_BYTES || next == own || patient) {
      return false;
    }
    Thread.ofVirtual().name("infer-stream").start(() -> write(null, true));
    return true;
  }

  /** Drops answers that no one reads. */
  private void dropReady() {
    closeUnsent();
    for (StreamTurn turn = turns.peek(); turn != null && turn.isDone(); turn = turns.peek()) {
      turns.remove();
      turn.close();
    }
    for (StreamPart part = parts.poll(); part != null; part = parts.poll()) {
      LentAnswer answer = part.answer();
      if (answer == null) {
        decoupled.remove(part.turn());
        part.turn().close();
      } else {
        answer.close();
      }
    }
  }

  private void closeUnsent() {
    unsent.forEach(Answer::close);
    unsent.clear();
  }

  private void write(StreamPart part) {
    LentAnswer answer = part.answer();
    if (answer == null) {
      decoupled.remove(part.turn());
      write(part.turn());
      return;
    }
    EncodedMessage message;
    try {
      message = part.turn().encode(answer);
    } catch (WireException tooLarge) {
      answer.close();
      part.turn().failBy(tooLarge);
      return;
    }
    call.onNext(message);
    answer.free();
    unsent.add(answer);
  }

  private void write(StreamTurn turn) {
    @Nullable EncodedMessage message;
    WireException failure = turn.failure();
    try {
      message = failure == null ? turn.encode() : turn.encode(failure);
    } catch (WireException tooLarge) {
      failure = tooLarge;
      message = turn.encode(tooLarge);
    }
    if (failure != null && failsWhole) {
      ended = true;
      turn.close();
      call.onError(UnaryAnswer.status(failure));
      return;
    }
    if (message != null) {
      call.onNext(message);
    }
    turn.free(unsent);
    call.request(1);
  }

  private void endIfDone() {
    StatusRuntimeException full = noMemory;
    StatusRuntimeException status = halfClosed || full != null ? full : endsWith;
    if (status != null) {
      ended = true;
      call.onError(status);
    } else if (halfClosed) {
      ended = true;
      call.onCompleted();
    }
  }

  /**
   * A failure while writing ends the stream: its client would wait forever. Must not throw, or
   * nothing would be written or closed any more.
   */
  private void giveUp(Throwable thrown) {
    boolean told = ended;
    ended = true;
    over.set(true);
    try {
      cancelAll();
      dropReady();
      if (!told) {
        UnaryAnswer.fail(call, new IllegalStateException("no answer could be written", thrown));
      }
    } catch (Throwable e) {
      log.warn("a stream could not be ended", e);
    }
  }

  // --- for turns

  Inference inference() {
    return inference;
  }

  ClientText texts() {
    return calls.texts();
  }

  long callNanos() {
    return callNanos.getAsLong();
  }

  int caller() {
    return caller;
  }

  @Nullable SpanContext calledIn() {
    return calledIn;
  }

  /** True when nothing is written any more. */
  boolean isOver() {
    return over.get();
  }

  /** The turn's answer comes in parts: it has no place among the others. */
  void takeOutOfTurn(StreamTurn turn) {
    decoupled.add(turn);
    turns.remove(turn);
  }

  /** What a decoupled model has answered. */
  void add(StreamPart part) {
    parts.add(part);
  }

  /** Something can be written, made by this thread for {@code own}. */
  void written(StreamTurn own) {
    write(own, false);
  }

  /** Something can be written, which this thread has not made. */
  void write() {
    write(null, false);
  }

  void giveBackTurn() {
    if (memory != null) {
      memory.giveBack(Kept.CALL, StreamTurn.BYTES);
    }
  }
}
