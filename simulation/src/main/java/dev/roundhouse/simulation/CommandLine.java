package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.traffic.Workload;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Turns arguments into {@link SimOptions}; {@code usage.txt} says what each means. */
final class CommandLine {
  private static final Set<String> FLAGS = Set.of("--json");
  static final Set<String> VALUED =
      Set.of(
          "--seed",
          "--models",
          "--idle",
          "--seconds",
          "--minutes",
          "--load",
          "--workload",
          "--zipf",
          "--slo",
          "--cancel",
          "--oversize",
          "--cost",
          "--fixed-share",
          "--batch-sizes",
          "--weights",
          "--mispredict",
          "--mispredict-factor",
          "--fail",
          "--discipline",
          "--max-queue-delay",
          "--max-queue-depth");
  private static final Duration MICROSECOND = Duration.ofNanos(1_000);

  private CommandLine() {}

  /**
   * Parses.
   *
   * @throws IllegalArgumentException naming the option, its value, the limit and what would be
   *     right
   */
  static SimOptions parse(String... arguments) {
    OptionReader options = new OptionReader(collect(arguments));
    if (options.has("--seconds") && options.has("--minutes")) {
      throw new IllegalArgumentException("--seconds and --minutes say the same thing; give one");
    }
    return new SimOptions(
        options.integer("--seed", 1, Long.MIN_VALUE, Long.MAX_VALUE),
        (int) options.integer("--models", 100, 1, 100_000),
        (int) options.integer("--idle", 0, 0, 100_000),
        length(options),
        options.number("--load", 0.8, 0.001, 100),
        options.choice("--workload", Workload.ZIPF, byName(Workload.values(), Workload::label)),
        options.number("--zipf", 0.9, 0, 4),
        disciplines(options),
        options.rangeOrNone(
            "--slo", NanosRange.of(100_000_000), MICROSECOND, Duration.ofMinutes(10)),
        options.range(
            "--cost", new NanosRange(1_000_000, 20_000_000), MICROSECOND, Duration.ofSeconds(100)),
        options.number("--fixed-share", 0.7, 0, 1),
        batchSizes(options),
        options.numbers("--weights", List.of(1.0), 0.001, 1000),
        options.duration("--max-queue-delay", Duration.ZERO, Duration.ZERO, Duration.ofSeconds(10)),
        (int) options.integer("--max-queue-depth", 1024, 1, 1_000_000),
        options.number("--mispredict", 0, 0, 1),
        options.number("--mispredict-factor", 4, 1, 1000),
        options.number("--fail", 0, 0, 1),
        options.number("--cancel", 0, 0, 1),
        options.number("--oversize", 0, 0, 1),
        options.has("--json"));
  }

  private static Map<String, String> collect(String... arguments) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i < arguments.length; i++) {
      String name = arguments[i];
      String value = "";
      if (VALUED.contains(name)) {
        i++;
        if (i == arguments.length) {
          throw new IllegalArgumentException(name + " needs a value");
        }
        value = arguments[i];
      } else if (!FLAGS.contains(name)) {
        throw new IllegalArgumentException("there is no option '" + name + "'");
      }
      if (given.put(name, value) != null) {
        throw new IllegalArgumentException(name + " was given twice; give it once");
      }
    }
    return given;
  }

  private static Duration length(OptionReader options) {
    double seconds =
        options.has("--minutes")
            ? 60 * options.number("--minutes", 1, 0.01, 1440)
            : options.number("--seconds", 60, 0.1, 86_400);
    return Duration.ofNanos(Math.round(seconds * 1e9));
  }

  private static List<Integer> batchSizes(OptionReader options) {
    return options.integers("--batch-sizes", List.of(1, 4, 16), 1, 4096).stream()
        .sorted()
        .distinct()
        .toList();
  }

  private static List<DisciplineChoice> disciplines(OptionReader options) {
    Map<String, List<DisciplineChoice>> choices = new HashMap<>();
    choices.put("all", DisciplineChoice.all());
    for (DisciplineChoice each : DisciplineChoice.values()) {
      choices.put(each.label(), List.of(each));
    }
    return options.choice("--discipline", List.of(DisciplineChoice.FAIR), choices);
  }

  private static <T> Map<String, T> byName(T[] values, Function<T, String> name) {
    return Arrays.stream(values).collect(Collectors.toMap(name, Function.identity()));
  }
}
