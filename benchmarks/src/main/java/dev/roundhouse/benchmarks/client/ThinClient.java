package dev.roundhouse.benchmarks.client;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;

/**
 * Sends one request over and over. The first answer was checked in full, of all others the size.
 */
public interface ThinClient extends Closeable {

  /**
   * Keeps so many requests outstanding until {@code duration} is over, and waits for their answers.
   *
   * @throws IOException when the server refused one, answered it with another size, or not at all;
   *     the client is of no further use then
   */
  Load run(int outstanding, Duration duration) throws IOException;
}
