package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.ProgramSource;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that compiles one program at a time. One thread at a time compiles; {@link #kill} and
 * {@link #check} are for any.
 */
final class CompilerProcess {
  private static final Logger log = LoggerFactory.getLogger(CompilerProcess.class);

  /** Options for the worker's own Java, such as a debugger's port, which can be had only once. */
  private static final List<String> NOT_INHERITED =
      List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");

  private static final int MOST_SHOWN = 100;

  /** With zeros, and with small numbers. */
  private static final int RUNS = 2;

  /** How long a run with extreme values gets in any case. */
  private static final long LEAST_EXTREME_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  /** What a JVM says that gets no thread. */
  private static final String NO_THREAD = "unable to create native thread";

  private final Process process;
  private final DataOutputStream requests;
  private final DataInputStream answers;
  private final LastLines said = new LastLines();
  private final Thread listener;
  private volatile @Nullable Kill killed;
  private volatile Stage stage = Stage.COMPILING;

  /** Since when it runs with what it runs with; of the stage that is at it. */
  private volatile long runningSinceNanos;

  /** When extreme values are given up; of the stage that is at it. */
  private volatile long extremeUntilNanos;

  private boolean ready;

  /** Lines of its output that went to the log; of the listener. */
  private int shown;

  private CompilerProcess(Process process) {
    this.process = process;
    requests = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
    answers = new DataInputStream(new BufferedInputStream(process.getInputStream()));
    listener =
        Thread.ofPlatform()
            .daemon()
            .name("compiler-output")
            .start(() -> said.readAll(process.getErrorStream(), this::onSaid));
  }

  /**
   * Starts a process; its first task is running when this returns.
   *
   * @param folder its working directory
   */
  static CompilerProcess start(
      List<String> command, Path folder, Confinement confinement, CompilerSettings settings)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().keySet().removeAll(NOT_INHERITED);
    confinement.clean(builder.environment().keySet());
    Process process = builder.start();
    CompilerProcess started;
    try {
      started = new CompilerProcess(process);
    } catch (Throwable e) { // such as that there is no thread for what it says
      process.destroyForcibly();
      throw e;
    }
    try {
      settings.write(started.requests);
      started.requests.flush();
    } catch (IOException ended) {
      log.debug(
          "a compiler process ended at once: {}", ended.toString()); // told by its first compile
    }
    return started;
  }

  /**
   * Compiles, and has the outcome run on trial unless that is known to go well.
   *
   * @param plugin that loads what comes of it
   * @return empty when the process had ended before, as it had nothing to do
   * @throws DeviceException when the program is refused, or the process ended over it
   */
  Optional<byte[]> compile(CompilerRequest request, PjrtPlugin plugin) {
    ProgramSource source = request.program();
    stage = Stage.COMPILING;
    byte[] compiled = null;
    int ran = 0;
    try {
      request.write(requests);
      long firstRun = 0;
      while (true) {
        CompilerAnswer answer = CompilerAnswer.read(answers);
        if (!ready && answer instanceof CompilerAnswer.Ready opened) {
          plugin.checkStamp(opened.stamp());
          ready = true;
        } else if (compiled == null && answer instanceof CompilerAnswer.Compiled outcome) {
          compiled = outcome.payload();
          firstRun = System.nanoTime();
          runningSinceNanos = firstRun;
          stage = Stage.RUNNING;
        } else if (compiled != null && ran < RUNS && answer instanceof CompilerAnswer.Ran) {
          long now = System.nanoTime();
          runningSinceNanos = now;
          if (++ran == RUNS) {
            extremeUntilNanos = now + LEAST_EXTREME_NANOS + 2 * (now - firstRun);
            stage = Stage.RUNNING_EXTREMES;
          }
        } else if (compiled != null && answer instanceof CompilerAnswer.Sound) {
          stage = Stage.WAITING;
          return Optional.of(compiled);
        } else if (answer instanceof CompilerAnswer.Refused refused) {
          throw refused(source.name(), refused);
        } else {
          throw new DeviceException(
              Code.INTERNAL, source.name() + ": the compiler process is out of step: " + answer);
        }
      }
    } catch (IOException ended) {
      return ended(source.name(), compiled);
    }
  }

  private DeviceException refused(String name, CompilerAnswer.Refused refused) {
    if (!ready) {
      return new DeviceException(
          refused.code(), name + ": the compiler process cannot compile: " + refused.message());
    }
    return new DeviceException(
        refused.code(),
        stage == Stage.COMPILING
            ? refused.message()
            : "%s: %s fails: %s".formatted(name, stage.words, refused.message()));
  }

  private Optional<byte[]> ended(String name, byte @Nullable [] compiled) {
    int exitCode = awaitEnd();
    Kill reason = killed;
    if (reason == Kill.EXTREMES_TAKE_LONG && compiled == null) {
      return Optional.empty(); // it had just ended after all, and this is another program
    }
    if (reason == Kill.EXTREMES_TAKE_LONG) {
      log.warn(
          "{}: a run on trial with extreme values did not end within some seconds: a request may"
              + " make it run for as long, and the watchdog ends the process then; give its loops"
              + " a bound",
          name);
      return Optional.ofNullable(compiled);
    }
    if (reason != null) {
      throw new DeviceException(reason.code, name + ": " + reason.why);
    }
    if (exitCode == CompilerMain.IDLE && compiled == null) {
      return Optional.empty();
    }
    boolean starved = Arrays.stream(said.all()).anyMatch(line -> line.contains(NO_THREAD));
    throw new DeviceException(
        starved ? Code.NO_THREAD : Code.INTERNAL,
        "%s: %sthe compiler process %s"
            .formatted(
                name,
                stage == Stage.COMPILING ? "" : stage.words + ", ",
                CompilerEnd.describe(exitCode, said.all())));
  }

  /** Ends it if its task exceeds the limits. */
  void check(CompilerLimits limits, long startedNanos) {
    Stage at = stage;
    long now = System.nanoTime();
    if (at == Stage.WAITING) {
      return; // what is done with the outcome here may take longer than a trial
    }
    if (at == Stage.RUNNING_EXTREMES && now - extremeUntilNanos > 0) {
      // How long a loop goes on may be up to an input, and these are nobody's.
      kill(Kill.EXTREMES_TAKE_LONG);
      return;
    }
    if (at == Stage.RUNNING && now - runningSinceNanos > limits.run().toNanos()) {
      kill(
          Code.INTERNAL,
          "%s did not end within %s, the longest that a run may take; raise roundhouse.worker.watchdog.device-call, or export %s"
              .formatted(at.words, seconds(limits.run()), at.cure));
      return;
    }
    if (now - startedNanos > limits.time().toNanos()) {
      kill(
          Code.INTERNAL,
          "%s did not end within %s%s; raise that limit, or export %s"
              .formatted(
                  at.words,
                  seconds(limits.time()),
                  at == Stage.COMPILING ? "" : " of compiling and running",
                  at.cure));
      return;
    }
    long bytes = memoryBytes();
    if (bytes > limits.memoryBytes()) {
      kill(
          Code.OUT_OF_MEMORY,
          "%s took %d bytes of memory, more than the limit of %d; raise that limit, or export %s"
              .formatted(at.words, bytes, limits.memoryBytes(), at.cure));
    }
  }

  private static String seconds(Duration time) {
    return time.toMillis() / 1e3 + " s";
  }

  /** Ends it now; the compile fails with this reason. */
  void kill(Code code, String why) {
    kill(new Kill(code, why));
  }

  private void kill(Kill reason) {
    if (killed == null) {
      killed = reason;
    }
    end();
  }

  /** Ends it now; for an idle process. */
  void end() {
    process.destroyForcibly();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** True when it waits for a program, after one that it has answered for. */
  boolean isUsable() {
    return ready && process.isAlive();
  }

  /** What it has of the machine's memory; 0 when it has ended. */
  long memoryBytes() {
    long kilobytes = 0;
    try {
      for (String line : Files.readAllLines(Path.of("/proc/" + process.pid() + "/status"))) {
        if (line.startsWith("VmRSS:") || line.startsWith("VmSwap:")) {
          kilobytes += Long.parseLong(line.replaceAll("\\D", ""));
        }
      }
    } catch (IOException ended) {
      return 0;
    }
    return kilobytes << 10;
  }

  private int awaitEnd() {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          if (!process.waitFor(2, TimeUnit.SECONDS)) {
            process.destroyForcibly(); // it has closed its output, so nothing can come any more
          } else {
            listener.join(TimeUnit.SECONDS.toMillis(1));
            return process.exitValue();
          }
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void onSaid(String line) {
    if (line.startsWith("#") || shown > MOST_SHOWN) {
      log.debug("compiler process {}: {}", process.pid(), line); // a crash is told as one
    } else if (++shown > MOST_SHOWN) {
      log.warn("compiler process {} says more than is shown here", process.pid());
    } else {
      log.warn("compiler process {}: {}", process.pid(), line);
    }
  }

  private record Kill(Code code, String why) {
    static final Kill EXTREMES_TAKE_LONG = new Kill(Code.INTERNAL, "extreme values");
  }

  /** What the process is at, as messages say it, and what would help. */
  private enum Stage {
    COMPILING("compiling", "a simpler program"),
    RUNNING("running it on trial", "a program that runs with less, and ends"),
    RUNNING_EXTREMES("running it on trial with extreme values", "a program that bears any input"),
    WAITING("waiting for a program", "another program");

    final String words;
    final String cure;

    Stage(String words, String cure) {
      this.words = words;
      this.cure = cure;
    }
  }
}
