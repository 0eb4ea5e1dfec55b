package dev.roundhouse.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CommandTest {

  @Test
  void shouldRunTheNamedBenchWhenOptionsFollow() {
    assertThat(Command.parse("first-light", "--quick", "--json"))
        .isEqualTo(new Command.Run(Catalogue.named("first-light"), true, true, null));
  }

  @Test
  void shouldListWhenAsked() {
    assertThat(Command.parse("list")).isInstanceOf(Command.ListBenches.class);
    assertThat(Catalogue.list())
        .contains(
            "first-light", "jni-execute", "model-infer-4k", "engine-density", "residency-hit-rate");
  }

  @Test
  void shouldHelpWhateverElseIsAsked() {
    assertThat(Command.parse("--quick", "--help", "nothing")).isInstanceOf(Command.Help.class);
  }

  @Test
  void shouldNameTheBenchesWhenThereIsNoneOfThatName() {
    assertThatThrownBy(() -> Command.parse("fist-light"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'fist-light'")
        .hasMessageContaining("first-light, jni-execute, model-infer-4k");
  }

  @Test
  void shouldRefuseWhenAnOptionIsUnknown() {
    assertThatThrownBy(() -> Command.parse("first-light", "--fast"))
        .hasMessageContaining("'--fast'")
        .hasMessageContaining("--quick");
  }

  @Test
  void shouldTakeTheWorkerOfAnotherBuildWhereTheBenchComparesBuilds(@TempDir Path folder)
      throws IOException {
    Path jar = Files.createFile(folder.resolve("worker.jar"));
    assertThat(Command.parse("wire-rest", "--before=" + jar))
        .isEqualTo(new Command.Run(Catalogue.named("wire-rest"), false, false, jar));
    assertThatThrownBy(() -> Command.parse("engine", "--before=" + jar))
        .hasMessageContaining("engine does not compare builds");
    assertThatThrownBy(() -> Command.parse("wire-rest", "--before=" + folder))
        .hasMessageContaining("which is no file");
  }

  @Test
  void shouldRefuseWhenNoOrTwoNamesAreGiven() {
    assertThatThrownBy(() -> Command.parse("--json")).hasMessageContaining("name a bench");
    assertThatThrownBy(() -> Command.parse("jni-execute", "first-light"))
        .hasMessageContaining("one bench at a time");
  }
}
