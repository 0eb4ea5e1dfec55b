package dev.roundhouse.platform.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.MalformedStreamException;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Puts a client's hello together from what is read, within its time and size, and counts what is
 * held of it. For the connection's event loop.
 */
public final class HelloReader {
  private final Channel channel;
  private final ConnectionMemory memory;
  private final long nanos;
  private final Consumer<HelloRefusedException> late;
  private @Nullable ByteBuf hello;
  private int counted;
  private @Nullable Future<?> timer;

  /**
   * @param memory of the connection
   * @param nanos until a whole hello must have come
   * @param late called when it has not
   */
  public HelloReader(
      Channel channel, ConnectionMemory memory, long nanos, Consumer<HelloRefusedException> late) {
    this.channel = channel;
    this.memory = memory;
    this.nanos = nanos;
    this.late = late;
  }

  /** The time begins. */
  public void begin() {
    timer =
        channel
            .eventLoop()
            .schedule(
                () ->
                    late.accept(
                        new HelloRefusedException(
                            HelloStatus.BAD_HELLO,
                            "no whole hello has come within %d ms"
                                .formatted(TimeUnit.NANOSECONDS.toMillis(nanos)))),
                nanos,
                TimeUnit.NANOSECONDS);
  }

  /**
   * Takes what belongs to the hello, and leaves what comes behind it.
   *
   * @param read borrowed
   * @return null when there is more to come
   * @throws HelloRefusedException when it can become none, or there is no room for it; nothing more
   *     is to be read
   */
  public @Nullable ClientHello read(ByteBuf read) throws HelloRefusedException {
    ByteBuf all = hello == null ? channel.alloc().buffer(ClientHello.HEAD_BYTES * 4) : hello;
    hello = all;
    take(read, all, ClientHello.HEAD_BYTES);
    if (!ClientHello.mayBegin(all.nioBuffer())) {
      throw new HelloRefusedException(
          HelloStatus.BAD_HELLO,
          "what came does not begin with 'TSRM'; this port speaks TSTREAM and nothing else");
    }
    if (all.readableBytes() < ClientHello.HEAD_BYTES) {
      return null;
    }
    try {
      int length = ClientHello.length(all.nioBuffer());
      take(read, all, length);
      return all.readableBytes() == length ? ClientHello.read(all.nioBuffer()) : null;
    } catch (MalformedStreamException e) {
      throw new HelloRefusedException(HelloStatus.BAD_HELLO, String.valueOf(e.getMessage()));
    }
  }

  private void take(ByteBuf read, ByteBuf all, int length) throws HelloRefusedException {
    int missing = Math.max(0, length - all.readableBytes());
    int bytes = Math.min(read.readableBytes(), missing);
    String refusal = bytes == 0 ? null : memory.take(Kept.MESSAGE, bytes);
    if (refusal != null) {
      throw new HelloRefusedException(HelloStatus.OVERLOADED, refusal);
    }
    counted += bytes;
    all.writeBytes(read, bytes);
  }

  /** Whether something of a hello has come. */
  public boolean hasBegun() {
    return hello != null && hello.isReadable();
  }

  /** There is nothing more to wait for; no effect the second time. */
  public void close() {
    if (timer != null) {
      timer.cancel(false);
    }
    if (hello != null) {
      hello.release();
      hello = null;
      memory.giveBack(Kept.MESSAGE, counted);
      counted = 0;
    }
  }
}
