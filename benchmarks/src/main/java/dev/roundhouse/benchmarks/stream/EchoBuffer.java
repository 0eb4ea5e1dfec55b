package dev.roundhouse.benchmarks.stream;

import dev.roundhouse.benchmarks.bench.RepositoryRoot;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.serving.FetchedPeer;
import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.PeerAbsentException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The replay buffer echo, which takes samples of a fixed shape over TCP and gives them out in
 * batches; here they are thrown away. It is asked by a client of ours that sends as our streams'
 * does, and by its own in Python.
 */
final class EchoBuffer implements ThinClient {
  private static final String SCRIPT = "tools/peers/echo_buffer.py";
  private static final int BATCH = 64;

  /** Magic, version, arrays; then bytes of an element, dimensions and the one dimension. */
  private static final int HANDSHAKE_BYTES = 4 + 1 + 4 + 3 * 4;

  private final Child server;
  private final Child sender;
  private final SocketChannel channel;
  private final MessagePump pump;

  private EchoBuffer(Child server, Child sender, SocketChannel channel, ByteBuffer sample) {
    this.server = server;
    this.sender = sender;
    this.channel = channel;
    pump = new MessagePump(channel, sample, 1);
  }

  /**
   * Starts one.
   *
   * @param window samples that both clients have under way at most
   * @throws PeerAbsentException when it cannot run here or has not been fetched
   */
  static EchoBuffer start(RepositoryRoot root, Path scratch, ByteBuffer sample, int window)
      throws IOException, PeerAbsentException {
    Path folder = FetchedPeer.find("echo", "echo-0.2.1", Path.of("echo/echo.abi3.so"));
    Map<String, String> environment = Map.of("PYTHONPATH", folder.toString());
    String script = root.path().resolve(SCRIPT).toString();
    String size = Integer.toString(sample.remaining());
    List<String> serve = List.of("python3", script, "serve", size, Integer.toString(BATCH));
    Child server = Child.start("echo", serve, environment, scratch.resolve("echo.log"));
    try {
      String port = server.awaitLine("port ");
      List<String> send = List.of("python3", script, "send", port, size, Integer.toString(window));
      Child sender = Child.start("echo-sender", send, environment, scratch.resolve("sender.log"));
      try {
        sender.awaitLine("connected");
        return new EchoBuffer(server, sender, connect(Integer.parseInt(port)), sample);
      } catch (IOException | RuntimeException failure) {
        sender.close();
        throw failure;
      }
    } catch (IOException | RuntimeException failure) {
      server.close();
      throw failure;
    }
  }

  private static SocketChannel connect(int port) throws IOException {
    SocketChannel channel =
        SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    try {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      ByteBuffer handshake = ByteBuffer.allocate(HANDSHAKE_BYTES);
      while (handshake.hasRemaining()) {
        if (channel.read(handshake) < 0) {
          throw new IOException("echo has ended the connection");
        }
      }
      return channel;
    } catch (IOException | RuntimeException failure) {
      channel.close();
      throw failure;
    }
  }

  @Override
  public Load run(int outstanding, Duration duration) throws IOException {
    return pump.run(
        outstanding,
        duration,
        acknowledged -> {
          if (acknowledged.get(acknowledged.position()) != 1) {
            throw new IOException("not what echo acknowledges with");
          }
        });
  }

  /** Samples a second that its own client sends. */
  double ownClientRate(Duration duration) throws IOException {
    String answer = sender.ask(Double.toString(duration.toNanos() / 1e9));
    return Double.parseDouble(answer.substring(answer.indexOf(' ') + 1));
  }

  @Override
  public void close() throws IOException {
    channel.close();
    sender.close();
    server.close();
  }
}
