package dev.roundhouse.node.process;

import java.io.IOException;
import java.util.function.IntConsumer;

/** Starts processes; only called by the thread {@code supervisor}. */
public interface ProcessStarter {

  /**
   * @param name that its log lines get
   * @param onExit told once, on any thread, with the exit code; 128 and the signal for a signal
   * @throws IOException when it cannot be started
   */
  ChildProcess start(String name, ProcessSpec spec, IntConsumer onExit) throws IOException;
}
