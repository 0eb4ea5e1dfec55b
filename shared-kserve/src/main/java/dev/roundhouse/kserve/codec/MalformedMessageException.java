package dev.roundhouse.kserve.codec;

import java.io.IOException;

/** Bytes that are no message. */
public final class MalformedMessageException extends IOException {
  MalformedMessageException(String message) {
    super(message);
  }

  /** No stack trace: it is an answer, and answering must stay cheap under attack. */
  @Override
  @SuppressWarnings("UnsynchronizedOverridesSynchronized") // it does nothing
  public Throwable fillInStackTrace() {
    return this;
  }
}
