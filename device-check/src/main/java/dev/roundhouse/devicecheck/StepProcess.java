package dev.roundhouse.devicecheck;

import dev.roundhouse.devicecheck.StepResult.End;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs one step in a child process, and ends that process and its children when time is over. */
record StepProcess(CheckContext context, Path logs) {
  /** How many lines of a log the report shows. */
  private static final int LAST_LINES = 12;

  private static final Duration THREAD_DUMP = Duration.ofSeconds(1);

  /** The child's exit code for a step that gave up, as its findings say. */
  static final int GAVE_UP = 3;

  /**
   * Runs it, no longer than {@code limit}.
   *
   * @throws IOException when the process cannot be started or its files cannot be read
   */
  StepResult run(Step step, Duration limit) throws IOException, InterruptedException {
    Path folder = Files.createDirectories(logs.resolve(step.name()));
    Path scratch = Files.createTempDirectory("roundhouse-check-");
    Path told = folder.resolve("findings.jsonl");
    Files.deleteIfExists(told);
    Path log = folder.resolve("log");
    long start = System.nanoTime();
    Process process =
        new ProcessBuilder(command(step, scratch, told))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    Thread killer = new Thread(() -> killAll(process), "kill-" + step.name());
    Runtime.getRuntime().addShutdownHook(killer);
    try {
      boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
      List<String> lastLines = lastLines(log);
      if (!ended) {
        askForThreadDump(process);
      }
      killAll(process);
      process.waitFor();
      double seconds = (System.nanoTime() - start) / 1e9;
      return result(step, ended, process.exitValue(), limit, seconds, told, lastLines);
    } finally {
      killAll(process);
      Runtime.getRuntime().removeShutdownHook(killer);
      deleteTree(scratch);
    }
  }

  private List<String> command(Step step, Path scratch, Path told) {
    List<String> command = new ArrayList<>(step.prefix(context));
    command.add(CheckContext.java().toString());
    command.addAll(context.jvmOptions());
    command.add("-Xmx512m");
    command.add("-XX:+ExitOnOutOfMemoryError");
    command.add("-XX:ErrorFile=" + told.resolveSibling("hs_err.log"));
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(StepMain.class.getName());
    command.add(step.getClass().getName());
    command.add(told.toString());
    command.add(context.platform());
    command.add(context.plugin() == null ? "" : context.plugin().toString());
    command.add(context.allocator() == null ? "" : context.allocator());
    command.add(context.home().toString());
    command.add(scratch.toString());
    return command;
  }

  private static StepResult result(
      Step step,
      boolean ended,
      int code,
      Duration limit,
      double seconds,
      Path told,
      List<String> lastLines)
      throws IOException {
    List<Finding> findings = Findings.read(told);
    if (!ended) {
      String reason = "still at work after %.0f s, cut off".formatted(limit.toMillis() / 1e3);
      return new StepResult(step.name(), End.CUT_OFF, seconds, reason, findings, lastLines);
    }
    return switch (code) {
      case 0 -> new StepResult(step.name(), End.FINISHED, seconds, "", findings, List.of());
      case GAVE_UP ->
          new StepResult(step.name(), End.FAILED, seconds, "gave up", findings, lastLines);
      default -> new StepResult(step.name(), End.DIED, seconds, cause(code), findings, lastLines);
    };
  }

  private static String cause(int code) {
    return "its process ended with exit code "
        + code
        + (code > 128 ? ", which is signal " + (code - 128) : "");
  }

  /** It goes to the log, to show where the step hung. */
  private static void askForThreadDump(Process process) throws IOException, InterruptedException {
    new ProcessBuilder("sh", "-c", "kill -QUIT " + process.pid()).start().waitFor();
    process.waitFor(THREAD_DUMP.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Children first: once the parent is gone they cannot be found. */
  private static void killAll(Process process) {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }

  private static List<String> lastLines(Path log) throws IOException {
    List<String> lines =
        new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
            .lines()
            .filter(line -> !line.isBlank())
            .toList();
    return lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size());
  }

  private static void deleteTree(Path folder) throws IOException {
    try (var files = Files.walk(folder)) {
      for (Path file : files.sorted(java.util.Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
