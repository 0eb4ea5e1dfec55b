package dev.roundhouse.gateway.fleet;

import com.google.common.base.Throwables;
import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.MoreExecutors;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc;
import dev.roundhouse.kserve.control.proto.ControlServiceGrpc.ControlServiceFutureStub;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.GRPCServiceFutureStub;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.unix.Errors.NativeIoException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * A worker's gRPC port, for what is not forwarded frame by frame: checks, and calls answered from
 * several workers. Thread-safe.
 */
public final class WorkerLink implements AutoCloseable {
  private static final int MOST_ANSWER_BYTES = 64 << 20;

  /** Short, so that a returning worker is found by the next tries. */
  private static final int CONNECT_MILLIS = 2_000;

  /**
   * Of the worker's kernel; then the connection is made anew. After a cut the kernel would wait for
   * as long again before it sends.
   */
  private static final Duration MOST_SILENCE = Duration.ofSeconds(3);

  private static final int LINUX_ETIMEDOUT = -110;

  private final WorkerAddress worker;
  private final WorkerTls tls;
  private final ManagedChannel channel;
  private final GRPCInferenceServiceFutureStub inference;
  private final ControlServiceFutureStub control;
  private final GRPCServiceFutureStub v1;
  private volatile String instance = "";

  /**
   * @param timeout of a look at the worker
   * @param interceptors of its calls
   */
  public WorkerLink(
      WorkerAddress worker, WorkerTls tls, Duration timeout, ClientInterceptor... interceptors) {
    this.worker = worker;
    this.tls = tls;
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(worker.grpc().getHostString(), worker.grpc().getPort())
            .directExecutor()
            .intercept(interceptors)
            .maxInboundMessageSize(MOST_ANSWER_BYTES)
            .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS);
    if (tls.grpc() == null) {
      builder.usePlaintext();
    } else {
      builder.sslContext(tls.grpc());
      if (!tls.serverName().isEmpty()) {
        builder.overrideAuthority(tls.serverName());
      }
    }
    if (Epoll.isAvailable()) {
      Duration silence = timeout.compareTo(MOST_SILENCE) < 0 ? timeout : MOST_SILENCE;
      builder.withOption(EpollChannelOption.TCP_USER_TIMEOUT, Math.toIntExact(silence.toMillis()));
    }
    channel = builder.build();
    inference = GRPCInferenceServiceGrpc.newFutureStub(channel);
    control = ControlServiceGrpc.newFutureStub(channel);
    v1 = GRPCServiceGrpc.newFutureStub(channel);
  }

  public WorkerAddress worker() {
    return worker;
  }

  public String name() {
    return worker.name();
  }

  /** Which start of the worker answered last; empty when that is not known. */
  public String instance() {
    return instance;
  }

  void sawInstance(String seen) {
    instance = seen;
  }

  /** True when the network or the worker's machine gave no sign; false when it was refused. */
  static boolean isSilence(Throwable failure) {
    return Throwables.getCausalChain(failure).stream()
        .anyMatch(
            each ->
                each instanceof ConnectTimeoutException
                    || (each instanceof NativeIoException lost
                        && lost.expectedErr() == LINUX_ETIMEDOUT));
  }

  /** What is wrong when the two cannot agree on TLS; empty for anything else. */
  CompletableFuture<Optional<String>> tlsTrouble(Throwable failure) {
    if (tls.grpc() != null) {
      return CompletableFuture.completedFuture(TlsTrouble.ofSecret(failure));
    }
    if (Status.fromThrowable(failure).getCode() != Status.Code.UNAVAILABLE) {
      return CompletableFuture.completedFuture(Optional.empty());
    }
    return CompletableFuture.supplyAsync(
        () -> TlsTrouble.ofPlain(worker.grpc()), Thread::startVirtualThread);
  }

  /** Calls the worker; the call ends no later than in {@code most}, and with its caller's. */
  public <T> CompletableFuture<T> ask(
      Duration most, Function<GRPCInferenceServiceFutureStub, ListenableFuture<T>> call) {
    return future(call.apply(inference.withDeadlineAfter(most.toNanos(), TimeUnit.NANOSECONDS)));
  }

  /** As {@link #ask}, of its control service. */
  public <T> CompletableFuture<T> askControl(
      Duration most, Function<ControlServiceFutureStub, ListenableFuture<T>> call) {
    return future(call.apply(control.withDeadlineAfter(most.toNanos(), TimeUnit.NANOSECONDS)));
  }

  /** As {@link #ask}, of its service of v1. */
  public <T> CompletableFuture<T> askV1(
      Duration most, Function<GRPCServiceFutureStub, ListenableFuture<T>> call) {
    return future(call.apply(v1.withDeadlineAfter(most.toNanos(), TimeUnit.NANOSECONDS)));
  }

  private static <T> CompletableFuture<T> future(ListenableFuture<T> call) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    Futures.addCallback(
        call,
        new FutureCallback<>() {
          @Override
          public void onSuccess(T result) {
            answer.complete(result);
          }

          @Override
          public void onFailure(Throwable failure) {
            answer.completeExceptionally(failure);
          }
        },
        MoreExecutors.directExecutor());
    return answer;
  }

  /** The gRPC port with its host resolved; unresolved when that fails. Blocks. */
  InetSocketAddress resolve() {
    return new InetSocketAddress(worker.grpc().getHostString(), worker.grpc().getPort());
  }

  /** Connects now instead of waiting out the backoff of earlier failures. */
  void retryNow() {
    channel.resetConnectBackoff();
  }

  @Override
  public void close() {
    channel.shutdown();
  }
}
