package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.kserve.v1.proto.InferResponse;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader;
import dev.roundhouse.platform.grpc.AccessGate;
import dev.roundhouse.platform.logging.AboutRequest;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.grpc.CallHeaders;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.opentelemetry.api.trace.SpanContext;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;

/**
 * Takes Infer and StreamInfer calls, on event loops. When the worker stops, streams end once their
 * requests are answered. Thread-safe.
 */
public final class GrpcCalls {
  /** Copied by the thread that has the outcome; more would hold up the dispatch thread. */
  private static final long BRIEF_BYTES = 64 << 10;

  private final V1Inference inference;
  private final Statuses statuses;
  private final Set<GrpcStream> streams = ConcurrentHashMap.newKeySet();
  private volatile boolean stopping;

  GrpcCalls(V1Inference inference, Statuses statuses) {
    this.inference = inference;
    this.statuses = statuses;
  }

  /**
   * Who makes a call, and what its metadata says.
   *
   * @param rights null when nothing is checked
   * @param calledIn the caller's span; invalid for none, null when no request has spans
   */
  record Origin(
      int caller,
      @Nullable CallerRights rights,
      @Nullable SpanContext calledIn,
      @Nullable Deadline deadline) {}

  /** Of a call that is being started. */
  Origin origin(ServerCall<?, ?> call, Metadata headers) {
    return new Origin(
        CallHeaders.caller(call, headers),
        AccessGate.rights(),
        CallHeaders.calledIn(headers, inference.inference().spans()),
        Context.current().getDeadline());
  }

  void infer(GrpcRequest request, Origin origin, StreamObserver<InferResponse> observer) {
    var call = (ServerCallStreamObserver<InferResponse>) observer;
    AtomicReference<@Nullable GrpcRun> running = new AtomicReference<>();
    call.setOnCancelHandler(() -> cancel(running.get()));
    try {
      running.set(start(request, origin, run -> answer(run, call)));
    } catch (RuntimeException e) {
      call.onNext(refused(request, origin, e));
      call.onCompleted();
      return;
    }
    if (call.isCancelled()) {
      cancel(running.get()); // the handler may have run before there was anything to cancel
    }
  }

  private static void cancel(@Nullable GrpcRun run) {
    if (run != null) {
      run.cancel();
    }
  }

  /**
   * Gives a request to the engine.
   *
   * @param done told of its end, maybe before this returns
   * @throws RuntimeException when it is refused; {@code done} is not told
   */
  GrpcRun start(GrpcRequest request, Origin origin, Consumer<GrpcRun> done) {
    V1Exchange exchange = inference.begin(request.asked(), request.inputs(), origin.rights());
    try {
      exchange.v2().calledIn(origin.calledIn());
      GrpcRun run = new GrpcRun(exchange, statuses, done);
      Inference v2 = inference.inference();
      run.submit(
          v2.engine(),
          v2.request(
              exchange.v2(), left(origin.deadline()), origin.caller(), origin.rights(), run));
      return run;
    } catch (RuntimeException e) {
      exchange.close();
      throw e;
    }
  }

  private static long left(@Nullable Deadline deadline) {
    return deadline == null
        ? RequestOptions.NO_TIMEOUT
        : deadline.timeRemaining(TimeUnit.NANOSECONDS);
  }

  /** The answer to a request that the engine has not seen. */
  InferResponse refused(GrpcRequest request, Origin origin, RuntimeException failure) {
    AboutRequest about = new AboutRequest(request.asked().id(), origin.calledIn());
    return InferResponse.newBuilder()
        .setRequestStatus(statuses.of(failure, about))
        .setMetaData(InferResponseHeader.newBuilder().setId(request.asked().header().getId()))
        .build();
  }

  private static void answer(GrpcRun run, ServerCallStreamObserver<InferResponse> call) {
    if (run.byteSize() > BRIEF_BYTES) {
      Thread.ofVirtual().name("v1-answer").start(() -> write(run, call));
    } else {
      write(run, call);
    }
  }

  private static void write(GrpcRun run, ServerCallStreamObserver<InferResponse> call) {
    if (call.isCancelled()) {
      run.drop();
      return;
    }
    call.onNext(run.take());
    call.onCompleted();
  }

  StreamObserver<GrpcRequest> stream(Origin origin, StreamObserver<InferResponse> observer) {
    GrpcStream stream =
        new GrpcStream((ServerCallStreamObserver<InferResponse>) observer, this, origin);
    stream.begin();
    streams.add(stream);
    if (stopping) {
      stream.stop();
    }
    return stream;
  }

  /** A stream is over. */
  void closed(GrpcStream stream) {
    streams.remove(stream);
  }

  @EventListener(ContextClosedEvent.class)
  void onStop() {
    stopping = true;
    streams.forEach(GrpcStream::stop);
  }
}
