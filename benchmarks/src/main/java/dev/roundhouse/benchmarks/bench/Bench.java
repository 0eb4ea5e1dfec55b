package dev.roundhouse.benchmarks.bench;

/** Something to measure against a peer. Stateless; starts what it needs and stops it again. */
public interface Bench {

  /** What a caller types. */
  String name();

  /** One line for {@code list}. */
  String about();

  /** True when it can measure this build beside an earlier one in the place of its peer. */
  default boolean comparesBuilds() {
    return false;
  }

  /**
   * Measures and reports each cell when it is known.
   *
   * @throws Exception when something could not be measured; nothing that was started is left
   *     running
   */
  void run(BenchRun run) throws Exception;
}
