package dev.roundhouse.client.stream;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import java.io.IOException;

/** The server does not take the stream. */
public final class StreamRefusedException extends IOException {
  private final HelloStatus status;
  private final int retryMillis;

  StreamRefusedException(ServerReply reply) {
    super(reply.status() + ": " + reply.text());
    status = reply.status();
    retryMillis = status == HelloStatus.OVERLOADED ? reply.window() : 0;
  }

  public HelloStatus status() {
    return status;
  }

  /** After how many milliseconds there may be room; 0 where that is not why. */
  public int retryMillis() {
    return retryMillis;
  }
}
