package dev.roundhouse.client.stream;

import java.io.IOException;

/** The server takes no more messages of the stream, or has gone: connect again. */
public final class StreamEndedException extends IOException {
  private final long firstNotTaken;

  StreamEndedException(String why, long firstNotTaken) {
    super(why);
    this.firstNotTaken = firstNotTaken;
  }

  /**
   * The number of the first message that was not taken, which can be sent again as those after it;
   * -1 when the connection was lost, and it is not known.
   */
  public long firstNotTaken() {
    return firstNotTaken;
  }
}
