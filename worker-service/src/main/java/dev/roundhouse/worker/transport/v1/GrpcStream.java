package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.v1.proto.InferResponse;
import dev.roundhouse.worker.transport.v1.GrpcCalls.Origin;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One StreamInfer call: requests run concurrently and are answered in order; one that fails is
 * answered with its status, and the stream goes on.
 *
 * <p>Answers are written by a virtual thread, by no two at once, and only while the client reads:
 * one that must wait stays in the engine's memory. No more requests are read than {@link
 * #MOST_OPEN} ahead of the answers.
 */
final class GrpcStream implements StreamObserver<GrpcRequest> {
  private static final Logger log = LoggerFactory.getLogger(GrpcStream.class);

  /** Requests of one stream that were read and not answered. */
  static final int MOST_OPEN = 32;

  private final ServerCallStreamObserver<InferResponse> call;
  private final GrpcCalls calls;
  private final Origin origin;
  private final Queue<Turn> turns = new ConcurrentLinkedQueue<>();

  /** Pending requests to write answers; the one that finds 0 starts the thread that does. */
  private final AtomicInteger wanted = new AtomicInteger();

  private volatile boolean halfClosed;
  private volatile boolean gone;
  private volatile @Nullable StatusRuntimeException endsWith;

  /** No more messages are written. For the writing thread. */
  private boolean ended;

  GrpcStream(ServerCallStreamObserver<InferResponse> call, GrpcCalls calls, Origin origin) {
    this.call = call;
    this.calls = calls;
    this.origin = origin;
  }

  /** A request's place among the answers. */
  private static final class Turn {
    private volatile @Nullable GrpcRun run;
    private volatile @Nullable InferResponse refusal;

    boolean isDone() {
      GrpcRun running = run;
      return refusal != null || (running != null && running.isDone());
    }

    void cancel() {
      GrpcRun running = run;
      if (running != null) {
        running.cancel();
      }
    }
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
  public void onNext(GrpcRequest request) {
    if (gone || endsWith != null) {
      return; // the client is told that the stream is over
    }
    Turn turn = new Turn();
    turns.add(turn);
    try {
      turn.run = calls.start(request, origin, run -> write());
    } catch (RuntimeException e) {
      turn.refusal = calls.refused(request, origin, e);
    }
    if (gone) {
      turn.cancel(); // it may have gone before there was anything to cancel
    }
    write();
  }

  @Override
  public void onError(Throwable cancelled) {
    onClosed();
  }

  @Override
  public void onCompleted() {
    halfClosed = true;
    write();
  }

  /** Ends the stream once what was asked is answered. Any thread. */
  void stop() {
    endsWith = Status.UNAVAILABLE.withDescription("Server exiting").asRuntimeException();
    write();
  }

  /** The call is over, by either side. */
  private void onClosed() {
    gone = true;
    calls.closed(this);
    turns.forEach(Turn::cancel);
    write();
  }

  /** Something may be written. Any thread. */
  private void write() {
    if (wanted.getAndIncrement() == 0) {
      Thread.ofVirtual().name("v1-stream").start(this::writeWanted);
    }
  }

  private void writeWanted() {
    int asked = wanted.get();
    while (asked != 0) {
      try {
        writeReady();
      } catch (RuntimeException | Error e) {
        giveUp(e);
      }
      asked = wanted.addAndGet(-asked);
    }
  }

  /** A failure while writing ends the stream: its client would wait forever. */
  private void giveUp(Throwable thrown) {
    log.error("an answer of a stream could not be written", thrown);
    boolean told = ended;
    ended = true;
    gone = true;
    turns.forEach(Turn::cancel);
    wanted.incrementAndGet(); // what is done is dropped
    if (told) {
      return;
    }
    try {
      call.onError(
          Status.INTERNAL
              .withDescription("Internal server error; see the server's log")
              .asRuntimeException());
    } catch (RuntimeException e) {
      log.warn("a stream could not be ended", e);
    }
  }

  private void writeReady() {
    Turn turn = turns.peek();
    while (turn != null && turn.isDone() && (gone || call.isReady())) {
      turns.remove();
      answer(turn);
      turn = turns.peek();
    }
    if (turn != null || gone || ended) {
      return;
    }
    StatusRuntimeException status = endsWith;
    if (halfClosed) {
      ended = true;
      call.onCompleted();
    } else if (status != null) {
      ended = true;
      call.onError(status);
    }
  }

  private void answer(Turn turn) {
    GrpcRun run = turn.run;
    InferResponse refusal = turn.refusal;
    if (gone) {
      if (run != null) {
        run.drop();
      }
      return;
    }
    call.onNext(run == null ? Objects.requireNonNull(refusal) : run.take());
    call.request(1);
  }
}
