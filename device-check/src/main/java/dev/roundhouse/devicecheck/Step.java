package dev.roundhouse.devicecheck;

import java.time.Duration;
import java.util.List;

/**
 * One thing to find out about a device. Runs in a separate process with an empty device, where it
 * is created by a public no-argument constructor.
 */
public interface Step {

  /** What {@code --steps} calls it: lower case, with hyphens. */
  String name();

  /** One line for people. */
  String about();

  /** How long it may take before it is cut off. */
  Duration limit();

  /** What its process's command line begins with, such as a limit on its memory. */
  default List<String> prefix(CheckContext context) {
    return List.of();
  }

  /**
   * Runs the step, and reports each finding at once: findings from before a failure, crash or
   * timeout are kept.
   *
   * @throws Exception when the rest cannot be found out; the step has failed then
   */
  void run(CheckContext context, Findings findings) throws Exception;
}
