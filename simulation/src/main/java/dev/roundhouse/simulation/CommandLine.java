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

/** Turns arguments into {@link SimOptions}. */
final class CommandLine {
  static final String USAGE =
      """
      Usage: ./roundhouse sim [OPTIONS]

      Runs the real engine on a simulated device with a clock that stands still, under seeded traffic, and prints what
      came out. The same options print the same bytes, on any machine.

      traffic
        --seed N             of everything that is drawn; default 1
        --models N           1 to 100000; default 100
        --seconds S          simulated time in which calls arrive, 0.1 to 86400; default 60
        --minutes M          the same in minutes
        --load X             device time asked for if every call ran alone, over time, 0.001 to 100; default 0.8.
                             Above 1 calls must share runs, or some are not served
        --workload NAME      default zipf
      %s
        --zipf S             exponent of zipf, 0 to 4; default 0.9
        --slo RANGE          from arrival to deadline, such as 100ms (the default), 20ms..500ms, or none
        --cancel X           share of calls that are taken back at some moment, 0 to 1; default 0
        --oversize X         share of calls with up to three times the rows of the largest batch, 0 to 1; default 0

      models and device
        --cost RANGE         of a run of one row, drawn per model, 1us to 100s; default 1ms..20ms
        --fixed-share X      part of that cost that further rows do not add to, 0 to 1; default 0.7
        --batch-sizes LIST   compiled sizes; default 1,4,16
        --weights LIST       given to the models in turn, 0.001 to 1000; default 1
        --mispredict X       share of runs that take longer than expected, 0 to 1; default 0
        --mispredict-factor K  how many times longer, 1 to 1000; default 4
        --fail X             share of runs that fail, 0 to 1; default 0

      engine
        --discipline NAME    fair (the default), virtual-time, edf, fifo, or all to compare them
        --max-queue-delay D  how long a batch that could be larger may be held, 0 to 10s; default 0
        --max-queue-depth N  calls that may wait per model, 1 to 1000000; default 1024

        --json               one object per line
        --help               this text

      A duration is a number with ns, us, ms, s or m. docs/simulation.md says what each figure means.
      The exit status is 0 when the simulation ran, whatever came out, and 1 when the engine broke a promise.
      """
          .formatted(
              Arrays.stream(Workload.values())
                  .map(each -> "                     %-8s%s".formatted(each.label(), each.about()))
                  .collect(Collectors.joining("\n")));

  private static final Set<String> FLAGS = Set.of("--json");
  private static final Set<String> VALUED =
      Set.of(
          "--seed",
          "--models",
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
