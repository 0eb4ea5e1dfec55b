package dev.roundhouse.benchmarks.bench;

import dev.roundhouse.benchmarks.report.Cell;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a bench gets.
 *
 * @param quick true for a run that shows the shape of the result, with figures not to be quoted
 * @param before the worker's jar of another build that takes the peer's place, null for the peer
 * @param progress for people who wait; never part of the result
 * @param cells takes each result
 */
public record BenchRun(
    RepositoryRoot root,
    boolean quick,
    @Nullable Path before,
    PrintStream progress,
    Consumer<Cell> cells) {

  public void say(String format, Object... arguments) {
    progress.println("bench: " + format.formatted(arguments));
  }
}
