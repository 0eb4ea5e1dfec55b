package dev.roundhouse.transport.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.transport.io.EventLoops;
import dev.roundhouse.transport.io.Leaks;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two real connections that pass on to each other, when one of them does not take what it gets. */
@Timeout(120)
class SpliceTest implements Splice.Listener {
  private static final int LARGE = 32 << 20;
  private static final long LONG = TimeUnit.MINUTES.toNanos(5);
  private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(200);
  private static final int SMALL_BUFFER = 4096;
  private static final int LARGE_BUFFER = 1 << 17;

  private final CompletableFuture<Throwable> died = new CompletableFuture<>();
  private final EventLoops loops = new EventLoops("splice", 1, died::complete);
  private final PeerMemory memory = PeerMemory.unlimited();
  private final BlockingQueue<Splice.End> ends = new LinkedBlockingQueue<>();
  private final CompletableFuture<Splice> begun = new CompletableFuture<>();
  private final CompletableFuture<Channel> front = new CompletableFuture<>();
  private @Nullable ServerSocket listening;
  private @Nullable Socket client;
  private @Nullable Socket server;

  @BeforeEach
  void listen() throws IOException {
    listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void stop() throws IOException {
    for (Socket each : new Socket[] {client, server}) {
      if (each != null) {
        each.close();
      }
    }
    Objects.requireNonNull(listening).close();
    await(() -> memory.held(Kept.CONNECTION) == 0);
    assertThat(memory.held(Kept.MESSAGE) + memory.held(Kept.ANSWER)).isZero();
    loops.stop(0).syncUninterruptibly();
    assertThat(died).isNotDone();
    Leaks.awaitNone();
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(1_000_000);
      if (Thread.interrupted()) {
        throw new AssertionError("not in time");
      }
    }
  }

  private Splice open(long unreadNanos) throws Exception {
    return open(unreadNanos, LARGE_BUFFER);
  }

  /**
   * @param bufferBytes of the systems' between the two and the client
   */
  private Splice open(long unreadNanos, int bufferBytes) throws Exception {
    InetSocketAddress to =
        (InetSocketAddress) Objects.requireNonNull(listening).getLocalSocketAddress();
    SpliceSockets sockets = new SpliceSockets(Duration.ofSeconds(20));
    Channel bound =
        loops.listen(
            loops
                .bootstrap()
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .childOption(ChannelOption.AUTO_READ, false)
                .childOption(ChannelOption.SO_SNDBUF, bufferBytes)
                .childHandler(
                    new ChannelInitializer<Channel>() {
                      @Override
                      protected void initChannel(Channel accepted) {
                        front.complete(accepted);
                        sockets.connect(
                            accepted.eventLoop(),
                            to,
                            new Beginning(accepted, unreadNanos),
                            begun::completeExceptionally);
                      }
                    }),
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    Socket made = new Socket();
    made.setReceiveBufferSize(bufferBytes);
    made.connect(bound.localAddress());
    client = made;
    server = Objects.requireNonNull(listening).accept();
    return begun.get(30, TimeUnit.SECONDS);
  }

  private final class Beginning extends ChannelInboundHandlerAdapter {
    private final Channel accepted;
    private final long unreadNanos;

    Beginning(Channel accepted, long unreadNanos) {
      this.accepted = accepted;
      this.unreadNanos = unreadNanos;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
      ConnectionMemory own =
          Objects.requireNonNull(memory.open(accepted.remoteAddress(), 1000, () -> {}));
      accepted.closeFuture().addListener(closed -> own.close());
      Splice made =
          new Splice(
              accepted,
              context.channel(),
              own,
              new Splice.Times(LONG, unreadNanos),
              SpliceTest.this);
      made.begin(Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
      begun.complete(made);
    }
  }

  @Override
  public void passed(boolean fromClient, int bytes) {}

  @Override
  public void ended(Splice.End how, @Nullable Throwable why) {
    ends.add(how);
  }

  private Socket client() {
    return Objects.requireNonNull(client);
  }

  private Socket server() {
    return Objects.requireNonNull(server);
  }

  /** On the event loop of both. */
  private void relieve(Splice splice) throws Exception {
    front.join().eventLoop().submit(splice::relieve).get(30, TimeUnit.SECONDS);
  }

  private static CompletableFuture<Integer> sending(Socket from, int bytes) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            from.getOutputStream().write(new byte[bytes]);
            return bytes;
          } catch (IOException e) {
            return -1; // it ends in the middle
          }
        },
        Thread::startVirtualThread);
  }

  private Splice.@Nullable End end() throws InterruptedException {
    return ends.poll(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldGoOnOnceAClientReadsThatHeldItsServerUp() throws Exception {
    open(LONG);
    CompletableFuture<Integer> sent = sending(server(), LARGE);
    await(() -> memory.held(Kept.ANSWER) > 0);
    assertThat(sent).as("the server waits for its client").isNotDone();
    assertThat(memory.held(Kept.ANSWER)).isLessThan(1 << 18);
    assertThat(client().getInputStream().readNBytes(LARGE)).hasSize(LARGE);
    assertThat(sent.get(30, TimeUnit.SECONDS)).isEqualTo(LARGE);
    await(() -> memory.held(Kept.ANSWER) == 0);
    server().close();
    assertThat(client().getInputStream().read()).isNegative();
    client().close();
    assertThat(end()).isEqualTo(Splice.End.COMPLETE);
  }

  @Test
  void shouldEndWhatAClientDoesNotTakeWhenOthersNeedTheMemory() throws Exception {
    Splice splice = open(LONG);
    relieve(splice);
    assertThat(ends).as("of one that holds nothing up").isEmpty();
    CompletableFuture<Integer> sent = sending(server(), LARGE);
    await(() -> memory.held(Kept.ANSWER) > 0);
    relieve(splice);
    assertThat(end()).isEqualTo(Splice.End.RELIEVED);
    assertThat(memory.held(Kept.ANSWER)).isZero();
    assertThat(sent.get(30, TimeUnit.SECONDS)).as("its server is told").isEqualTo(-1);
    assertThatThrownBy(() -> client().getInputStream().readNBytes(LARGE))
        .hasMessageContaining("reset");
    relieve(splice); // it is over
    assertThat(ends).isEmpty();
  }

  @Test
  void shouldEndWhatAServerDoesNotTakeWhenOthersNeedTheMemory() throws Exception {
    Splice splice = open(SHORT); // a server may take its time
    CompletableFuture<Integer> sent = sending(client(), LARGE);
    await(() -> memory.held(Kept.MESSAGE) > 0);
    relieve(splice);
    assertThat(end()).isEqualTo(Splice.End.RELIEVED);
    assertThat(memory.held(Kept.MESSAGE)).isZero();
    assertThat(sent.get(30, TimeUnit.SECONDS)).isEqualTo(-1);
  }

  @Test
  void shouldEndOneWhoseClientDoesNotRead() throws Exception {
    open(SHORT);
    CompletableFuture<Integer> sent = sending(server(), LARGE);
    assertThat(end()).isEqualTo(Splice.End.UNREAD);
    assertThat(sent.get(30, TimeUnit.SECONDS)).isEqualTo(-1);
  }

  @Test
  void shouldEndOneWhoseClientDoesNotReadTheLastThatItsServerHasSaid() throws Exception {
    open(SHORT, SMALL_BUFFER);
    server().getOutputStream().write(new byte[80 << 10]); // less than holds the server up
    server().close();
    assertThat(end()).isEqualTo(Splice.End.UNREAD);
  }

  @Test
  void shouldLeaveOneAloneInWhichNothingIsSent() throws Exception {
    open(TimeUnit.MILLISECONDS.toNanos(20));
    assertThat(ends.poll(200, TimeUnit.MILLISECONDS)).isNull();
    client().shutdownOutput();
    assertThat(server().getInputStream().read()).isNegative();
    assertThat(ends.poll(200, TimeUnit.MILLISECONDS)).as("its server may think").isNull();
    server().close();
    assertThat(end()).isEqualTo(Splice.End.COMPLETE);
  }
}
