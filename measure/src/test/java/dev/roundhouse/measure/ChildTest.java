package dev.roundhouse.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChildTest {
  @TempDir Path folder;

  @Test
  void shouldAnswerLineByLineWhenAsked() throws IOException {
    try (Child child =
        start("echo starting; echo ready $NAME; while read n; do echo $((n+1)); done")) {
      assertThat(child.awaitLine("ready ")).isEqualTo("floor");
      assertThat(child.ask("41")).isEqualTo("42");
      assertThat(child.ask("7")).isEqualTo("8");
      assertThat(child.cpu().isNegative()).isFalse();
    }
  }

  @Test
  void shouldShowItsLastLinesWhenItEndsTooEarly() throws IOException {
    try (Child child = start("echo started; echo no plugin here >&2")) {
      assertThatThrownBy(() -> child.awaitLine("ready "))
          .hasMessageContaining("floor ended before it printed 'ready '")
          .hasMessageContaining("started")
          .hasMessageContaining("no plugin here");
    }
  }

  @Test
  void shouldEndTheProcessWhenItIgnoresItsInput() throws IOException {
    Child child = start("echo pid $$; exec sleep 600");
    long pid = Long.parseLong(child.awaitLine("pid "));
    child.close();
    assertThat(ProcessHandle.of(pid).filter(ProcessHandle::isAlive)).isEmpty();
  }

  @Test
  void shouldEndWhatItsChildHasStartedWhenTheJvmIsTerminated() throws Exception {
    Process jvm =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Starter.class.getName(),
                folder.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      long grandchild = Long.parseLong(jvm.inputReader().readLine());
      assertThat(runs(grandchild)).isTrue();
      jvm.destroy();
      jvm.waitFor();
      long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (runs(grandchild) && System.nanoTime() < end) {
        Thread.onSpinWait();
      }
      assertThat(runs(grandchild)).isFalse();
    } finally {
      jvm.destroyForcibly();
    }
  }

  /** False of one that has ended and that nobody has waited for, too. */
  private static boolean runs(long pid) throws IOException {
    try {
      String state = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      return state.charAt(state.lastIndexOf(')') + 2) != 'Z';
    } catch (NoSuchFileException ended) {
      return false;
    }
  }

  /** A program with a child that has a child of its own, whose id it prints. */
  static final class Starter {
    public static void main(String[] folder) throws Exception {
      Child child =
          Child.start(
              "master",
              List.of("sh", "-c", "sleep 600 & echo worker $!; wait"),
              Map.of(),
              Path.of(folder[0], "errors"));
      System.out.println(child.awaitLine("worker "));
      Thread.currentThread().join();
    }
  }

  private Child start(String script) throws IOException {
    return Child.start(
        "floor", List.of("sh", "-c", script), Map.of("NAME", "floor"), folder.resolve("errors"));
  }
}
