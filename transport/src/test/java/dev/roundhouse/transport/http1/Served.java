package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.io.LoopEnd;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.MemoryRoot;
import dev.roundhouse.transport.memory.PeerMemory;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A server of which routes under {@code /own} do as the test says; others say what was asked. */
final class Served implements AutoCloseable, MemoryRoot {
  static final int MOST_BYTES = 1 << 16;

  final Http1Server server;

  /** Replies that wait for the test. */
  final BlockingQueue<Reply> waiting = new LinkedBlockingQueue<>();

  /** Who writes a wide reply. */
  final BlockingQueue<Thread> writer = new LinkedBlockingQueue<>();

  private final CompletableFuture<Throwable> failure = new CompletableFuture<>();
  final AtomicInteger gone = new AtomicInteger();
  final AtomicInteger sent = new AtomicInteger();
  private final AtomicLong held = new AtomicLong();
  final PeerMemory memory = new PeerMemory(this);
  final AtomicInteger pieces = new AtomicInteger();

  /** Answers what is under {@code /streamed}. */
  volatile Function<String, RouteTarget> streamed =
      name -> {
        throw new IllegalStateException("no handler is set");
      };

  /** What may be held of bodies and answers. */
  volatile long limit = Long.MAX_VALUE;

  /** What is said to be the limit, a quarter of which connections and heads may have. */
  volatile long saidLimit = 1L << 40;

  static Served start() throws IOException {
    return start(new Http1Settings.Limits(100, 10, 8192, -1), Duration.ofMinutes(1));
  }

  /**
   * @param patience for whatever a client may take its time for
   */
  static Served start(Http1Settings.Limits limits, Duration patience) throws IOException {
    return new Served(limits, patience.toNanos());
  }

  /** Completes when the server says that it has failed. */
  CompletableFuture<Throwable> failure() {
    return failure;
  }

  private Served(Http1Settings.Limits limits, long patience) throws IOException {
    server =
        new Http1Server(
            new Http1Settings(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                () -> null,
                head ->
                    head.headers().contains("X-Refuse")
                        ? RequestGuard.Verdict.refused(403, head.target() + " is refused")
                        : RequestGuard.Verdict.allowed(null),
                this::route,
                text -> text.getBytes(StandardCharsets.UTF_8),
                LoadListener.NONE,
                failure::complete,
                memory,
                new Http1Settings.BodyLimits(MOST_BYTES, "send less"),
                limits,
                new Http1Settings.Times(patience, patience, patience, "hurry")));
    server.start();
  }

  private RouteTarget route(String method, String target, @Nullable CallerRights caller) {
    if (method.equals("POST") && target.startsWith("/streamed/")) {
      return streamed.apply(target.substring("/streamed/".length()));
    }
    return method.equals("POST") && target.startsWith("/own/")
        ? new Own(target.substring("/own/".length()))
        : new Other(method, target);
  }

  Peer peer() throws IOException {
    return new Peer(server.port());
  }

  /** Bytes of bodies, whole requests, answers and refusals; not of what connections have ready. */
  long passing() {
    return memory.held(Kept.BODY) + memory.held(Kept.ANSWER) + memory.held(Kept.REFUSAL);
  }

  /** Bytes of all kinds. */
  long heldInAll() {
    long bytes = 0;
    for (Kept kind : Kept.values()) {
      bytes += memory.held(kind);
    }
    return bytes;
  }

  @Override
  public boolean take(long bytes) {
    if (held.addAndGet(bytes) <= limit) {
      return true;
    }
    held.addAndGet(-bytes);
    return false;
  }

  @Override
  public void takeAnyway(long bytes) {
    held.addAndGet(bytes);
  }

  @Override
  public void giveBack(long bytes) {
    if (held.addAndGet(-bytes) < 0) {
      throw new IllegalStateException("more was given back than was taken");
    }
  }

  @Override
  public long held() {
    return held.get();
  }

  @Override
  public long limit() {
    return saidLimit;
  }

  @Override
  public long leastStandingBytes() {
    return 0;
  }

  @Override
  public String remedy() {
    return "have more";
  }

  @Override
  public String refusal(long bytes) {
    return "there is no room";
  }

  @Override
  public void close() {
    server.close();
  }

  private final class Own implements RequestHandler {
    private final String name;

    Own(String name) {
      this.name = name;
    }

    @Override
    public void handle(ReceivedRequest request, Reply reply) {
      request.memory().giveBack(Kept.BODY, request.heldBytes());
      String body = new String(request.body(), 0, request.length(), StandardCharsets.ISO_8859_1);
      switch (name) {
        case "later" -> waiting.add(reply);
        case "wide" -> writer.add(Thread.ofVirtual().start(() -> wide(reply)));
        case "ends-loop" -> LoopEnd.ofThisThread();
        case "throws" -> throw new IllegalStateException("as asked");
        default -> end(reply, "own " + body);
      }
    }

    @Override
    public void gone() {
      gone.incrementAndGet();
    }
  }

  /** Says what was asked, on a thread of its own. */
  private final class Other implements RequestHandler {
    private final String method;
    private final String target;

    Other(String method, String target) {
      this.method = method;
      this.target = target;
    }

    @Override
    public Http1Settings.@Nullable BodyLimits body(Http1Settings.BodyLimits usual) {
      return switch (target) {
        case "/early" -> null;
        case "/small" -> new Http1Settings.BodyLimits(2, "send next to nothing");
        default -> usual;
      };
    }

    @Override
    public void handle(ReceivedRequest request, Reply reply) {
      request.memory().giveBack(Kept.BODY, request.heldBytes());
      String body = new String(request.body(), 0, request.length(), StandardCharsets.ISO_8859_1);
      Thread.ofVirtual().start(() -> answer(request, reply, body));
    }

    private void answer(ReceivedRequest request, Reply reply, String body) {
      switch (target) {
        case "/early" -> {
          reply.status(404);
          end(reply, "nobody wants it" + body);
        }
        case "/client" -> end(reply, request.client() + " " + request.session());
        default -> end(reply, method + " " + target + " " + body);
      }
    }

    @Override
    public void gone() {}
  }

  /** Answers with a text. */
  void end(Reply reply, String text) {
    try {
      reply.header("X-Own", "yes");
      reply.body().write(text.getBytes(StandardCharsets.ISO_8859_1));
    } catch (IOException e) {
      reply.abort(sent::incrementAndGet);
      return;
    }
    reply.end(sent::incrementAndGet);
  }

  /** Writes 64 MiB of unknown length, copied and lent by turns. */
  private void wide(Reply reply) {
    byte[] piece = new byte[1 << 16];
    ByteBuffer lent = ByteBuffer.allocateDirect(piece.length);
    try {
      OutputStream body = reply.body();
      for (int i = 0; i < 1 << 9; i++) {
        body.write(piece);
        reply.lend(lent.duplicate());
        pieces.incrementAndGet();
      }
    } catch (IOException e) {
      reply.abort(sent::incrementAndGet);
      return;
    }
    reply.end(sent::incrementAndGet);
  }
}
