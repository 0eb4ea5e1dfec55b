package dev.roundhouse.platform.tstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StreamPortTest {
  private final StreamPortLoad load = new StreamPortLoad();
  private final PeerMemory memory = PeerMemory.unlimited();
  private final AtomicReference<Throwable> failed = new AtomicReference<>();

  /** As when a certificate cannot be used. */
  @Test
  void shouldGiveBackWhatAConnectionTookThatCannotBeHandled() throws Exception {
    StreamPort port =
        new StreamPort(
            new StreamPortSettings(
                "keys",
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                false,
                null,
                10,
                1 << 14),
            load,
            new ClientText(List.of()),
            memory,
            (channel, own, secured) -> {
              assertThat(memory.held()).isPositive();
              throw new IllegalStateException("no peer of a test");
            },
            failed::set);
    port.start();
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), port.port())) {
      assertThat(client.getInputStream().read()).isNegative();
      while (load.connections() > 0 || memory.held() > 0) {
        TimeUnit.MILLISECONDS.sleep(1);
      }
      assertThat(port.peers()).isEmpty();
      assertThat(failed.get()).as("the others are served").isNull();
    } finally {
      port.stop(() -> false, 0);
    }
  }
}
