package dev.roundhouse.transport.http1;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpRequest;

/** One request in progress. For the event loop. */
abstract class Exchange {
  final Http1Connection connection;
  final HttpRequest head;
  private final ForgottenBody forgotten;

  /** The connection stays open after the answer. */
  boolean keepAlive;

  /** The last part of the request has arrived. */
  boolean received;

  /** The last of the answer has been sent, or never will be. */
  private boolean answered;

  private boolean ended;

  Exchange(Http1Connection connection, HttpRequest head) {
    this.connection = connection;
    this.head = head;
    keepAlive = connection.keepsAlive(head);
    forgotten = new ForgottenBody(connection.settings().body());
    connection.settings().load().callOpened();
  }

  /** The next part of the request; takes ownership. */
  abstract void content(HttpContent content);

  /** True when part of the answer may have been sent. */
  abstract boolean isAnswering();

  /** The client is gone. Called once. */
  abstract void gone();

  /** The client has stopped sending the request. */
  abstract void stalled(String text);

  /** Whether the client reads its answer has changed. */
  void clientWritable(boolean writable) {}

  /** True when the last part has arrived. */
  final boolean isReceived() {
    return received;
  }

  final boolean isAnswered() {
    return answered;
  }

  final boolean isEnded() {
    return ended;
  }

  /**
   * Discards part of a body that nobody wants.
   *
   * @param data borrowed
   */
  final void forget(ByteBuf data) {
    if (!forgotten.mayHave(data)) {
      connection.close();
    }
  }

  /** The last of the answer has been sent, or never will be. */
  final void answered(boolean staysOpen) {
    answered = true;
    keepAlive = staysOpen;
    finish();
  }

  /** Ends the exchange if the request has arrived and is answered. */
  final void finish() {
    if (!ended && answered && (received || !keepAlive)) {
      end();
      connection.done(keepAlive);
    }
  }

  final void end() {
    if (!ended) {
      ended = true;
      connection.settings().load().callClosed();
    }
  }
}
