package dev.roundhouse.transport.http1;

import io.netty.channel.ChannelHandlerContext;
import java.util.concurrent.TimeUnit;

/**
 * When and how a client's connection ends, and what of it is idle. For its event loop, except where
 * noted.
 */
final class ConnectionEnd {
  /** For a request sent before the client could know of the close. */
  private static final long ON_ITS_WAY_MILLIS = 300;

  private final Http1Connection connection;
  private final Http1Server server;
  private final Arrivals arrivals;
  private State state = State.OPEN;

  /** Since when no request has been in progress, and the bytes received by then. */
  private long idleSinceNanos = System.nanoTime();

  private long arrivedBefore;

  private enum State {
    /** Requests are taken. */
    OPEN,
    /** The client sends no more: requests that arrived whole are answered. */
    INPUT_ENDED,
    /** No request is taken: it is closed, or will be when the client has been told. */
    CLOSING
  }

  ConnectionEnd(Http1Connection connection, Http1Server server, Arrivals arrivals) {
    this.connection = connection;
    this.server = server;
    this.arrivals = arrivals;
  }

  boolean isClosing() {
    return state == State.CLOSING;
  }

  /** True when the client may send more. */
  boolean isOpen() {
    return state == State.OPEN;
  }

  /** False when connections are closed as soon as possible. Any thread. */
  boolean mayStayOpen() {
    return server.keepsConnections();
  }

  // Idle.

  /** Since when no request has been in progress; see {@link Http1Connection#isIdle}. Any thread. */
  long idleSinceNanos() {
    return idleSinceNanos;
  }

  /** A request has been answered. Call before other threads can see that it has. */
  void answered() {
    idleSinceNanos = System.nanoTime();
    arrivedBefore = arrivals.bytes();
  }

  /** The next request may come. */
  void awaitNext() {
    if (!mayStayOpen()) { // the client has not been told so
      closeWhenIdle();
    }
  }

  /** Bytes received since the last request ended; approximate on other threads. */
  long arrivedSinceIdle() {
    return arrivals.bytes() - arrivedBefore;
  }

  /** True between requests while none has begun to arrive; approximate on other threads. */
  boolean isUnused() {
    return connection.isIdle() && arrivedSinceIdle() == 0;
  }

  /** Lets a connection in that waits for this one or another to end. */
  void offerRoom() {
    server.offerRoom();
  }

  // The end.

  /** The client sends no more. */
  void inputEnded() {
    if (state == State.OPEN) {
      state = State.INPUT_ENDED;
    }
    connection.context().channel().config().setAutoRead(false); // the end would be read repeatedly
    closeOnceAnswered();
  }

  /** Closes the connection if the client sends no more and all that has arrived is answered. */
  void closeOnceAnswered() {
    if (state == State.INPUT_ENDED) {
      connection.context().executor().execute(this::closeIfAnswered); // after what is decoded now
    }
  }

  private void closeIfAnswered() {
    if (state == State.INPUT_ENDED && connection.isAnswered() && !arrivals.isPaused()) {
      close();
    }
  }

  /** Takes no more requests. */
  void stop() {
    state = State.CLOSING;
  }

  /** Closes the connection at once. What has been written and not sent is lost. */
  void close() {
    state = State.CLOSING;
    connection.context().close();
  }

  /** Closes a connection whose client may still be sending and has been told to stop. */
  void closeInStages() {
    state = State.CLOSING;
    server.endInStages(connection.context());
  }

  /** Closes the connection once a request in progress, or already sent, has been answered. */
  void closeWhenIdle() {
    ChannelHandlerContext ctx = connection.context();
    ctx.executor().schedule(this::closeIfUnused, ON_ITS_WAY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Closes the connection unless a request is in progress or has begun to arrive. */
  void closeIfUnused() {
    if (isUnused()) {
      close();
    }
  }
}
