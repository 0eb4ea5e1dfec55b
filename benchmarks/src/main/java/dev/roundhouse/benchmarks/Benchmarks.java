package dev.roundhouse.benchmarks;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.bench.RepositoryRoot;
import dev.roundhouse.benchmarks.report.JsonReport;
import dev.roundhouse.benchmarks.report.Report;
import dev.roundhouse.benchmarks.report.TableReport;
import dev.roundhouse.measure.Machine;
import java.nio.file.Path;

/** Runs one bench and prints its cells: results on stdout, progress on stderr. */
public final class Benchmarks {
  private static final String USAGE =
      """
      Usage: ./roundhouse bench NAME [--quick] [--json] [--before=JAR]
             java -jar benchmarks/target/benchmarks.jar NAME [--quick] [--json] [--before=JAR]

      Measures ours and a peer in turns and prints both, their ratio, and whether it meets its goal.

      %s
        list             these names

        --quick          few, short samples: the shape of the result, not figures to quote
        --json           one object per line: {"bench","cell","ours","peer","unit","ratio","goal","met"}
        --before=JAR     the worker of another build in the place of the peer: wire-triton and wire-rest
        --help           this text

      Progress goes to stderr. The exit status is 0 when everything was measured, whatever came out.
      ROUNDHOUSE_HOME names the repository; without it, it is found from where the jar lies.
      docs/benchmarks.md says what each cell means.
      """;

  private Benchmarks() {}

  public static void main(String[] arguments) {
    int status = run(arguments);
    // Plugins leave threads behind; they must not keep the process alive.
    System.exit(status);
  }

  private static int run(String[] arguments) {
    try {
      switch (Command.parse(arguments)) {
        case Command.Help() -> System.out.print(USAGE.formatted(Catalogue.list()));
        case Command.ListBenches() -> System.out.print(Catalogue.list());
        case Command.Run(Bench bench, boolean quick, boolean json, Path before) -> {
          Report report = json ? new JsonReport(System.out) : new TableReport(System.out);
          BenchRun run =
              new BenchRun(RepositoryRoot.find(), quick, before, System.err, report::add);
          run.say("%s", Machine.now());
          try {
            bench.run(run);
          } finally { // what was measured before a failure is worth reading
            report.finish();
          }
        }
      }
      return 0;
    } catch (IllegalArgumentException misuse) {
      System.err.println("bench: " + misuse.getMessage());
      System.err.println("bench: --help says more");
      return 2;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      return 130;
    } catch (Exception failure) {
      System.err.println("bench: could not measure");
      failure.printStackTrace();
      return 1;
    }
  }
}
