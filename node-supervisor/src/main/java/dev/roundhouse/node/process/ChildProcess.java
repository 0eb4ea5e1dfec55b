package dev.roundhouse.node.process;

/** A process that was started. */
public interface ChildProcess {
  long pid();

  /** SIGTERM. */
  void terminate();

  /** SIGKILL. */
  void kill();
}
