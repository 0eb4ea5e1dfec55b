package dev.roundhouse.simulation;

import dev.roundhouse.simulation.run.Findings;
import dev.roundhouse.simulation.run.Scenario;
import dev.roundhouse.simulation.run.Simulation;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** {@code ./roundhouse sim}: findings on stdout, how long it took on stderr. */
public final class SimCommand {
  private SimCommand() {}

  public static void main(String[] arguments) {
    System.exit(run(System.out, System.err, arguments));
  }

  static int run(PrintStream out, PrintStream progress, String... arguments) {
    if (Arrays.asList(arguments).contains("--help") || Arrays.asList(arguments).contains("-h")) {
      out.print(SimArguments.usage());
      return 0;
    }
    try {
      SimOptions options = SimArguments.parse(arguments);
      List<Findings> findings = new ArrayList<>();
      for (Scenario scenario : Scenarios.of(options)) {
        findings.add(timed(scenario, progress));
      }
      if (options.json()) {
        findings.forEach(each -> JsonReport.print(options, each, out));
      } else {
        TableReport.print(options, findings, out);
      }
      return 0;
    } catch (IllegalArgumentException misuse) {
      progress.println("sim: " + misuse.getMessage() + "; --help says what there is");
      return 2;
    } catch (IllegalStateException broken) {
      progress.println("sim: " + broken.getMessage());
      return 1;
    }
  }

  private static Findings timed(Scenario scenario, PrintStream progress) {
    long started = System.nanoTime();
    Findings findings = Simulation.run(scenario);
    progress.printf(
        "sim: %s took %s%n", findings.discipline(), Durations.text(System.nanoTime() - started));
    return findings;
  }
}
