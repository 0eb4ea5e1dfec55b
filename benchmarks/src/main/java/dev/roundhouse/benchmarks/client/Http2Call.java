package dev.roundhouse.benchmarks.client;

import java.nio.ByteBuffer;

/** What a call still has to send: the same message, some number of times, and its end. */
final class Http2Call {
  final int stream;
  final ByteBuffer message;
  private final boolean unary;
  boolean started;
  private int messages;
  private boolean ending;
  private boolean ended;

  /** Bytes that the server is ready to take. */
  long window;

  /** Bytes of answers that the server was not told have been taken. */
  long uncredited;

  /** Of the answer so far; its user's. */
  int received;

  long sentNanos;

  /**
   * A call.
   *
   * @param unary it ends with its one message, which is sent at once
   */
  Http2Call(int stream, ByteBuffer message, boolean unary, long window) {
    this.stream = stream;
    this.message = message.duplicate();
    this.unary = unary;
    this.window = window;
    this.messages = unary ? 1 : 0;
  }

  void oneMore() {
    messages++;
  }

  void end() {
    ending = true;
  }

  boolean hasMessage() {
    return messages > 0;
  }

  /** The next {@code length} bytes go now. */
  ByteBuffer take(int length) {
    ByteBuffer part = message.slice(message.position(), length);
    message.position(message.position() + length);
    window -= length;
    if (!message.hasRemaining()) {
      message.rewind();
      messages--;
      ended = unary;
    }
    return part;
  }

  boolean endsWith(int length) {
    return unary && length == message.remaining();
  }

  /** Its end is still to be told, in a frame without data. */
  boolean mustEnd() {
    return ending && !ended && messages == 0;
  }

  void setEnded() {
    ended = true;
  }

  boolean isSent() {
    return started && messages == 0 && !mustEnd();
  }
}
