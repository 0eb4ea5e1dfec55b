package dev.roundhouse.benchmarks.stream;

import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.client.ThinClient;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The floor: two UNIX sockets, and a thread that answers each message with a record as soon as its
 * bytes are there. No shapes, no model, no queue.
 */
final class SocketPair implements ThinClient {
  private static final int READ_BYTES = 64 << 10;

  private final SocketChannel client;
  private final SocketChannel server;
  private final Thread answering;
  private final MessagePump pump;

  private SocketPair(SocketChannel client, SocketChannel server, ByteBuffer message, int record) {
    this.client = client;
    this.server = server;
    pump = new MessagePump(client, message, record);
    int size = message.remaining();
    answering =
        Thread.ofPlatform().daemon().name("socket-pair").start(() -> answer(server, size, record));
  }

  static SocketPair open(Path scratch, ByteBuffer message, int recordBytes) throws IOException {
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(scratch.resolve("pair"));
    try (ServerSocketChannel listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      listening.bind(address);
      return new SocketPair(SocketChannel.open(address), listening.accept(), message, recordBytes);
    } finally {
      Files.deleteIfExists(address.getPath());
    }
  }

  private static void answer(SocketChannel server, int messageBytes, int recordBytes) {
    ByteBuffer read = ByteBuffer.allocateDirect(Math.max(READ_BYTES, messageBytes));
    ByteBuffer records =
        ByteBuffer.allocateDirect(
            recordBytes * (1 + Math.max(READ_BYTES, messageBytes) / messageBytes));
    try {
      long partial = 0;
      while (true) {
        read.clear();
        int bytes = server.read(read);
        if (bytes < 0) {
          return;
        }
        partial += bytes;
        int whole = (int) (partial / messageBytes);
        partial %= messageBytes;
        records.clear().limit(whole * recordBytes);
        while (records.hasRemaining()) {
          server.write(records);
        }
      }
    } catch (IOException e) {
      // the client has closed, which it sees itself where it did not mean to
    }
  }

  /** The thread that answers, whose processor time counts. */
  Thread answering() {
    return answering;
  }

  @Override
  public Load run(int outstanding, Duration duration) throws IOException {
    return pump.run(outstanding, duration, record -> {});
  }

  @Override
  public void close() throws IOException {
    client.close();
    server.close();
  }
}
