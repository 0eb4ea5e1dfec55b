package dev.roundhouse.gateway.fleet;

import java.io.IOException;
import java.util.List;

/** Lists the workers. For one thread, which it may block for a while. */
@FunctionalInterface
public interface WorkerSource {

  /**
   * @throws IOException when they cannot be found out now; the message says what was asked, and why
   *     it did not answer
   */
  List<WorkerAddress> workers() throws IOException;
}
