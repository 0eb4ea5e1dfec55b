package dev.roundhouse.transport.http2;

import dev.roundhouse.transport.io.LoadListener;
import dev.roundhouse.transport.io.StallWatch;
import io.grpc.Status;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.handler.codec.http2.Http2Error;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Ends what a client has stopped sending or reading: calls one by one, and the connection when no
 * whole frame arrives, or its socket takes nothing. For its event loop.
 */
final class StalledPeer {
  private static final Status UNREAD =
      Status.CANCELLED.withDescription("the client does not read the answer");

  private final Owner connection;
  private final LoadListener load;
  private final StallWatch frames = new StallWatch();
  private final StallWatch socket = new StallWatch();
  private long messagesWritten;

  /** What the client has allowed by WINDOW_UPDATE for all streams together. */
  private long credit;

  /** The connection. */
  interface Owner {
    Channel channel();

    /** What the client lets us send to all streams together. */
    int sendWindow();

    /** Passes all streams to an action, which may end them. */
    void forEachStream(Consumer<ServerStream> action);

    /** Closes at once, with the reason if it can be delivered. */
    void giveUp(String reason);
  }

  StalledPeer(Owner connection, LoadListener load) {
    this.connection = connection;
    this.load = load;
  }

  void allowed(int bytes) {
    credit += bytes;
  }

  /** A message has been sent, or never will be. */
  void written() {
    messagesWritten++;
  }

  /** Ends calls with stalled incoming messages, or the connection. */
  void endArrivals(long nowNanos, long timeoutNanos) {
    FrameCutter cutter = connection.channel().pipeline().get(FrameCutter.class);
    if (cutter == null || !cutter.isWithin()) {
      frames.rest();
    } else if (frames.hasStalled(cutter.ends(), cutter.dataBytes(), nowNanos, timeoutNanos)) {
      load.stalled();
      connection.giveUp("a frame has stopped arriving");
      return;
    }
    connection.forEachStream(
        stream -> {
          StreamListener call = stream.listener();
          if (call != null && isArrivalStalled(stream, call, nowNanos, timeoutNanos)) {
            call.end(
                Status.DEADLINE_EXCEEDED.withDescription(
                    "a message has stopped arriving: " + call.progress()));
            load.stalled();
          }
        });
  }

  /** A client is not to blame for what it may not send because we do not read. */
  private static boolean isArrivalStalled(
      ServerStream stream, StreamListener call, long nowNanos, long timeoutNanos) {
    boolean awaited = !stream.isEnded() && stream.unread() == 0 && call.awaitsClient();
    return stream.progress().hasArrivalStalled(awaited, nowNanos, timeoutNanos);
  }

  /** Ends streams that carry nothing and wait for nothing: their room is needed. */
  void endIdle(long nowNanos, long timeoutNanos) {
    connection.forEachStream(
        stream -> {
          StreamListener call = stream.listener();
          boolean busy = call == null || stream.state() != ServerStream.State.OPEN || call.isBusy();
          if (stream.progress().isIdle(busy, nowNanos, timeoutNanos) && call != null) {
            call.end(
                Status.RESOURCE_EXHAUSTED.withDescription(
                    "the server needs the memory that idle streams hold, and this one has carried nothing for %d s; open it again when there is something to send"
                        .formatted(TimeUnit.NANOSECONDS.toSeconds(timeoutNanos))));
            load.stalled();
          }
        });
  }

  /** Gives up calls whose answers are not read, or the connection when its socket takes nothing. */
  void endDepartures(long nowNanos, long timeoutNanos) {
    connection.forEachStream(
        stream -> {
          boolean stalled =
              !stream.isGivenUp()
                  && stream
                      .progress()
                      .hasDepartureStalled(stream.sentLessCredit(), nowNanos, timeoutNanos);
          if (stalled) {
            stream.giveUp(UNREAD, Http2Error.ENHANCE_YOUR_CALM);
            load.stalled();
          }
        });
    Channel channel = connection.channel();
    ChannelOutboundBuffer unsent = channel.unsafe().outboundBuffer();
    if (unsent == null || unsent.totalPendingWriteBytes() == 0) {
      socket.rest();
      return;
    }
    long sent = credit - connection.sendWindow();
    if (socket.hasStalled(messagesWritten, sent, nowNanos, timeoutNanos)) {
      load.stalled();
      channel.config().setOption(ChannelOption.SO_LINGER, 0); // otherwise the system keeps waiting
      connection.giveUp("nothing is read");
    }
  }
}
