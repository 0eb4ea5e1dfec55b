package dev.roundhouse.node.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real processes. */
@Timeout(300)
class OsProcessesTest {
  @TempDir Path folder;
  private final ByteArrayOutputStream log = new ByteArrayOutputStream();
  private final OsProcesses processes = new OsProcesses(log, 1000, LineForm::behind);
  private final CompletableFuture<Integer> exit = new CompletableFuture<>();

  @Test
  void shouldGiveArgumentsAndVariablesAsTheyAre() throws Exception {
    processes.start(
        "w",
        new ProcessSpec(
            List.of("sh", "-c", "printf '%s|' \"$@\" \"$VARIABLE\"; exit 3", "sh", "$HOME", "a b"),
            Map.of("VARIABLE", "of \"its\" own")),
        exit::complete);
    assertThat(exit.get(60, TimeUnit.SECONDS)).isEqualTo(3);
    await(() -> logged().equals("[w] $HOME|a b|of \"its\" own|\n"));
  }

  @Test
  void shouldTellTheSignalThatEndedIt() throws Exception {
    ChildProcess child =
        processes.start("w", new ProcessSpec(List.of("sleep", "3600"), Map.of()), exit::complete);
    child.kill();
    assertThat(exit.get(60, TimeUnit.SECONDS)).isEqualTo(128 + 9);
  }

  @Test
  void shouldLogWhatAProcessSaysAfterItWasToldToEnd() throws Exception {
    ChildProcess child =
        processes.start(
            "w",
            new ProcessSpec(
                List.of(
                    "sh",
                    "-c",
                    "trap 'echo last words >&2; exit 7' TERM; echo up; while :; do sleep 0.05; done"),
                Map.of()),
            exit::complete);
    await(() -> logged().contains("[w] up\n"));
    child.terminate();
    assertThat(exit.get(60, TimeUnit.SECONDS)).isEqualTo(7);
    await(() -> logged().endsWith("[w] last words\n"));
  }

  @Test
  void shouldNeverHoldUpAProcessThatWritesMuch() throws Exception {
    // a line of 16 MiB, which no pipe holds
    processes.start(
        "w",
        new ProcessSpec(
            List.of("sh", "-c", "head -c 16777216 /dev/zero | tr '\\\\0' x; echo; echo done"),
            Map.of()),
        exit::complete);
    assertThat(exit.get(120, TimeUnit.SECONDS)).isZero();
    await(() -> logged().endsWith("[w] done\n"));
    assertThat(logged())
        .hasSize("[w] ".length() + 1000 + " [cut]\n".length() + "[w] done\n".length());
  }

  @Test
  void shouldLeaveNoOrphanWhenTheSupervisorIsKilled() throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(SupervisorMain.java(SupervisorMain.class, List.of(folder.toString())));
    Process supervisor =
        builder.redirectErrorStream(true).redirectOutput(folder.resolve("log").toFile()).start();
    try {
      await(() -> exists("stops.pid") && exists("hangs.pid"));
      List<ProcessHandle> children = supervisor.toHandle().children().toList();
      assertThat(children.stream().map(ProcessHandle::pid))
          .containsExactlyInAnyOrder(pid("stops"), pid("hangs"));

      long killed = System.nanoTime();
      supervisor.destroyForcibly(); // SIGKILL
      await(() -> exists("stops.stopped"));
      long stopped = System.nanoTime();
      for (ProcessHandle child : children) {
        child.onExit().get(120, TimeUnit.SECONDS);
      }
      System.out.printf(
          "killed supervisor: its child's shutdown hook had run after %d ms, one that hangs was gone after %d ms%n",
          TimeUnit.NANOSECONDS.toMillis(stopped - killed),
          TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killed));
    } finally {
      supervisor.descendants().forEach(ProcessHandle::destroyForcibly);
      supervisor.destroyForcibly();
      for (String name : List.of("stops", "hangs")) {
        if (exists(name + ".pid")) {
          ProcessHandle.of(pid(name)).ifPresent(ProcessHandle::destroyForcibly);
        }
      }
    }
  }

  private long pid(String name) throws Exception {
    return Long.parseLong(Files.readString(folder.resolve(name + ".pid")));
  }

  private boolean exists(String name) {
    return Files.exists(folder.resolve(name));
  }

  private String logged() {
    return log.toString(StandardCharsets.UTF_8);
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + Duration.ofSeconds(120).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - end).as("nanoseconds beyond the deadline").isNegative();
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
  }
}
