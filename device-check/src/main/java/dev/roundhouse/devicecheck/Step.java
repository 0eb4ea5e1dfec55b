package dev.roundhouse.devicecheck;

import java.time.Duration;
import java.util.List;

/**
 * One thing to find out about a device. Runs in a process of its own, in which the device is empty,
 * and is made there by a public constructor without parameters.
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
   * Finds it out, and tells each finding as soon as it is known: what was told before a step fails,
   * crashes or is cut off is reported all the same.
   *
   * @throws Exception when the rest cannot be found out; the step has failed then
   */
  void run(CheckContext context, Findings findings) throws Exception;
}
