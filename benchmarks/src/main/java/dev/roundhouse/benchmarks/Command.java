package dev.roundhouse.benchmarks;

import org.jspecify.annotations.Nullable;

/** The command line, parsed. */
sealed interface Command {

  record Help() implements Command {}

  record ListBenches() implements Command {}

  record Run(Bench bench, boolean quick, boolean json) implements Command {}

  /**
   * Parses.
   *
   * @throws IllegalArgumentException with what is wrong and what would be right
   */
  static Command parse(String... arguments) {
    @Nullable String name = null;
    boolean quick = false;
    boolean json = false;
    for (String argument : arguments) {
      switch (argument) {
        case "--help", "-h" -> {
          return new Help();
        }
        case "--quick" -> quick = true;
        case "--json" -> json = true;
        default -> {
          if (argument.startsWith("-")) {
            throw new IllegalArgumentException(
                "unknown option '%s'; there are --quick, --json and --help".formatted(argument));
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
    return name.equals("list") ? new ListBenches() : new Run(Catalogue.named(name), quick, json);
  }
}
