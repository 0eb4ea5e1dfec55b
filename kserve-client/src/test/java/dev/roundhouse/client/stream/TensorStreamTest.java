package dev.roundhouse.client.stream;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.kserve.tstream.ClientHello;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a client does without a server; the worker's tests have the rest. */
@Timeout(60)
class TensorStreamTest {
  private static final Duration SHORT = Duration.ofMillis(100);

  private final ClientHello hello = ClientHello.of("m", null, 1);

  @Test
  void shouldWaitForASilentServerNoLongerThanItMay(@TempDir Path folder) throws Exception {
    try (ServerSocketChannel tcp = ServerSocketChannel.open();
        ServerSocketChannel local = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      tcp.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      local.bind(UnixDomainSocketAddress.of(folder.resolve("s")));
      for (SocketAddress silent : List.of(tcp.getLocalAddress(), local.getLocalAddress())) {
        assertThatThrownBy(() -> TensorStream.open(silent, hello, null, SHORT))
            .isInstanceOf(SocketTimeoutException.class)
            .hasMessageContaining("for 100 ms");
      }
      SSLContext tls = SSLContext.getDefault();
      assertThatThrownBy(() -> TensorStream.open(tcp.getLocalAddress(), hello, tls, SHORT))
          .isInstanceOf(SocketTimeoutException.class);
    }
  }

  @Test
  void shouldRefuseTlsAtASocketInTheFileSystem() throws Exception {
    SSLContext tls = SSLContext.getDefault();
    assertThatThrownBy(
            () -> TensorStream.open(UnixDomainSocketAddress.of("/s"), hello, tls, Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("/s has no TLS");
  }
}
