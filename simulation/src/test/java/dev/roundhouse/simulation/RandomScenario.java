package dev.roundhouse.simulation;

import dev.roundhouse.simulation.run.Scenario;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/** Options drawn from a seed: any mixture of traffic, overload, mishaps and impatience. */
final class RandomScenario {
  private RandomScenario() {}

  /** Anything goes. */
  static Scenario of(long seed, String discipline) {
    return scenario(arguments(seed, discipline));
  }

  static Scenario scenario(List<String> arguments) {
    return Scenarios.of(SimArguments.parse(arguments.toArray(String[]::new))).getFirst();
  }

  static List<String> arguments(long seed, String discipline) {
    SplittableRandom random = new SplittableRandom(seed);
    List<String> arguments = new ArrayList<>();
    add(arguments, "--seed", Long.toString(seed));
    add(arguments, "--discipline", discipline);
    add(arguments, "--models", Integer.toString(1 + random.nextInt(40)));
    add(arguments, "--seconds", "4");
    add(arguments, "--load", pick(random, "0.3", "0.9", "1.5", "4"));
    add(arguments, "--workload", pick(random, "poisson", "bursts", "zipf", "azure"));
    add(arguments, "--zipf", pick(random, "0.5", "0.9", "1.4"));
    add(arguments, "--cost", pick(random, "1ms", "500us..20ms", "1ms..50ms"));
    add(arguments, "--fixed-share", pick(random, "0", "0.5", "0.9"));
    add(arguments, "--batch-sizes", pick(random, "1", "4", "1,4,16", "1,2,3,7", "8,32"));
    add(arguments, "--shares", pick(random, "1", "1,3", "0.5,1,8"));
    add(arguments, "--slo", pick(random, "none", "50ms", "20ms..500ms", "2ms..20ms"));
    add(arguments, "--max-queue-delay", pick(random, "0", "0", "5ms", "50ms"));
    add(arguments, "--max-queue-depth", pick(random, "1024", "32", "3"));
    add(arguments, "--mispredict", share(random, 0.1));
    add(arguments, "--fail", share(random, 0.1));
    add(arguments, "--cancel", share(random, 0.3));
    add(arguments, "--oversize", share(random, 0.2));
    add(arguments, "--idle", pick(random, "0", "1", "50"));
    return arguments;
  }

  private static void add(List<String> arguments, String name, String value) {
    arguments.add(name);
    arguments.add(value);
  }

  private static String pick(SplittableRandom random, String... choices) {
    return choices[random.nextInt(choices.length)];
  }

  private static String share(SplittableRandom random, double most) {
    double share = random.nextBoolean() ? 0 : most * random.nextDouble();
    return String.format(Locale.ROOT, "%.3f", share);
  }
}
