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

  private final OpenStream stream;
  private final StreamSettings settings;
  private final StallWatch reading = new StallWatch();
  private final StallWatch writing = new StallWatch();
  private boolean isSet;

  StreamWatch(OpenStream stream, StreamSettings settings) {
    this.stream = stream;
    this.settings = settings;
  }

  /** There may be something to wait for. */
  void begin() {
    if (isSet || !(stream.isAmidMessage() || stream.isUnread())) {
      return;
    }
    isSet = true;
    long nanos = Math.min(settings.stalledNanos(), settings.unreadNanos()) / LOOKS;
    var unused = stream.channel().eventLoop().schedule(this::look, nanos, TimeUnit.NANOSECONDS);
  }

  private void look() {
    isSet = false;
    long now = System.nanoTime();
    if (!stream.isAmidMessage()) {
      reading.rest();
    } else if (reading.hasStalled(
        stream.taken(), stream.received(), now, settings.stalledNanos())) {
      stream.endStalled();
    }
    if (!stream.isUnread()) {
      writing.rest();
    } else if (writing.hasStalled(0, sent(), now, settings.unreadNanos())) {
      stream.closeUnread();
    }
    begin();
  }

  /** Bytes of results that the system has taken. */
  private long sent() {
    ChannelOutboundBuffer waits = stream.channel().unsafe().outboundBuffer();
    return stream.written() - (waits == null ? 0 : waits.totalPendingWriteBytes());
  }
}
