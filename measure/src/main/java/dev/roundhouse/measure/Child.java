package dev.roundhouse.measure;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A child process that is spoken to in lines. Its stderr goes to a file. It ends when this is
 * closed, and when this JVM ends, SIGTERM included. Used by one thread.
 */
public final class Child implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final String name;
  private final Process process;
  private final BufferedReader output;
  private final BufferedWriter input;
  private final Path errors;
  private final List<String> seen = new ArrayList<>();
  private final Thread killer;

  private Child(String name, Process process, Path errors) {
    this.name = name;
    this.process = process;
    this.output = process.inputReader();
    this.input = process.outputWriter();
    this.errors = errors;
    this.killer = new Thread(this::kill, "kill-" + name);
    Runtime.getRuntime().addShutdownHook(killer);
  }

  /**
   * Starts a process.
   *
   * @param errors takes stderr
   */
  public static Child start(
      String name, List<String> command, Map<String, String> environment, Path errors)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
    builder.environment().putAll(environment);
    return new Child(name, builder.start(), errors);
  }

  /**
   * Reads up to the first line that starts with {@code prefix}.
   *
   * @return what follows the prefix
   */
  public String awaitLine(String prefix) throws IOException {
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      seen.add(line);
      if (line.startsWith(prefix)) {
        return line.substring(prefix.length()).strip();
      }
    }
    throw new IOException(
        "%s ended before it printed '%s'; its last lines:\n%s"
            .formatted(name, prefix, lastLines()));
  }

  /** What it said last: on stdout as far as that was awaited, then on stderr. */
  public String lastLines() throws IOException {
    List<String> told = new ArrayList<>(seen);
    told.addAll(Files.readAllLines(errors));
    return String.join("\n", told.subList(Math.max(0, told.size() - 40), told.size()));
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Throws away what it prints from here on, so that a full pipe never stops it. */
  public void ignoreOutput() {
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                output.transferTo(java.io.Writer.nullWriter());
              } catch (IOException ended) {
                // The pipe broke because the process ended.
              }
            });
  }

  /** Sends a line and returns the line that answers it. */
  public String ask(String line) throws IOException {
    input.write(line);
    input.newLine();
    input.flush();
    return awaitLine("");
  }

  /**
   * Processor time used so far by the threads it has now, to the nanosecond. A thread that ended in
   * between takes its time with it.
   */
  public Duration cpu() {
    try {
      return cpu(process.pid());
    } catch (IOException e) {
      throw new IllegalStateException(name + " has ended", e);
    }
  }

  /**
   * The same with that of the processes it started, such as those that run Triton's Python models.
   */
  public Duration cpuWithDescendants() {
    Duration sum = cpu();
    for (ProcessHandle descendant : process.descendants().toList()) {
      try {
        sum = sum.plus(cpu(descendant.pid()));
      } catch (IOException ended) {
        // Its time is gone with it.
      }
    }
    return sum;
  }

  private static Duration cpu(long pid) throws IOException {
    long nanos = 0;
    try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
      for (Path thread : threads.toList()) {
        nanos += threadNanos(thread);
      }
    }
    return Duration.ofNanos(nanos);
  }

  private static long threadNanos(Path thread) throws IOException {
    try {
      return Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ", 2)[0]);
    } catch (NoSuchFileException ended) {
      return 0;
    }
  }

  /** With what it has started, such as nginx's workers: those would go on without their master. */
  private void kill() {
    List<ProcessHandle> started = process.descendants().toList();
    process.destroyForcibly();
    started.forEach(ProcessHandle::destroyForcibly);
  }

  /** Ends the process: by closing its input, then by SIGTERM, then by SIGKILL. */
  @Override
  public void close() {
    try {
      input.close();
    } catch (IOException ended) {
      // It has gone already, which is what is wanted.
    }
    try {
      if (!process.waitFor(200, TimeUnit.MILLISECONDS)) {
        process.destroy();
        if (!process.waitFor(PATIENCE)) {
          kill();
          process.waitFor();
        }
      }
      Runtime.getRuntime().removeShutdownHook(killer);
    } catch (InterruptedException stopped) {
      kill();
      Thread.currentThread().interrupt();
    }
  }
}
