package dev.roundhouse.worker.transport.grpc;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.InferMessage;
import dev.roundhouse.kserve.codec.ParameterValue;
import dev.roundhouse.kserve.codec.ResponseEncoder;
import dev.roundhouse.kserve.codec.ResponseMessage;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.logging.RequestIds;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.Outcomes;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
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

  /**
   * A turn besides the inputs and the answer that the engine counts: the turn, the exchange, the
   * request's objects in each layer.
   */
  private static final long TURN_BYTES = 2 << 10;

  private static final Map<String, ParameterValue> FINAL =
      Map.of("triton_final_response", new ParameterValue.Flag(true));

  private final ServerCallStreamObserver<EncodedMessage> call;
  private final InferCalls calls;
  private final Inference inference;
  private final LongSupplier callNanos;
  private final boolean failsWhole;
  private final int caller;

  /** Counts turns; null when not counted. */
  private final @Nullable ConnectionMemory memory;

  private final Queue<Turn> turns = new ConcurrentLinkedQueue<>();

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
   * @param memory counts turns; null when not counted
   */
  InferStream(
      ServerCallStreamObserver<EncodedMessage> call,
      InferCalls calls,
      LongSupplier callNanos,
      boolean failsWhole,
      int caller,
      @Nullable ConnectionMemory memory) {
    this.call = call;
    this.calls = calls;
    inference = calls.inference();
    this.callNanos = callNanos;
    this.failsWhole = failsWhole;
    this.caller = caller;
    this.memory = memory;
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
    Turn turn = new Turn(message.modelName(), message.id());
    turns.add(turn);
    try {
      if (endsWith != null) {
        throw new WireException(WireStatus.UNAVAILABLE, "Server exiting");
      }
      turn.submit(inference.begin(message));
    } catch (RuntimeException e) {
      turn.fail(e);
    }
  }

  /** Counts a turn; without room for one the stream ends after what was asked before. */
  private boolean takeTurn() {
    String refusal = memory == null ? null : memory.take(Kept.CALL, TURN_BYTES);
    if (refusal == null) {
      return true;
    }
    noMemory = Status.RESOURCE_EXHAUSTED.withDescription(refusal).asRuntimeException();
    write();
    return false;
  }

  private void giveBackTurn() {
    if (memory != null) {
      memory.giveBack(Kept.CALL, TURN_BYTES);
    }
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
    turns.forEach(Turn::cancel);
    write();
  }

  private void write() {
    write(null, false);
  }

  /**
   * @param own the turn whose answer this thread has just made; null for a thread in passing
   * @param patient whether this thread delays no one
   */
  private void write(@Nullable Turn own, boolean patient) {
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

  private void writeReady(@Nullable Turn own, boolean patient) {
    if (over.get()) {
      dropReady();
      return;
    }
    while (!ended && call.isReady()) {
      closeUnsent();
      Turn turn = turns.peek();
      if (turn == null) {
        endIfDone();
        return;
      }
      if (!turn.done) {
        return;
      }
      if (turn.byteSize > LARGE_BYTES && turn != own && !patient) {
        Thread.ofVirtual().name("infer-stream").start(() -> write(null, true));
        return;
      }
      write(turn);
      turns.remove();
    }
  }

  /** Drops answers that no one reads. */
  private void dropReady() {
    closeUnsent();
    for (Turn turn = turns.peek(); turn != null && turn.done; turn = turns.peek()) {
      turns.remove();
      turn.close();
    }
  }

  private void closeUnsent() {
    unsent.forEach(Answer::close);
    unsent.clear();
  }

  private void write(Turn turn) {
    EncodedMessage message;
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
    call.onNext(message);
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
      turns.forEach(Turn::cancel);
      dropReady();
      if (!told) {
        UnaryAnswer.fail(call, new IllegalStateException("no answer could be written", thrown));
      }
    } catch (Throwable e) {
      log.warn("a stream could not be ended", e);
    }
  }

  /** One request of the stream, and its place among the answers. */
  private final class Turn implements AnswerSink {
    private final String modelName;
    private final String id;
    private @Nullable InferExchange exchange;
    private volatile @Nullable Submission submission;
    private @Nullable LentAnswer answer; // published by done, as the next three
    private long byteSize;
    private @Nullable Outcome outcome;
    private @Nullable WireException failure;
    private volatile boolean done;

    Turn(String modelName, String id) {
      this.modelName = modelName;
      this.id = id;
    }

    void submit(InferExchange begun) {
      exchange = begun;
      Submission submitted =
          inference.engine().submit(inference.request(begun, callNanos.getAsLong(), caller, this));
      submission = submitted;
      if (over.get()) {
        submitted.cancel(); // the stream may have closed before there was anything to cancel
      }
    }

    void cancel() {
      Submission submitted = submission;
      if (submitted != null) {
        submitted.cancel();
      }
    }

    @Override
    public void onPart(Answer part) {
      answer = new LentAnswer(part);
      for (OutputTensor output : part.outputs()) {
        byteSize += output.data().byteSize();
      }
    }

    @Override
    public void onEnd(Outcome end) {
      outcome = end;
      if (answer == null) {
        failure = Outcomes.failure(end);
      }
      releaseInputs();
      done = true;
      write(this, false);
    }

    void fail(RuntimeException thrown) {
      RequestIds.with(id, () -> failure = UnaryAnswer.refusal(thrown));
      releaseInputs();
      done = true;
      write();
    }

    @Nullable WireException failure() {
      return failure;
    }

    EncodedMessage encode() {
      LentAnswer part = answer;
      Outcome end = outcome;
      InferExchange begun = exchange;
      if (part == null || end == null || begun == null) {
        throw new IllegalStateException("a request without an answer has ended well");
      }
      return ResponseEncoder.encodeStreamed("", begun.response(part, end, FINAL)).lentBy(part);
    }

    EncodedMessage encode(WireException error) {
      Map<String, ParameterValue> parameters = new LinkedHashMap<>(FINAL);
      if (error.began()) {
        parameters.put("roundhouse_began", new ParameterValue.Flag(true));
      }
      if (error.about() != About.SERVER) {
        parameters.put("roundhouse_about", new ParameterValue.Text(error.about().text()));
      }
      return ResponseEncoder.encodeStreamed(
          calls.texts().of(error.text()),
          new ResponseMessage(modelName, "", id, parameters, List.of()));
    }

    /**
     * The answer has been written: its memory is released once nothing is sent from it, and its
     * bytes count until they are sent.
     */
    void free(ArrayDeque<Answer> counted) {
      release();
      Answer part = answer;
      if (part != null) {
        part.free();
        counted.add(part);
      }
    }

    void close() {
      release();
      Answer part = answer;
      if (part != null) {
        part.close();
      }
    }

    /** An answer waiting to be written needs no inputs. */
    private void releaseInputs() {
      InferExchange begun = exchange;
      if (begun != null) {
        begun.releaseInputs();
      }
    }

    /** It is written, or never will be. */
    private void release() {
      giveBackTurn();
      InferExchange begun = exchange;
      if (begun != null) {
        begun.close();
      }
    }
  }
}
