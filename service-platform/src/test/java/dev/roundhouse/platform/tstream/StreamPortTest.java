package dev.roundhouse.platform.tstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A port of one connection, whatever is spoken on it. */
@Timeout(60)
class StreamPortTest {
  private final PeerMemory memory = PeerMemory.unlimited();
  private final StreamPortLoad load = new StreamPortLoad();
  private final List<Throwable> failures = new CopyOnWriteArrayList<>();
  private final StreamPort port =
      new StreamPort(
          new StreamPortSettings(
              "a.port",
              new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
              false,
              null,
              1,
              1 << 10,
              new StreamPortSettings.Threads("port-test", 1)),
          load,
          new ClientText(List.of()),
          memory,
          new OwnWords(),
          failures::add);

  private volatile Supplier<StreamPeer> made = Peer::new;

  private static final class Peer extends ChannelInboundHandlerAdapter implements StreamPeer {
    @Override
    public void drain() {}

    @Override
    public void relieve() {}

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof ChannelInputShutdownEvent) {
        context.close();
      }
    }
  }

  private final class OwnWords implements StreamPort.Peers {
    @Override
    public StreamPeer open(Channel channel, ConnectionMemory own, boolean secured) {
      return made.get();
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

  @BeforeEach
  void start() throws Exception {
    port.start();
  }

  private Socket connect() throws Exception {
    return new Socket(InetAddress.getLoopbackAddress(), port.port());
  }

  @AfterEach
  void shouldHoldNothingWhenClientsHaveGone() throws Exception {
    long end = System.nanoTime() + 30_000_000_000L;
    while (memory.held() != 0 || load.connections() != 0) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
    port.stop(() -> false, 0);
    assertThat(failures).isEmpty();
  }

  @Test
  void shouldRefuseFurtherOnesInTheWordsOfTheirProtocol() throws Exception {
    try (Socket first = connect();
        Socket second = connect()) {
      assertThat(new String(second.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .isEqualTo("1000 there is no room for another connection: a.port has one");
      assertThat(load.refusedEver(HelloStatus.OVERLOADED)).isEqualTo(1);
      assertThat(first.isClosed()).isFalse();
      assertThat(port.peers()).hasSize(1);
    }
  }

  @Test
  void shouldCountNothingOfAConnectionThatCouldNotBeHandled() throws Exception {
    made =
        () -> {
          throw new OutOfMemoryError("of a test");
        };
    try (Socket client = connect()) {
      assertThat(client.getInputStream().read()).isNegative();
    }
  }
}
