package dev.roundhouse.platform.tstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.CountedRoot;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who gets a connection, what becomes of one that cannot be served, and how the port ends. */
@Timeout(60)
class StreamPortTest {
  @TempDir Path folder;

  private final PeerMemory memory = PeerMemory.unlimited();
  private final Load load = new Load();
  private final CompletableFuture<Throwable> failed = new CompletableFuture<>();
  private final List<Peer> made = new CopyOnWriteArrayList<>();
  private long connectionBytes = 4096;
  private @Nullable StreamPort port;

  private static final class Load extends StreamPortLoad {
    final AtomicInteger failed = new AtomicInteger();

    @Override
    protected void failedToOpen() {
      failed.incrementAndGet();
    }
  }

  /** Counts what it is told; one whose loop has ended cannot be told. */
  private static final class Peer extends ChannelInboundHandlerAdapter implements StreamPeer {
    final Channel channel;
    final AtomicInteger drained = new AtomicInteger();

    Peer(Channel channel) {
      this.channel = channel;
    }

    @Override
    public void drain() {
      channel.eventLoop().execute(drained::incrementAndGet);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof ChannelInputShutdownEvent) {
        context.close();
      }
    }

    @Override
    public void relieve() {
      throw new RejectedExecutionException("its loop has ended");
    }
  }

  private Peer peer(Channel channel, ConnectionMemory own, boolean secured) {
    Peer peer = new Peer(channel);
    made.add(peer);
    return peer;
  }

  private StreamPort start(int most, PeerMemory from, StreamPort.Peers peers, @Nullable Path socket)
      throws IOException {
    StreamPort begun =
        new StreamPort(
            new StreamPortSettings(
                "test.stream",
                StreamPortSettings.address(0, loopback()),
                false,
                socket,
                most,
                connectionBytes),
            load,
            new ClientText(List.of()),
            from,
            peers,
            failed::complete);
    port = begun;
    begun.start();
    return begun;
  }

  private static InetAddress loopback() {
    return InetAddress.getLoopbackAddress();
  }

  private static Socket connect(StreamPort to) throws IOException {
    Socket made = new Socket(loopback(), to.port());
    made.setSoTimeout(30_000);
    return made;
  }

  private static ServerReply reply(Socket from) throws IOException {
    DataInputStream in = new DataInputStream(from.getInputStream());
    byte[] head = in.readNBytes(ServerReply.HEAD_BYTES);
    int length = ServerReply.length(ByteBuffer.wrap(head));
    ByteBuffer all = ByteBuffer.allocate(length).put(head);
    return ServerReply.read(all.put(in.readNBytes(length - head.length)).flip());
  }

  /** Closed by the other end, in whichever way. */
  private static boolean isOver(Socket socket) {
    try {
      return socket.getInputStream().read() < 0;
    } catch (IOException e) {
      return !(e instanceof SocketTimeoutException);
    }
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(1_000_000);
      if (Thread.interrupted()) {
        throw new AssertionError("not in time");
      }
    }
  }

  @AfterEach
  void stop() throws InterruptedException {
    if (port != null) {
      port.stop(() -> false, 0);
      assertThat(port.port()).as("of a port where nothing listens").isZero();
    }
  }

  @Test
  void shouldTellThoseAboveTheLimitToComeAgainAndCloseFurtherOnes() throws Exception {
    StreamPort open = start(1, memory, this::peer, null);
    List<Socket> told = new ArrayList<>();
    try (Socket first = connect(open)) {
      await(() -> load.connections() == 1);
      for (int i = 0; i < 64; i++) {
        Socket next = connect(open);
        told.add(next);
        ServerReply reply = reply(next);
        assertThat(reply.status()).isEqualTo(HelloStatus.OVERLOADED);
        assertThat(reply.text()).contains("test.stream.max-connections is 1");
        assertThat(reply.window()).as("milliseconds to wait").isPositive();
      }
      try (Socket more = connect(open)) {
        assertThat(isOver(more)).isTrue();
      }
      assertThat(load.refusedEver(HelloStatus.OVERLOADED)).isEqualTo(64);
      assertThat(first.isConnected()).isTrue();
    }
    for (Socket each : told) {
      each.close();
    }
    await(() -> load.connections() == 0);
    try (Socket another = connect(open)) {
      await(() -> open.peers().size() == 1);
      assertThat(another.isConnected()).isTrue();
    }
  }

  /** A protocol of its own, as learners speak it. */
  private final class OwnWords implements StreamPort.Peers {
    @Override
    public StreamPeer open(Channel channel, ConnectionMemory own, boolean secured) {
      return peer(channel, own, secured);
    }

    @Override
    public String full(StreamPortSettings settings) {
      return settings.keys() + " has one";
    }

    @Override
    public ByteBuf noRoom(int retryMillis, String text) {
      return Unpooled.copiedBuffer(retryMillis + " " + text, StandardCharsets.US_ASCII);
    }
  }

  @Test
  void shouldRefuseFurtherOnesInTheWordsOfTheirProtocol() throws Exception {
    StreamPort open = start(1, memory, new OwnWords(), null);
    try (Socket first = connect(open)) {
      await(() -> load.connections() == 1);
      try (Socket second = connect(open)) {
        assertThat(new String(second.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
            .isEqualTo("1000 there is no room for another connection: test.stream has one");
      }
      assertThat(load.refusedEver(HelloStatus.OVERLOADED)).isEqualTo(1);
      assertThat(first.isClosed()).isFalse();
      assertThat(open.peers()).hasSize(1);
    }
    await(() -> load.connections() == 0);
  }

  @Test
  void shouldTellThoseForWhomThereIsNoMemory() throws Exception {
    PeerMemory full = new PeerMemory(new CountedRoot(1 << 20, "give it some"));
    connectionBytes = 8 << 20;
    StreamPort open = start(8, full, this::peer, null);
    try (Socket client = connect(open)) {
      ServerReply reply = reply(client);
      assertThat(reply.status()).isEqualTo(HelloStatus.OVERLOADED);
      assertThat(reply.text()).contains("the memory for connections is used up");
      assertThat(isOver(client)).isTrue();
    }
    await(() -> load.connections() == 0);
  }

  @Test
  void shouldCloseAndCountAConnectionThatCannotBeServed() throws Exception {
    AtomicBoolean broken = new AtomicBoolean(true);
    StreamPort open =
        start(
            8,
            memory,
            (channel, own, secured) -> {
              if (broken.get()) {
                throw new InternalError("as asked");
              }
              return peer(channel, own, secured);
            },
            null);
    for (int i = 1; i <= 3; i++) {
      try (Socket client = connect(open)) {
        assertThat(isOver(client)).isTrue();
      }
      assertThat(load.failed).hasValue(i);
    }
    await(() -> load.connections() == 0 && memory.held(Kept.CONNECTION) == 0);
    assertThat(open.peers()).isEmpty();
    broken.set(false);
    try (Socket client = connect(open)) {
      await(() -> open.peers().size() == 1);
      assertThat(client.isConnected()).isTrue();
    }
    assertThat(failed).isNotDone();
  }

  @Test
  void shouldSayThatAnEventLoopIsGoneAndLetNobodyWaitForIt() throws Exception {
    AtomicBoolean ends = new AtomicBoolean(true);
    StreamPort open =
        start(
            100,
            memory,
            (channel, own, secured) -> {
              if (ends.getAndSet(false)) {
                var unused = channel.eventLoop().shutdownGracefully(0, 0, TimeUnit.SECONDS);
              }
              return peer(channel, own, secured);
            },
            null);
    try (Socket client = connect(open)) {
      assertThat(failed.get(30, TimeUnit.SECONDS)).hasMessageContaining("'tstream-");
      assertThat(client.isConnected()).as("its socket hangs").isTrue();
      if (Runtime.getRuntime().availableProcessors() > 1) { // or nobody accepts any more
        assertOneOfTheNextIsClosed(open);
      }
    }
    open.drain(); // does not throw for those whose loop has ended
    open.stop(() -> false, 0);
  }

  /** Each loop is given one in turn, and the one that is gone takes none. */
  private static void assertOneOfTheNextIsClosed(StreamPort open) throws IOException {
    List<SocketChannel> next = new ArrayList<>();
    try {
      for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
        SocketChannel made = SocketChannel.open(new InetSocketAddress(loopback(), open.port()));
        made.configureBlocking(false);
        next.add(made);
      }
      await(() -> next.stream().anyMatch(StreamPortTest::isClosed));
    } finally {
      for (SocketChannel each : next) {
        each.close();
      }
    }
  }

  private static boolean isClosed(SocketChannel channel) {
    try {
      return channel.read(ByteBuffer.allocate(1)) < 0;
    } catch (IOException e) {
      return true; // by a reset
    }
  }

  @Test
  void shouldNotLetOneThatCannotBeToldKeepOthersFromMemory() throws Exception {
    PeerMemory small = new PeerMemory(new CountedRoot(1 << 20, "give it more"));
    connectionBytes = 1_400 << 10; // of the 4 MiB that connections may hold
    StreamPort open = start(8, small, this::peer, null);
    try (Socket one = connect(open);
        Socket two = connect(open)) {
      await(() -> open.peers().size() == 2);
      ConnectionMemory other =
          small.open(new InetSocketAddress("10.0.0.9", 1), connectionBytes - (100 << 10), () -> {});
      assertThat(other).as("for which others are asked to give way").isNull();
      assertThat(small.relievedEver()).isEqualTo(2);
      assertThat(List.of(one, two)).allMatch(Socket::isConnected);
    }
  }

  @Test
  void shouldTellAllThatItStopsAndWaitForWhatIsBusy() throws Exception {
    Path socket = folder.resolve("s");
    StreamPort open = start(8, memory, this::peer, socket);
    AtomicInteger looks = new AtomicInteger();
    try (Socket client = connect(open);
        SocketChannel local = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      await(() -> open.peers().size() == 2);
      open.stop(() -> looks.incrementAndGet() < 3, TimeUnit.SECONDS.toNanos(30));
      assertThat(looks).hasValue(3);
      assertThat(made).allMatch(each -> each.drained.get() == 1);
      assertThat(isOver(client)).isTrue();
      assertThat(local.read(ByteBuffer.allocate(1))).isNegative();
    }
    assertThat(socket).doesNotExist();
    assertThat(load.connections()).isZero();
    assertThat(failed).isNotDone();
  }

  @Test
  void shouldDrainWhoeverComesLate() throws Exception {
    StreamPort open = start(8, memory, this::peer, null);
    open.drain();
    try (Socket client = connect(open)) {
      await(() -> open.peers().size() == 1 && made.getFirst().drained.get() == 1);
      assertThat(client.isConnected()).isTrue();
    }
  }

  @Test
  void shouldListenNowhereWhenItCannotListenEverywhere() throws Exception {
    Path file = Files.writeString(folder.resolve("file"), "somebody's");
    assertThatThrownBy(() -> start(8, memory, this::peer, file))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("test.stream.port=0, socket=" + file)
        .hasMessageContaining("is there already, and is no socket");
    assertThat(Objects.requireNonNull(port).port()).isZero();
    assertThat(file).hasContent("somebody's");
    try (ServerSocket taken = new ServerSocket(0, 1, loopback())) {
      StreamPort second =
          new StreamPort(
              new StreamPortSettings(
                  "test.stream",
                  StreamPortSettings.address(taken.getLocalPort(), loopback()),
                  false,
                  null,
                  8,
                  connectionBytes),
              load,
              new ClientText(List.of()),
              memory,
              this::peer,
              failed::complete);
      assertThatThrownBy(second::start)
          .hasMessageContaining("test.stream.port=" + taken.getLocalPort())
          .hasMessageContaining("Address already in use");
    }
    assertThat(failed).as("nothing that listened has failed").isNotDone();
  }

  @Test
  void shouldTakeThePlaceOfASocketWhoseProcessIsGoneAndOfNoOther() throws Exception {
    Path socket = folder.resolve("s");
    try (ServerSocketChannel other = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      other.bind(UnixDomainSocketAddress.of(socket));
      assertThatThrownBy(() -> start(8, memory, this::peer, socket))
          .hasMessageContaining("another process listens at " + socket);
      assertThat(socket).exists();
    }
    StreamPort open = start(8, memory, this::peer, socket); // the file has stayed
    try (SocketChannel local = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      await(() -> open.peers().size() == 1);
      assertThat(local.isConnected()).isTrue();
    }
  }
}
