package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.transport.io.StallWatch;
import io.netty.channel.ChannelOutboundBuffer;
import java.util.concurrent.TimeUnit;

/**
 * Ends a connection of which the rest of a message does not come, or whose client does not read.
 * Looks now and then while there is something to wait for. On the connection's event loop.
 */
final class StreamWatch {
  private static final int LOOKS = 4;

  private final StreamConnection connection;
  private final StreamSettings settings;
  private final StallWatch reading = new StallWatch();
  private final StallWatch writing = new StallWatch();
  private boolean isSet;

  StreamWatch(StreamConnection connection, StreamSettings settings) {
    this.connection = connection;
    this.settings = settings;
  }

  /** There may be something to wait for. */
  void begin() {
    if (isSet || !(connection.isAmidMessage() || connection.isUnread())) {
      return;
    }
    isSet = true;
    long nanos = Math.min(settings.stalledNanos(), settings.unreadNanos()) / LOOKS;
    var unused = connection.channel().eventLoop().schedule(this::look, nanos, TimeUnit.NANOSECONDS);
  }

  private void look() {
    isSet = false;
    long now = System.nanoTime();
    if (!connection.isAmidMessage()) {
      reading.rest();
    } else if (reading.hasStalled(
        connection.taken(), connection.received(), now, settings.stalledNanos())) {
      connection.endStalled();
    }
    if (!connection.isUnread()) {
      writing.rest();
    } else if (writing.hasStalled(0, sent(), now, settings.unreadNanos())) {
      connection.closeUnread();
    }
    begin();
  }

  /** Bytes of results that the system has taken. */
  private long sent() {
    ChannelOutboundBuffer waits = connection.channel().unsafe().outboundBuffer();
    return connection.written() - (waits == null ? 0 : waits.totalPendingWriteBytes());
  }
}
