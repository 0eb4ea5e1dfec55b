package dev.roundhouse.devicecheck;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code gpu-check}. */
@Command(
    name = "gpu-check",
    description =
        "%nFinds out what a device does and how fast, step by step, and prints and writes a table."
            + " Ends by itself.%n",
    sortOptions = false,
    usageHelpWidth = 110,
    footer = {
      "%nThe exit status is 0 when nothing failed, 1 when something did and 2 when the command line"
          + " is wrong."
    })
final class DeviceCheck implements Callable<Integer> {
  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--device",
      paramLabel = "cpu|cuda",
      defaultValue = "cuda",
      description = "the platform to check; ${DEFAULT-VALUE} unless given")
  private String device = "cuda";

  @Option(
      names = "--plugin",
      paramLabel = "PATH",
      description = "the PJRT plugin; without it the one that a worker would find")
  private @Nullable Path plugin;

  @Option(
      names = "--allocator",
      paramLabel = "NAME",
      description =
          "what a GPU's memory is given out by: bfc, cuda_async, vmm; the plugin's own choice"
              + " unless given")
  private @Nullable String allocator;

  @Option(
      names = "--steps",
      paramLabel = "A,B",
      split = ",",
      description = "these steps only; --list names them")
  private @Nullable List<String> steps;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      defaultValue = "${sys:gpu-check.results:-results}",
      description = "where report.json, report.md and the steps' logs go")
  private Path outFolder = Path.of("results");

  @Option(
      names = "--limit",
      paramLabel = "SECONDS",
      defaultValue = "480",
      description = "how long all of it may take; ${DEFAULT-VALUE} unless given")
  private int limitSeconds = 480;

  @Option(names = "--home", hidden = true, defaultValue = "${sys:gpu-check.home:-.}")
  private Path home = Path.of("");

  @Option(names = "--list", help = true, description = "the names of the steps")
  private boolean list;

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "this text")
  @SuppressWarnings("UnusedVariable") // picocli reads it
  private boolean help;

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new DeviceCheck()).execute(arguments));
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (list) {
      terminal().getOut().print(stepTable());
      terminal().getOut().flush();
      return 0;
    }
    List<Step> chosen = checked();
    Path results = writable(outFolder.toAbsolutePath());
    CheckContext context =
        new CheckContext(
            device,
            plugin == null ? null : plugin.toAbsolutePath(),
            allocator,
            home.toAbsolutePath(),
            results);
    String date = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    List<StepResult> found =
        new Programme(chosen, Duration.ofSeconds(limitSeconds), terminal().getErr())
            .run(new StepProcess(context, results.resolve("logs")));
    Report report = Report.of(device, date, found);
    report.write(results);
    PrintWriter out = terminal().getOut();
    out.print(report.table());
    out.printf("%s%n%s%n", results.resolve("report.json"), results.resolve("report.md"));
    out.flush();
    return report.passed() ? 0 : 1;
  }

  private Path writable(Path folder) {
    try {
      Files.createDirectories(folder);
      Files.delete(Files.createTempFile(folder, ".writable", ""));
      return folder;
    } catch (IOException e) {
      throw misuse(
          "results cannot be written to " + folder + ": " + e + "; name another folder with --out");
    }
  }

  private List<Step> checked() {
    if (!device.equals("cpu") && !device.equals("cuda")) {
      throw misuse("--device takes cpu or cuda, not '" + device + "'");
    }
    if (allocator != null && device.equals("cpu")) {
      throw misuse("--allocator is of a GPU's memory; leave it out with --device cpu");
    }
    if (limitSeconds < 1) {
      throw misuse("--limit takes seconds, 1 or more, not " + limitSeconds);
    }
    if (plugin != null && !Files.isRegularFile(plugin)) {
      throw misuse("--plugin " + plugin + ": there is no such file");
    }
    try {
      return steps == null ? Steps.ALL : Steps.named(steps);
    } catch (IllegalArgumentException unknown) {
      throw misuse(String.valueOf(unknown.getMessage()));
    }
  }

  private ParameterException misuse(String message) {
    return new ParameterException(terminal(), message);
  }

  private CommandLine terminal() {
    if (spec == null) {
      throw new IllegalStateException("picocli has not filled this in");
    }
    return spec.commandLine();
  }

  private static String stepTable() {
    return Steps.ALL.stream()
        .map(
            step ->
                String.format(
                    Locale.ROOT,
                    "%-15s %s; at most %d s%n",
                    step.name(),
                    step.about(),
                    step.limit().toSeconds()))
        .collect(Collectors.joining());
  }
}
