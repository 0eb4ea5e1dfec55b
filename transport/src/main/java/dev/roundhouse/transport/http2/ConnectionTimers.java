package dev.roundhouse.transport.http2;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A connection's timers: checks that its client is still there, closes when it is idle or old, ends
 * what has stalled, and enforces how often clients may ping. For the connection's event loop.
 */
final class ConnectionTimers implements PeerEvents {
  private static final long OFF = Long.MAX_VALUE;

  /** Early pings that are tolerated. */
  private static final int MOST_STRIKES = 2;

  /** Between pings of a client without calls, unless the server permits more. */
  private static final long IDLE_PING_NANOS = TimeUnit.HOURS.toNanos(2);

  private static final long KEEP_ALIVE_PING = 0xBEEF;
  private static final long DRAIN_PING = 0xD4A1;

  /** Wait for the answer to a drain's ping; clients that give none are closed without it. */
  private static final long DRAIN_PING_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Between checks for what makes no progress while others need room, and the time allowed. */
  private static final long PRESSED_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long PRESSED_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final Owner connection;
  private final StalledPeer stalls;
  private final KeepAlivePolicy policy;
  private final ServerSettings.Times times;
  private final List<Future<?>> timers = new ArrayList<>();

  private boolean spokenTo;
  private long heardNanos;
  private long keepAliveSentNanos;
  private boolean keepAliveSent;
  private long idleSinceNanos;
  private int activeCalls;
  private int messagesWriting;
  private long lastPingNanos;
  private boolean wasPinged;
  private int strikes;
  private boolean draining;
  private boolean drained;

  /** From the connection's beginning to its end. */
  private boolean running;

  /** Looking for what makes no progress. */
  private boolean relieving;

  /** The connection. */
  interface Owner extends StalledPeer.Owner {
    /** True while others need the memory that it holds. */
    boolean isPressed();

    void ping(long data);

    /** Tells the client to begin no more calls. */
    void announceEnd(String reason);

    /** Tells the client which calls are still served, and closes when the last has ended. */
    void endAfterCalls();

    /** Ends all calls and closes. */
    void closeNow();

    /** Flushes, unless that follows the current read. */
    void flushUnlessReading();
  }

  ConnectionTimers(
      Owner connection, StalledPeer stalls, KeepAlivePolicy policy, ServerSettings.Times times) {
    this.connection = connection;
    this.stalls = stalls;
    this.policy = policy;
    this.times = times;
  }

  void start() {
    long now = System.nanoTime();
    running = true;
    heardNanos = now;
    idleSinceNanos = now;
    after(times.handshake(), this::endIfSilent);
    if (policy.keepAliveNanos() != OFF) {
      after(policy.keepAliveNanos(), this::keepAlive);
    }
    if (policy.maxIdleNanos() != OFF) {
      after(policy.maxIdleNanos(), this::endIfIdle);
    }
    if (policy.maxAgeNanos() != OFF) {
      after(policy.maxAgeNanos(), () -> drain("max_age", policy.maxAgeGraceNanos()));
    }
    if (times.stalled() != OFF) {
      after(times.stalled() / 2, this::endStalledArrivals);
    }
    if (times.unread() != OFF) {
      after(times.unread() / 2, this::endStalledDepartures);
    }
  }

  void stop() {
    running = false;
    timers.forEach(timer -> timer.cancel(false));
    timers.clear();
  }

  private void after(long nanos, Runnable task) {
    if (!running) {
      return;
    }
    timers.removeIf(Future::isDone);
    timers.add(
        connection.channel().eventLoop().schedule(task, Math.max(nanos, 1), TimeUnit.NANOSECONDS));
  }

  /** Something has arrived from the client. */
  void heard() {
    heardNanos = System.nanoTime();
    keepAliveSent = false;
  }

  @Override
  public void settingsReceived() {
    spokenTo = true;
  }

  @Override
  public void allowed(int bytes) {
    stalls.allowed(bytes);
  }

  void writing() {
    messagesWriting++;
  }

  /** Clients measure the connection by pings while they receive messages. */
  void written() {
    stalls.written();
    messagesWriting--;
    strikes = 0;
    wasPinged = false;
  }

  void callBegan() {
    activeCalls++;
  }

  void callEnded() {
    activeCalls--;
    if (activeCalls == 0) {
      idleSinceNanos = System.nanoTime();
    }
  }

  /** A client that has connected and not begun HTTP/2 holds a place that others may need. */
  private void endIfSilent() {
    if (!spokenTo) {
      connection.closeNow();
    }
  }

  private void keepAlive() {
    long now = System.nanoTime();
    if (keepAliveSent && now - keepAliveSentNanos >= policy.keepAliveTimeoutNanos()) {
      connection.closeNow();
      return;
    }
    long silent = now - heardNanos;
    if (!keepAliveSent && silent >= policy.keepAliveNanos()) {
      keepAliveSent = true;
      keepAliveSentNanos = now;
      connection.ping(KEEP_ALIVE_PING);
    }
    after(
        keepAliveSent
            ? keepAliveSentNanos + policy.keepAliveTimeoutNanos() - now
            : heardNanos + policy.keepAliveNanos() - now,
        this::keepAlive);
  }

  private void endIfIdle() {
    long now = System.nanoTime();
    if (activeCalls == 0 && now - idleSinceNanos >= policy.maxIdleNanos()) {
      drain("max_idle", OFF);
      return;
    }
    long next = activeCalls == 0 ? idleSinceNanos + policy.maxIdleNanos() - now : OFF;
    after(Math.min(next, policy.maxIdleNanos()), this::endIfIdle);
  }

  /**
   * Closes the connection of a client without calls, whose place is needed; it reconnects for its
   * next call.
   */
  private void endIfUnused(long nowNanos, long unusedNanos) {
    if (activeCalls == 0 && nowNanos - idleSinceNanos >= unusedNanos) {
      drain("overloaded", OFF);
    }
  }

  /** While others need room, ends what makes no progress. */
  void relieve() {
    if (!relieving && running) {
      relieving = true;
      lookForStalls();
    }
  }

  private void lookForStalls() {
    if (!running || !connection.isPressed()) {
      relieving = false;
      return;
    }
    long now = System.nanoTime();
    stalls.endIdle(now, PRESSED_NANOS);
    stalls.endArrivals(now, PRESSED_NANOS);
    stalls.endDepartures(now, PRESSED_NANOS);
    endIfUnused(now, PRESSED_NANOS);
    connection.flushUnlessReading();
    after(PRESSED_LOOK_NANOS, this::lookForStalls);
  }

  private void endStalledArrivals() {
    stalls.endArrivals(System.nanoTime(), times.stalled());
    after(times.stalled() / 2, this::endStalledArrivals);
  }

  private void endStalledDepartures() {
    stalls.endDepartures(System.nanoTime(), times.unread());
    after(times.unread() / 2, this::endStalledDepartures);
  }

  /** The client has sent a ping; one that pings too often is disconnected. */
  @Override
  public void pinged() {
    long now = System.nanoTime();
    boolean mayPing = activeCalls > 0 || policy.permitPingWithoutCalls();
    long apart = mayPing ? policy.permitPingNanos() : IDLE_PING_NANOS;
    if (messagesWriting > 0 || !wasPinged || now - lastPingNanos >= apart) {
      wasPinged = true;
      lastPingNanos = now;
      return;
    }
    strikes++;
    if (strikes > MOST_STRIKES) {
      connection.giveUp("too_many_pings");
    }
  }

  @Override
  public void pingAnswered(long data) {
    if (data == DRAIN_PING) {
      takeNoMore();
    }
  }

  /**
   * Ends the connection after its current calls. The client is first told to begin no more, then,
   * once it has certainly received that, which of the calls it began are still served.
   */
  void drain(String reason, long graceNanos) {
    if (draining || !running) {
      return;
    }
    draining = true;
    connection.announceEnd(reason);
    connection.ping(DRAIN_PING);
    after(DRAIN_PING_NANOS, this::takeNoMore);
    if (graceNanos != OFF) {
      after(graceNanos, connection::closeNow);
    }
  }

  private void takeNoMore() {
    if (!draining || drained || !running) {
      return;
    }
    drained = true;
    connection.endAfterCalls();
  }
}
