package dev.roundhouse.benchmarks.stream;

import dev.roundhouse.benchmarks.client.Latencies;
import dev.roundhouse.benchmarks.client.Load;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;

/**
 * Sends equal messages back to back, as many as the window allows with one call of the system, and
 * reads records of one size. Belongs to one thread.
 */
final class MessagePump {
  private static final int READ_BYTES = 64 << 10;
  private static final int BURST_BYTES = 256 << 10;

  private final SocketChannel channel;
  private final int messageBytes;
  private final int recordBytes;

  /** As many messages as one call sends. */
  private final ByteBuffer burst;

  private final ByteBuffer read = ByteBuffer.allocateDirect(READ_BYTES);

  /**
   * @param record what every record must be but for its first four and its last two bytes of the
   *     head, which are its number and what was taken
   */
  MessagePump(SocketChannel channel, ByteBuffer message, int recordBytes) {
    this.channel = channel;
    this.recordBytes = recordBytes;
    messageBytes = message.remaining();
    int most = Math.max(1, BURST_BYTES / messageBytes);
    burst = ByteBuffer.allocateDirect(most * messageBytes);
    for (int i = 0; i < most; i++) {
      burst.put(message.duplicate());
    }
  }

  /** Looks at one record, from its position on. */
  @FunctionalInterface
  interface Check {
    void check(ByteBuffer record) throws IOException;
  }

  Load run(int outstanding, Duration duration, Check check) throws IOException {
    Latencies latencies = new Latencies();
    long[] sentNanos = new long[outstanding];
    long sent = 0;
    long received = 0;
    long start = System.nanoTime();
    long now = start;
    long end = start + duration.toNanos();
    int free = outstanding;
    read.clear();
    while (true) {
      if (now < end) {
        for (int i = 0; i < free; i++) {
          sentNanos[(int) (sent++ % outstanding)] = now;
        }
        send(free);
        free = 0;
      } else if (sent == received) {
        break;
      }
      if (channel.read(read) < 0) {
        throw new IOException("the server has ended the connection");
      }
      now = System.nanoTime();
      read.flip();
      while (read.remaining() >= recordBytes) {
        check.check(read);
        read.position(read.position() + recordBytes);
        latencies.add(now - sentNanos[(int) (received++ % outstanding)]);
        free++;
      }
      read.compact();
    }
    return Load.of(List.of(latencies), System.nanoTime() - start);
  }

  private void send(int count) throws IOException {
    int left = count;
    while (left > 0) {
      int some = Math.min(left, burst.capacity() / messageBytes);
      burst.clear().limit(some * messageBytes);
      while (burst.hasRemaining()) {
        channel.write(burst);
      }
      left -= some;
    }
  }
}
