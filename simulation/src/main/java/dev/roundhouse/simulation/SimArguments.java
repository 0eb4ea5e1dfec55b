package dev.roundhouse.simulation;

import dev.roundhouse.simulation.fleet.FleetMemory;
import dev.roundhouse.simulation.fleet.NanosRange;
import dev.roundhouse.simulation.traffic.Workload;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The command line as picocli fills it in. Its fields' values are the defaults. */
@Command(
    name = "./roundhouse sim",
    description = {
      "%nRuns the real engine on a simulated device with a clock that stands still, under seeded"
          + " traffic, and prints what came out. The same options print the same bytes, on any"
          + " machine."
    },
    customSynopsis = "./roundhouse sim [OPTIONS]",
    footer = {
      "%nA duration is a number with ns, us, ms, s or m; a range is one of them, or two such as"
          + " 20ms..500ms.",
      "docs/simulation.md says what each figure means.",
      "The exit status is 0 when the simulation ran, whatever came out, 1 when the engine broke a"
          + " promise and 2 when the command line is wrong."
    },
    sortOptions = false,
    usageHelpWidth = 118)
final class SimArguments {
  @ArgGroup(validate = false, heading = "%ntraffic%n", order = 1)
  private Traffic traffic = new Traffic();

  @ArgGroup(validate = false, heading = "%nmodels and device%n", order = 2)
  private Models models = new Models();

  @ArgGroup(validate = false, heading = "%nengine%n", order = 3)
  private EngineSettings engine = new EngineSettings();

  @ArgGroup(validate = false, heading = "%noutput%n", order = 4)
  private Output output = new Output();

  /**
   * Parses.
   *
   * @throws IllegalArgumentException naming the option, its value, the limit and what would be
   *     right
   */
  static SimOptions parse(String... arguments) {
    SimArguments parsed = new SimArguments();
    try {
      refuseTwins(commandLine(parsed).parseArgs(arguments).matchedOptions());
    } catch (ParameterException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    return parsed.options();
  }

  /** What picocli itself would refuse, if the option were not of a group. */
  private static void refuseTwins(List<OptionSpec> given) {
    Set<OptionSpec> seen = new HashSet<>();
    for (OptionSpec each : given) {
      if (!seen.add(each)) {
        throw new IllegalArgumentException(each.longestName() + " was given twice; give it once");
      }
    }
  }

  static String usage() {
    return commandLine(new SimArguments()).getUsageMessage(CommandLine.Help.Ansi.OFF);
  }

  private static CommandLine commandLine(SimArguments arguments) {
    return new CommandLine(arguments).setUsageHelpLongOptionsMaxWidth(26);
  }

  private SimOptions options() {
    if (traffic.seconds != null && traffic.minutes != null) {
      throw new IllegalArgumentException("--seconds and --minutes say the same thing; give one");
    }
    return new SimOptions(
        traffic.seed,
        Limits.whole("--models", traffic.models, 1, 100_000),
        Limits.whole("--idle", traffic.idle, 0, 100_000),
        length(),
        Limits.number("--load", traffic.load, 0.001, 100),
        choice("--workload", traffic.workload, byName(Workload.values(), Workload::label)),
        Limits.number("--zipf", traffic.zipf, 0, 4),
        disciplines(),
        slo(),
        Limits.range("--cost", models.cost, Duration.ofNanos(1_000), Duration.ofSeconds(100)),
        Limits.number("--fixed-share", models.fixedShare, 0, 1),
        models.batchSizes.stream()
            .map(size -> Limits.whole("--batch-sizes", size, 1, 4096))
            .sorted()
            .distinct()
            .toList(),
        models.shares.stream().map(share -> Limits.number("--shares", share, 0.001, 1000)).toList(),
        Limits.bytes("--weights", models.weights),
        memory(),
        Limits.duration(
            "--max-queue-delay", engine.maxQueueDelay, Duration.ZERO, Duration.ofSeconds(10)),
        Limits.whole("--max-queue-depth", engine.maxQueueDepth, 1, 1_000_000),
        Limits.number("--mispredict", models.mispredict, 0, 1),
        Limits.number("--mispredict-factor", models.mispredictFactor, 1, 1000),
        Limits.number("--fail", models.fail, 0, 1),
        Limits.number("--cancel", traffic.cancel, 0, 1),
        Limits.number("--oversize", traffic.oversize, 0, 1),
        output.json);
  }

  private FleetMemory memory() {
    if (models.deviceMemory == null) {
      if (models.link != null) {
        throw new IllegalArgumentException(
            "--link says how fast weights come where not all fit; give --device-memory too");
      }
      return FleetMemory.UNLIMITED;
    }
    return new FleetMemory(
        Limits.size("--device-memory", models.deviceMemory),
        Limits.size("--link", models.link == null ? "25GB" : models.link));
  }

  private Duration length() {
    double seconds = 60;
    if (traffic.minutes != null) {
      seconds = 60 * Limits.number("--minutes", traffic.minutes, 0.01, 1440);
    } else if (traffic.seconds != null) {
      seconds = Limits.number("--seconds", traffic.seconds, 0.1, 86_400);
    }
    return Duration.ofNanos(Math.round(seconds * 1e9));
  }

  private @Nullable NanosRange slo() {
    return traffic.slo.equals("none")
        ? null
        : Limits.range("--slo", traffic.slo, Duration.ofNanos(1_000), Duration.ofMinutes(10));
  }

  private List<DisciplineChoice> disciplines() {
    if (engine.discipline.equals("all")) {
      return DisciplineChoice.all();
    }
    Map<String, DisciplineChoice> choices =
        byName(DisciplineChoice.values(), DisciplineChoice::label);
    return List.of(choice("--discipline", engine.discipline, choices, "all"));
  }

  private static <T> T choice(
      String option, String text, Map<String, T> choices, String... besides) {
    T chosen = choices.get(text);
    if (chosen == null) {
      throw new IllegalArgumentException(
          "%s '%s' must be one of %s"
              .formatted(
                  option,
                  text,
                  Stream.concat(choices.keySet().stream(), Arrays.stream(besides))
                      .sorted()
                      .collect(Collectors.joining(", "))));
    }
    return chosen;
  }

  private static <T> Map<String, T> byName(T[] values, Function<T, String> name) {
    return Arrays.stream(values).collect(Collectors.toMap(name, Function.identity()));
  }

  private static final class Traffic {
    @Option(
        names = "--seed",
        paramLabel = "N",
        description = "Of everything that is drawn; default ${DEFAULT-VALUE}.")
    long seed = 1;

    @Option(
        names = "--models",
        paramLabel = "N",
        description = "1 to 100000; default ${DEFAULT-VALUE}.")
    int models = 100;

    @Option(
        names = "--idle",
        paramLabel = "N",
        description =
            "Models that are loaded beside those and never called, 0 to 100000; default"
                + " ${DEFAULT-VALUE}.")
    int idle;

    @Option(
        names = "--seconds",
        paramLabel = "S",
        description = "Simulated time in which calls arrive, 0.1 to 86400; default 60.")
    @Nullable Double seconds;

    @Option(names = "--minutes", paramLabel = "M", description = "The same in minutes.")
    @Nullable Double minutes;

    @Option(
        names = "--load",
        paramLabel = "X",
        description =
            "Device time asked for if every call ran alone, over time, 0.001 to 100; default"
                + " ${DEFAULT-VALUE}. Above 1 calls must share runs, or some are not served.")
    double load = 0.8;

    @Option(
        names = "--workload",
        paramLabel = "NAME",
        description = {
          "Default ${DEFAULT-VALUE}.",
          "poisson: every model is called as often as the other",
          "bursts: the same in bursts: each model is busy a tenth of the time, about a second at a"
              + " stretch",
          "zipf: the model of rank r is called r^-exponent as often as the first",
          "azure: rates over eight orders of magnitude, most models rare, every second one in"
              + " bursts"
        })
    String workload = "zipf";

    @Option(
        names = "--zipf",
        paramLabel = "S",
        description = "Exponent of zipf, 0 to 4; default ${DEFAULT-VALUE}.")
    double zipf = 0.9;

    @Option(
        names = "--slo",
        paramLabel = "RANGE",
        description =
            "From arrival to deadline, such as ${DEFAULT-VALUE} (the default), 20ms..500ms, or"
                + " none.")
    String slo = "100ms";

    @Option(
        names = "--cancel",
        paramLabel = "X",
        description = "Share of calls that are taken back at some moment, 0 to 1; default 0.")
    double cancel;

    @Option(
        names = "--oversize",
        paramLabel = "X",
        description =
            "Share of calls with up to three times the rows of the largest batch, 0 to 1; default"
                + " 0.")
    double oversize;
  }

  private static final class Models {
    @Option(
        names = "--cost",
        paramLabel = "RANGE",
        description =
            "Of a run of one row, drawn per model, 1us to 100s; default ${DEFAULT-VALUE}.")
    String cost = "1ms..20ms";

    @Option(
        names = "--fixed-share",
        paramLabel = "X",
        description =
            "Part of that cost that further rows do not add to, 0 to 1; default ${DEFAULT-VALUE}.")
    double fixedShare = 0.7;

    @Option(
        names = "--batch-sizes",
        paramLabel = "N",
        split = ",",
        description = "Compiled sizes; default 1,4,16.")
    List<Integer> batchSizes = List.of(1, 4, 16);

    @Option(
        names = "--shares",
        paramLabel = "X",
        split = ",",
        description =
            "Weights of the models' shares of the device, given in turn, 0.001 to 1000; default 1.")
    List<Double> shares = List.of(1.0);

    @Option(
        names = "--weights",
        paramLabel = "RANGE",
        description =
            "Bytes of a model's weights, drawn per model, such as 100MB or 1MB..4GB; default"
                + " ${DEFAULT-VALUE}.")
    String weights = "0";

    @Option(
        names = "--device-memory",
        paramLabel = "BYTES",
        description = "What the device holds, such as 16GB; default: everything.")
    @Nullable String deviceMemory;

    @Option(
        names = "--link",
        paramLabel = "BYTES",
        description = "What the link carries in a second, where memory is given; default 25GB.")
    @Nullable String link;

    @Option(
        names = "--mispredict",
        paramLabel = "X",
        description = "Share of runs that take longer than expected, 0 to 1; default 0.")
    double mispredict;

    @Option(
        names = "--mispredict-factor",
        paramLabel = "K",
        description = "How many times longer, 1 to 1000; default 4.")
    double mispredictFactor = 4;

    @Option(
        names = "--fail",
        paramLabel = "X",
        description = "Share of runs that fail, 0 to 1; default 0.")
    double fail;
  }

  private static final class EngineSettings {
    @Option(
        names = "--discipline",
        paramLabel = "NAME",
        description = "fair (the default), virtual-time, edf, fifo, or all to compare them.")
    String discipline = "fair";

    @Option(
        names = "--max-queue-delay",
        paramLabel = "D",
        description = "How long a batch that could be larger may be held, 0 to 10s; default 0.")
    String maxQueueDelay = "0";

    @Option(
        names = "--max-queue-depth",
        paramLabel = "N",
        description = "Calls that may wait per model, 1 to 1000000; default ${DEFAULT-VALUE}.")
    int maxQueueDepth = 1024;
  }

  private static final class Output {
    @Option(names = "--json", description = "One object per discipline and line.")
    boolean json;

    @Option(
        names = {"-h", "--help"},
        usageHelp = true,
        description = "This text.")
    @SuppressWarnings("UnusedVariable") // picocli reads it
    boolean help;
  }
}
