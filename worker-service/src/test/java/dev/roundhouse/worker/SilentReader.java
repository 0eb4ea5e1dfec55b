package dev.roundhouse.worker;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A client on a connection of its own that calls and does not read: what the server answers beyond
 * one window of 64 KiB stays with the server until {@link #read} or {@link #close}. For one thread.
 */
final class SilentReader implements AutoCloseable {
  private static final int WINDOW_BYTES = 65_535;

  private final ManagedChannel channel;
  private final List<Unread> calls = new ArrayList<>();
  private final AtomicInteger headers = new AtomicInteger();

  SilentReader(int port) {
    channel =
        NettyChannelBuilder.forAddress("127.0.0.1", port)
            .usePlaintext()
            .flowControlWindow(WINDOW_BYTES)
            .build();
  }

  /** Sends a request whose answer is left alone. */
  void call(ModelInferRequest request) {
    Unread unread =
        new Unread(
            channel.newCall(GRPCInferenceServiceGrpc.getModelInferMethod(), CallOptions.DEFAULT));
    calls.add(unread);
    unread.call.start(unread, new Metadata());
    unread.call.sendMessage(request);
    unread.call.halfClose();
  }

  /** How many answers have begun to come. */
  int begun() {
    return headers.get();
  }

  /** Gives up one call, in the order in which they were made. */
  void cancel(int index) {
    calls.get(index).call.cancel("no longer wanted", null);
  }

  /**
   * Reads one answer after all.
   *
   * @return null when the call ended in an error
   */
  @Nullable ModelInferResponse read(int index) throws Exception {
    Unread unread = calls.get(index);
    unread.call.request(2);
    return unread.ended.get(30, TimeUnit.SECONDS).isOk() ? unread.answer : null;
  }

  /** How a call ended, whose answer is read after all. */
  Status end(int index) throws Exception {
    Unread unread = calls.get(index);
    unread.call.request(2);
    return unread.ended.get(30, TimeUnit.SECONDS);
  }

  /** Hangs up without having read. */
  @Override
  public void close() {
    channel.shutdownNow();
  }

  private final class Unread extends ClientCall.Listener<ModelInferResponse> {
    private final ClientCall<ModelInferRequest, ModelInferResponse> call;
    private final CompletableFuture<Status> ended = new CompletableFuture<>();
    private volatile @Nullable ModelInferResponse answer;

    Unread(ClientCall<ModelInferRequest, ModelInferResponse> call) {
      this.call = call;
    }

    @Override
    public void onHeaders(Metadata received) {
      headers.incrementAndGet();
    }

    @Override
    public void onMessage(ModelInferResponse message) {
      answer = message;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      ended.complete(status);
    }
  }
}
