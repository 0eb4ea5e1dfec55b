package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.transport.forward.CallRouter.Route;
import dev.roundhouse.transport.http1.Http1Server;
import dev.roundhouse.transport.http1.Http1Settings;
import dev.roundhouse.transport.http1.Peer;
import dev.roundhouse.transport.http1.RequestGuard;
import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaders;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/**
 * A server that sends requests over HTTP on, to servers of the test in their order. When a test is
 * over nothing is left of its requests.
 */
abstract class SentOnHttp {
  static final int MOST_BODY = 80 << 20;
  private static final int LIMIT = 16 << 20;

  final ForwardingBudget memory = new ForwardingBudget(LIMIT, "wait");
  final PeerMemory peers = new PeerMemory(memory.root());

  /** In the order in which they are asked. */
  final List<Behind> servers = new ArrayList<>();

  /** The first that is asked. */
  volatile int firstServer;

  /** What the routes were told. */
  final List<String> told = new CopyOnWriteArrayList<>();

  /** Routes that have not been told their end. */
  final AtomicInteger openRoutes = new AtomicInteger();

  /** After how long a second server is asked. */
  volatile long hedgeAfterNanos = Route.NEVER;

  /** Whether a server that cannot answer is followed by the next. */
  volatile boolean follows = true;

  volatile long mostBody = MOST_BODY;

  /** After how long without a request a connection to a server is closed. */
  Duration idle = Duration.ofMinutes(1);

  private @Nullable Http1Server front;

  final Behind serve(String name) throws IOException {
    Behind server = new Behind(name);
    servers.add(server);
    return server;
  }

  final void startFront(@Nullable UpstreamTls tls) throws IOException {
    HttpForwarder forwarder =
        new HttpForwarder(
            new HttpForwarding(
                memory,
                mostBody,
                "send less",
                SentOnHttp::code,
                new HttpForwarding.Headers("sealed", "caller", "spent", "keeps", "about"),
                tls,
                Duration.ofSeconds(20),
                idle));
    long patience = TimeUnit.MINUTES.toNanos(1);
    Http1Server started =
        new Http1Server(
            new Http1Settings(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                () -> null,
                RequestGuard.NONE,
                (method, target, caller) -> forwarder.request(new ToServers()),
                text -> text.getBytes(StandardCharsets.UTF_8),
                LoadListener.NONE,
                failure -> {},
                peers,
                new Http1Settings.BodyLimits(1 << 20, "send less"),
                new Http1Settings.Limits(100, 10, 8192, -1),
                new Http1Settings.Times(patience, patience, patience, "hurry")));
    started.start();
    front = started;
  }

  private static int code(Status.Code code) {
    return switch (code) {
      case INVALID_ARGUMENT -> 400;
      case RESOURCE_EXHAUSTED -> 429;
      case UNAVAILABLE -> 503;
      default -> 500;
    };
  }

  final Http1Server front() {
    return Objects.requireNonNull(front, "not started");
  }

  final Peer peer() throws IOException {
    return new Peer(front().port());
  }

  /** Those that the routes were told. A client has its answer before its route is told the end. */
  void assertTold(String... wanted) {
    await(() -> told.size() >= wanted.length);
    assertThat(told).containsExactly(wanted);
  }

  static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      LockSupport.parkNanos(100_000);
    }
  }

  /** Bytes of all kinds. */
  final long heldByPeers() {
    long bytes = 0;
    for (Kept kind : Kept.values()) {
      bytes += peers.held(kind);
    }
    return bytes;
  }

  @AfterEach
  void shouldLeaveNothingOfRequestsBehind() throws IOException {
    try {
      await(() -> heldByPeers() == 0 && memory.held() == 0);
      assertThat(openRoutes).as("every route is told its end").hasValue(0);
    } finally {
      front().close();
      for (Behind server : servers) {
        server.close();
      }
      Leaks.awaitNone();
    }
  }

  /** The way of one request. */
  private final class ToServers implements HttpRouter {
    @Override
    public Route route(HttpHeaders headers, byte[] begin) throws StatusException {
      if (new String(begin, StandardCharsets.ISO_8859_1).startsWith("nobody")) {
        throw Status.UNAVAILABLE.withDescription("no worker is ready").asException();
      }
      told.add("shown " + begin.length);
      return new Way(firstServer, false);
    }

    @Override
    public @Nullable Route second(Route first, HttpHeaders headers, byte[] body) {
      return new Way(((Way) first).index + 1, true);
    }

    @Override
    public @Nullable InetSocketAddress address(Route route) {
      return servers.get(((Way) route).index).address();
    }

    @Override
    public String name(Route route) {
      return "worker '" + servers.get(((Way) route).index).name + "'";
    }
  }

  private final class Way implements Route {
    private final int index;
    private final boolean isHedge;

    Way(int index, boolean isHedge) {
      this.index = index;
      this.isHedge = isHedge;
      openRoutes.incrementAndGet();
    }

    private String name() {
      return servers.get(index).name;
    }

    @Override
    public SocketAddress address() {
      throw new IllegalStateException("that is for gRPC");
    }

    @Override
    public @Nullable Route other(Status status) {
      told.add(name() + " other " + text(status));
      if (!follows || index + 1 == servers.size()) {
        return null;
      }
      openRoutes.decrementAndGet();
      return new Way(index + 1, false);
    }

    @Override
    public long hedgeAfterNanos() {
      return isHedge ? NEVER : hedgeAfterNanos;
    }

    @Override
    public void ended(Status status) {
      told.add(name() + " ended " + text(status));
      openRoutes.decrementAndGet();
    }
  }

  private static String text(Status status) {
    return status.getCode()
        + switch (status.getCause()) {
          case ConnectException unreached -> " unreached";
          case LostCall lost -> lost.isUnseen() ? " unseen" : " lost";
          case null -> "";
          default -> " refused";
        };
  }
}
