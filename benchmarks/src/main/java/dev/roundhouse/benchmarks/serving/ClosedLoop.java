package dev.roundhouse.benchmarks.serving;

import dev.roundhouse.benchmarks.client.Latencies;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceStub;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Keeps a number of requests outstanding: each answer sends the next request. */
public final class ClosedLoop {
  private final GRPCInferenceServiceStub stub;
  private final ModelInferRequest request;
  private final int replyBytes;

  ClosedLoop(ManagedChannel channel, ModelInferRequest request, int replyBytes) {
    this.stub = GRPCInferenceServiceGrpc.newStub(channel);
    this.request = request;
    this.replyBytes = replyBytes;
  }

  /**
   * Runs until {@code duration} is over and every request is answered.
   *
   * @throws IllegalStateException when a request failed or its answer had the wrong size
   */
  public Load run(int outstanding, Duration duration) throws InterruptedException {
    CountDownLatch running = new CountDownLatch(outstanding);
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    long start = System.nanoTime();
    List<Slot> slots = new ArrayList<>();
    for (int i = 0; i < outstanding; i++) {
      slots.add(new Slot(start + duration.toNanos(), running, failure));
    }
    slots.forEach(Slot::send);
    running.await();
    long elapsed = System.nanoTime() - start;
    Throwable cause = failure.get();
    if (cause != null) {
      throw new IllegalStateException("a request failed under load", cause);
    }
    return Load.of(slots.stream().map(slot -> slot.latencies).toList(), elapsed);
  }

  /** One request at a time. Callbacks of one call never overlap. */
  private final class Slot implements StreamObserver<ModelInferResponse> {
    private final long endNanos;
    private final CountDownLatch running;
    private final AtomicReference<@Nullable Throwable> failure;
    private final Latencies latencies = new Latencies();
    private long sentNanos;

    Slot(long endNanos, CountDownLatch running, AtomicReference<@Nullable Throwable> failure) {
      this.endNanos = endNanos;
      this.running = running;
      this.failure = failure;
    }

    void send() {
      sentNanos = System.nanoTime();
      stub.modelInfer(request, this);
    }

    @Override
    public void onNext(ModelInferResponse response) {
      if (response.getRawOutputContentsCount() != 1
          || response.getRawOutputContents(0).size() != replyBytes) {
        throw new IllegalStateException("not an answer of %d bytes".formatted(replyBytes));
      }
    }

    @Override
    public void onError(Throwable cause) {
      failure.compareAndSet(null, cause);
      running.countDown();
    }

    @Override
    public void onCompleted() {
      long now = System.nanoTime();
      latencies.add(now - sentNanos);
      if (now < endNanos && failure.get() == null) {
        send();
      } else {
        running.countDown();
      }
    }
  }
}
