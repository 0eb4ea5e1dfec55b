package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.http2.Http2ServerBuilder;
import dev.roundhouse.transport.http2.TestService;
import io.grpc.ForwardingServerBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A server that sends every call on to another, which is built as the test says. */
public final class Front extends ForwardingServerBuilder<Front> {
  private final ServerBuilder<?> back;
  private final Http2ServerBuilder front;

  /** Of what is sent on; given back when the server has stopped. */
  private final ForwardingBudget memory = new ForwardingBudget(64 << 20, "wait");

  /**
   * @param front how it is itself; what is said of connections is said of its own
   */
  public Front(ServerBuilder<?> back, Http2ServerBuilder front) {
    this.back = back;
    this.front = front;
  }

  @Override
  public Front permitKeepAliveTime(long time, TimeUnit unit) {
    front.permitKeepAliveTime(time, unit);
    return this;
  }

  @Override
  public Front keepAliveTime(long time, TimeUnit unit) {
    front.keepAliveTime(time, unit);
    return this;
  }

  @Override
  public Front keepAliveTimeout(long time, TimeUnit unit) {
    front.keepAliveTimeout(time, unit);
    return this;
  }

  @Override
  public Front maxConnectionIdle(long time, TimeUnit unit) {
    front.maxConnectionIdle(time, unit);
    return this;
  }

  @Override
  public Front maxConnectionAge(long time, TimeUnit unit) {
    front.maxConnectionAge(time, unit);
    return this;
  }

  @Override
  public Front maxConnectionAgeGrace(long time, TimeUnit unit) {
    front.maxConnectionAgeGrace(time, unit);
    return this;
  }

  @Override
  protected ServerBuilder<?> delegate() {
    return back;
  }

  @Override
  public Server build() {
    return new Pair(super.build());
  }

  private static final List<MethodDescriptor<byte[], byte[]>> UNARY =
      List.of(TestService.ECHO, TestService.FAIL, TestService.THROW, TestService.WAIT);

  /** Sends all calls to one address, once the first message has begun. */
  public record Everything(SocketAddress address) implements CallRouter, CallRouter.Route {
    @Override
    public boolean forwards(String method) {
      return true;
    }

    @Override
    public boolean unaryRequest(String method) {
      return UNARY.stream().anyMatch(each -> each.getFullMethodName().equals(method));
    }

    @Override
    public Route route(
        String method, @Nullable CallerRights caller, ByteBuffer begin, boolean more) {
      return this;
    }

    @Override
    public @Nullable Route other(Status status) {
      return null;
    }

    @Override
    public void ended(Status status) {}
  }

  private final class Pair extends Server {
    private final Server behind;
    private @Nullable Server started;

    Pair(Server behind) {
      this.behind = behind;
    }

    private Server front() {
      return Objects.requireNonNull(started, "not started");
    }

    @Override
    public Server start() throws IOException {
      behind.start();
      InetSocketAddress address =
          new InetSocketAddress(InetAddress.getLoopbackAddress(), behind.getPort());
      started = front.forward(new GrpcForwarder(new Everything(address), memory)).build().start();
      return this;
    }

    @Override
    public int getPort() {
      return front().getPort();
    }

    @Override
    public Server shutdown() {
      front().shutdown();
      return this;
    }

    @Override
    public Server shutdownNow() {
      front().shutdownNow();
      return this;
    }

    @Override
    public boolean isShutdown() {
      return front().isShutdown();
    }

    @Override
    public boolean isTerminated() {
      return front().isTerminated();
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
      boolean ended =
          front().awaitTermination(timeout, unit)
              && behind.shutdownNow().awaitTermination(timeout, unit);
      if (ended && memory.held() != 0) {
        throw new AssertionError(memory.held() + " bytes are held of calls that have ended");
      }
      return ended;
    }

    @Override
    public void awaitTermination() throws InterruptedException {
      front().awaitTermination();
      behind.shutdownNow().awaitTermination();
    }
  }
}
