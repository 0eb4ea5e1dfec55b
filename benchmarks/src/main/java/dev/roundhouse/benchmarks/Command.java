package dev.roundhouse.benchmarks;

import dev.roundhouse.benchmarks.bench.Bench;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The command line, parsed. */
sealed interface Command {

  record Help() implements Command {}

  record ListBenches() implements Command {}

  record Run(Bench bench, boolean quick, boolean json, @Nullable Path before) implements Command {}

  String BEFORE = "--before=";

  /**
   * Parses.
   *
   * @throws IllegalArgumentException with what is wrong and what would be right
   */
  static Command parse(String... arguments) {
    @Nullable String name = null;
    boolean quick = false;
    boolean json = false;
    @Nullable Path before = null;
    for (String argument : arguments) {
      switch (argument) {
        case "--help", "-h" -> {
          return new Help();
        }
        case "--quick" -> quick = true;
        case "--json" -> json = true;
        default -> {
          if (argument.startsWith(BEFORE)) {
            before = jar(argument.substring(BEFORE.length()));
            continue;
          }
          if (argument.startsWith("-")) {
            throw new IllegalArgumentException(
                "unknown option '%s'; there are --quick, --json, --before=JAR and --help"
                    .formatted(argument));
          }
          if (name != null) {
            throw new IllegalArgumentException(
                "one bench at a time, got '%s' and '%s'".formatted(name, argument));
          }
          name = argument;
        }
      }
    }
    if (name == null) {
      throw new IllegalArgumentException("name a bench; 'list' shows them");
    }
    if (name.equals("list")) {
      return new ListBenches();
    }
    Bench bench = Catalogue.named(name);
    if (before != null && !bench.comparesBuilds()) {
      throw new IllegalArgumentException(
          "%s does not compare builds; wire-triton and wire-rest take --before".formatted(name));
    }
    return new Run(bench, quick, json, before);
  }

  private static Path jar(String path) {
    if (!Files.isRegularFile(Path.of(path))) {
      throw new IllegalArgumentException(
          "--before names '%s', which is no file; it takes the jar of worker-service of another build"
              .formatted(path));
    }
    return Path.of(path).toAbsolutePath();
  }
}
