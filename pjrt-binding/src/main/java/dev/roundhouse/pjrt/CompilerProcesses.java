package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.ProgramCompiler;
import dev.roundhouse.engine.device.ProgramSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Compiles in separate processes: one per concurrent compile, each reused until it misbehaves or is
 * idle too long. Thread-safe.
 */
final class CompilerProcesses implements ProgramCompiler {
  private static final String STOPPING = "the server is stopping";
  private static final long CHECK_MILLIS = 20;

  /** EAGAIN, as the JVM reports it: the limit of processes and threads is reached. */
  private static final Pattern NO_PROCESS = Pattern.compile("error(: |=)11\\b");

  private final PjrtClient client;
  private final CompilerSettings settings;
  private final CompilerLimits limits;
  private final Class<?> main;
  private final Confinement confinement;
  private final ScheduledThreadPoolExecutor watch;
  private final Deque<CompilerProcess> idle = new ArrayDeque<>();
  private final Set<CompilerProcess> busy = new HashSet<>();
  private final TriedPrograms tried = new TriedPrograms();
  private @Nullable Launch launch;
  private boolean closed;

  CompilerProcesses(PjrtClient client, CompilerSettings settings, CompilerLimits limits) {
    this(client, settings, limits, CompilerMain.class);
  }

  /**
   * @param main of the processes; tests have others
   */
  CompilerProcesses(
      PjrtClient client, CompilerSettings settings, CompilerLimits limits, Class<?> main) {
    this.client = client;
    this.settings = settings;
    this.limits = limits;
    this.main = main;
    confinement = Confinement.of(limits.confinement(), client.platform());
    watch =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("compiler-watch").factory());
    watch.setRemoveOnCancelPolicy(true);
    watch.setKeepAliveTime(1, TimeUnit.SECONDS);
    watch.allowCoreThreadTimeOut(true); // there only while something is compiled
  }

  @Override
  public byte[] compile(ProgramSource source) {
    if (source.code() == null || source.code().length == 0) {
      throw new DeviceException(Code.INVALID_ARGUMENT, source.name() + " has no code");
    }
    String digest = TriedPrograms.digest(source.code());
    while (true) {
      CompilerProcess process = take();
      boolean good = false;
      long started = System.nanoTime();
      @Nullable Future<?> checks = null;
      try {
        checks =
            watch.scheduleWithFixedDelay(
                () -> process.check(limits, started),
                CHECK_MILLIS,
                CHECK_MILLIS,
                TimeUnit.MILLISECONDS);
        Optional<byte[]> payload =
            process.compile(new CompilerRequest(source, tried.has(digest)), client.plugin());
        good = payload.isPresent();
        if (good) {
          tried.add(digest);
          return client.envelope().wrap(payload.get());
        }
      } catch (DeviceException refusal) {
        good = process.isUsable();
        throw refusal;
      } finally {
        if (checks != null) {
          checks.cancel(false);
        }
        giveBack(process, good);
      }
    }
  }

  private CompilerProcess take() {
    synchronized (this) {
      checkOpen();
      CompilerProcess kept = idle.pollFirst();
      while (kept != null) {
        if (kept.isAlive()) {
          busy.add(kept);
          return kept;
        }
        kept = idle.pollFirst();
      }
    }
    try {
      Launch how = launch();
      CompilerProcess started =
          CompilerProcess.start(how.command, how.folder, confinement, settings);
      synchronized (this) {
        busy.add(started);
        if (closed) {
          started.kill(Code.CLOSED, STOPPING);
        }
      }
      return started;
    } catch (IOException e) {
      checkOpen(); // closing removes what processes are started from
      throw cannotStart(e);
    }
  }

  private synchronized Launch launch() throws IOException {
    Launch known = launch;
    if (known == null) {
      checkOpen();
      Path folder = LaunchFolder.create();
      Path scratch = LaunchFolder.scratch(folder);
      List<String> java = CompilerCommand.of(folder, scratch, main, limits);
      known = new Launch(folder, confinement.command(folder, scratch, settings, java));
      launch = known;
    }
    return known;
  }

  /** What a compile leaves behind stays: one that has grown large is not used again. */
  private synchronized void giveBack(CompilerProcess process, boolean good) {
    busy.remove(process);
    if (good && !closed && process.memoryBytes() <= limits.memoryBytes() / 2) {
      idle.addFirst(process);
    } else {
      process.end();
    }
  }

  private synchronized void checkOpen() {
    if (closed) {
      throw new DeviceException(Code.CLOSED, STOPPING);
    }
  }

  @Override
  public Set<String> confinement() {
    return confinement.names();
  }

  @Override
  public void close() {
    Launch used;
    synchronized (this) {
      closed = true;
      busy.forEach(process -> process.kill(Code.CLOSED, STOPPING));
      idle.forEach(CompilerProcess::end);
      idle.clear();
      used = launch;
      launch = null;
    }
    if (used != null) {
      LaunchFolder.delete(used.folder);
    }
  }

  static DeviceException cannotStart(IOException failure) {
    String why = String.valueOf(failure.getMessage());
    if (NO_PROCESS.matcher(why).find()) {
      return new DeviceException(
          Code.NO_THREAD,
          "a compiler process cannot be started: "
              + why.lines().findFirst().orElse("").strip()
              + "; raise the limit of processes and threads (pids.max, ulimit -u), or free some",
          failure);
    }
    return new DeviceException(
        Code.UNSUPPORTED,
        "a compiler process cannot be started: " + why + "; compile in this process instead",
        failure);
  }

  /**
   * How processes are started.
   *
   * @param folder their working directory, and the place for what they load
   */
  private record Launch(Path folder, List<String> command) {}
}
