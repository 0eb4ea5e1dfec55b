package dev.roundhouse.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
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

  private Child start(String script) throws IOException {
    return Child.start(
        "floor", List.of("sh", "-c", script), Map.of("NAME", "floor"), folder.resolve("errors"));
  }
}
