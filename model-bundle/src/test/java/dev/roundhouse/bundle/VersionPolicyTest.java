package dev.roundhouse.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class VersionPolicyTest {
  private static final Path FOLDER = Path.of("m");
  private static final List<ModelFolder.Version> VERSIONS =
      List.of(version(1), version(3), version(20));

  @ParameterizedTest
  @CsvSource({
    "latest, 20",
    "latest:1, 20",
    "latest:2, 3 20",
    "latest:9, 1 3 20",
    "all, 1 3 20",
    "3, 3",
    "'20 , 1', 1 20",
    "'1,2', 1 2"
  })
  void shouldSelectWhatThePolicySays(String policy, String selected) {
    assertThat(VersionPolicy.parse(policy).select(FOLDER, VERSIONS))
        .extracting(version -> Long.toString(version.number()))
        .containsExactly(selected.split(" "));
  }

  @Test
  void shouldSayWhereAVersionShouldBeThatIsNotThere() {
    assertThat(VersionPolicy.parse("2").select(FOLDER, VERSIONS))
        .containsExactly(new ModelFolder.Version(2, FOLDER.resolve("2")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "newest", "latest:0", "latest:-1", "latest:", "0", "01", "1,", "1;2"})
  void shouldRefuseWhatIsNoPolicyAndSayWhatIs(String policy) {
    assertThatThrownBy(() -> VersionPolicy.parse(policy))
        .hasMessageContaining("version policy '" + policy + "'")
        .hasMessageContaining("latest:N");
  }

  private static ModelFolder.Version version(long number) {
    return new ModelFolder.Version(number, FOLDER.resolve(Long.toString(number)));
  }
}
