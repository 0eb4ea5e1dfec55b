package dev.roundhouse.node.process;

/** A process that runs, or has run. */
public interface ChildProcess {
  long pid();

  /** SIGTERM. */
  void terminate();

  /** SIGKILL. */
  void kill();
}
