package dev.roundhouse.simulation.study;

import java.time.Duration;
import java.util.function.Consumer;

/** Something to find out by simulation. Stateless. */
public interface Study {

  /** What a caller types. */
  String name();

  /** One line for lists. */
  String about();

  /**
   * Simulates and gives each point when it is known.
   *
   * @param length simulated time of each simulation; a study may leave out what a short one cannot
   *     tell
   */
  void run(Duration length, Consumer<Point> points);
}
