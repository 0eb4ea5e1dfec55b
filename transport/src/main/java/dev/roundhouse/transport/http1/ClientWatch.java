package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.io.StallWatch;
import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Ends a connection whose client is too slow to send or read, or is idle, and checks whether a
 * client that has stopped sending is still there. For the connection's event loop.
 */
final class ClientWatch {
  /** Checks per timeout. */
  private static final int LOOKS = 2;

  /** When a client that has stopped sending is first checked; the delay then doubles. */
  private static final long FIRST_ASKED_MILLIS = 250;

  /** Between checks while others need room. */
  private static final long PRESSED_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Http1Connection connection;
  private final ConnectionEnd end;
  private final Http1Settings settings;
  private final Arrivals arrivals;
  private final ConnectionMemory memory;
  private final StallWatch arrival = new StallWatch();
  private final StallWatch departure = new StallWatch();
  private @Nullable ScheduledFuture<?> timer;
  private @Nullable ScheduledFuture<?> asking;

  /** Others need room, so connections that make no progress are looked for. */
  private boolean relieving;

  ClientWatch(
      Http1Connection connection,
      ConnectionEnd end,
      Http1Settings settings,
      Arrivals arrivals,
      ConnectionMemory memory) {
    this.connection = connection;
    this.end = end;
    this.settings = settings;
    this.arrivals = arrivals;
    this.memory = memory;
  }

  void start(ChannelHandlerContext ctx) {
    Http1Settings.Times times = settings.times();
    long least = Math.min(times.stalled(), Math.min(times.silent(), times.idle())) / LOOKS;
    timer =
        ctx.executor()
            .scheduleWithFixedDelay(
                () -> look(settings.times()), least, Math.max(least, 1), TimeUnit.NANOSECONDS);
  }

  void stop() {
    if (timer != null) {
      timer.cancel(false);
    }
    if (asking != null) {
      asking.cancel(false);
    }
  }

  /** The client sends no more. */
  void inputEnded() {
    askLater(FIRST_ASKED_MILLIS);
  }

  private void askLater(long millis) {
    if (!end.isClosing()) {
      asking =
          connection
              .context()
              .executor()
              .schedule(() -> askWhetherThere(millis), millis, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * A client that sends no more is either waiting for its answer or gone; the two look the same
   * until something is sent. If it is gone, its system resets the connection and the next write
   * fails. So we send what every HTTP/1.1 client ignores (RFC 9110, 15.2).
   */
  private void askWhetherThere(long waitedMillis) {
    if (connection.awaitsAnswer()) {
      connection.sendContinue();
    }
    askLater(2 * waitedMillis);
  }

  /** While others need room, ends connections that make no progress. */
  void relieve() {
    if (!relieving) {
      relieving = true;
      lookInHaste();
    }
  }

  private void lookInHaste() {
    if (end.isClosing() || !memory.isPressed()) {
      relieving = false;
      return;
    }
    look(settings.times().hurried());
    var unused =
        connection
            .context()
            .executor()
            .schedule(this::lookInHaste, PRESSED_LOOK_NANOS, TimeUnit.NANOSECONDS);
  }

  /** Checks whether the client has taken too long. */
  private void look(Http1Settings.Times times) {
    long now = System.nanoTime();
    Channel channel = connection.context().channel();
    if (hasStoppedReading(channel, now, times.silent())) {
      settings.load().stalled();
      channel.config().setOption(ChannelOption.SO_LINGER, 0); // otherwise the system keeps waiting
      end.close();
      return;
    }
    Exchange taking = connection.current();
    if (taking == null) {
      lookForHead(now, times);
      return;
    }
    if (taking.isReceived() || !channel.config().isAutoRead()) {
      arrival.rest();
    } else if (arrival.hasStalled(connection.requests(), arrivals.bytes(), now, times.stalled())) {
      taking.stalled(
          "the request's body has stopped arriving: neither the rest nor %d bytes of it have come in %d ms; send it faster, or %s"
              .formatted(
                  StallWatch.LEAST_BYTES,
                  TimeUnit.NANOSECONDS.toMillis(times.stalled()),
                  times.stalledRemedy()));
    }
  }

  /** Between requests: part of a head may have arrived. */
  private void lookForHead(long now, Http1Settings.Times times) {
    if (end.arrivedSinceIdle() == 0) {
      arrival.rest();
      long allowed = connection.requests() == 0 ? times.silent() : times.idle();
      if (now - end.idleSinceNanos() >= allowed) {
        end.close();
      }
    } else if (arrival.hasStalled(-connection.requests(), 0, now, times.stalled())) {
      settings.load().stalled();
      end.close();
    }
  }

  private boolean hasStoppedReading(Channel channel, long now, long allowed) {
    ChannelOutboundBuffer unsent = channel.unsafe().outboundBuffer();
    if (unsent == null || unsent.totalPendingWriteBytes() == 0) {
      departure.rest();
      return false;
    }
    long left = unsent.totalPendingWriteBytes() - unsent.currentProgress();
    return departure.hasStalled(unsent.size(), -left, now, allowed);
  }
}
