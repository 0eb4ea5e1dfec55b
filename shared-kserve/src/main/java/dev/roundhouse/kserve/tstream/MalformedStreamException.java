package dev.roundhouse.kserve.tstream;

import java.io.IOException;

/** Bytes that are not what {@code TSTREAM/1} has in their place. */
public final class MalformedStreamException extends IOException {
  MalformedStreamException(String message) {
    super(message);
  }

  /** No stack trace: it is an answer, and answering must stay cheap under attack. */
  @Override
  @SuppressWarnings("UnsynchronizedOverridesSynchronized") // it does nothing
  public Throwable fillInStackTrace() {
    return this;
  }
}
