package dev.roundhouse.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MisplacedTest {
  @TempDir Path root;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "m/manifest.yml     | is no bundle: rename manifest.yml to manifest.yaml",
        "m/Manifest.yaml    | is no bundle: rename Manifest.yaml to manifest.yaml",
        "m/config.pbtxt     | convert it by ./roundhouse import, or serve its repository by",
        "m/01/manifest.yaml | has a version folder '01', which is no number from 1 without",
        "m/0/manifest.yaml  | has a version folder '0', which is no number from 1 without",
        "m/n/manifest.yaml  | is no bundle: it has no manifest.yaml, but 'n' in it is one; move that up, or"
      })
  void shouldListTheFolderAndSayWhatToDo(String file, String words) throws IOException {
    touch(file);
    Path folder = root.resolve("m");
    assertThat(Repository.list(root)).containsExactly(folder);
    assertThat(ModelFolder.versions(folder)).containsExactly(new ModelFolder.Version(1, folder));
    assertThatThrownBy(() -> BundleReader.read(folder))
        .isInstanceOf(BundleException.class)
        .hasMessageStartingWith(folder.toRealPath() + ": ")
        .hasMessageContaining(words);
  }

  @Test
  void shouldSayItOfAVersionToo() throws IOException {
    touch("m/1/manifest.yaml");
    touch("m/2/manifest.yml");
    assertThat(ModelFolder.versions(root.resolve("m")))
        .extracting(ModelFolder.Version::number)
        .containsExactly(1L, 2L);
    assertThatThrownBy(() -> BundleReader.read(root.resolve("m/2"), "m"))
        .hasMessageContaining("rename manifest.yml");
  }

  @Test
  void shouldIgnoreFoldersThatHoldNoModel() throws IOException {
    for (String file : List.of("a/readme.txt", "b/c/d/manifest.yaml", "e/.git/manifest.yaml")) {
      touch(file);
    }
    assertThat(Repository.list(root)).isEmpty();
  }

  @Test
  void shouldIgnoreWhatDesktopsLeaveInABundle() throws IOException {
    Path folder =
        BundleFolder.format3(root.resolve("m"), "")
            .file("model.mlir", BundleFolder.PROGRAM)
            .write();
    String fingerprint = BundleFingerprint.of(folder);
    for (String name : List.of("Thumbs.db", ".DS_Store", "desktop.ini", "._model.mlir")) {
      touch("m/" + name);
    }
    assertThat(BundleFingerprint.of(folder)).isEqualTo(fingerprint);
    try (Bundle bundle = BundleReader.read(folder)) {
      assertThat(bundle.programs("cpu")).hasSize(1);
    }
  }

  private void touch(String file) throws IOException {
    Path path = root.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, "");
  }
}
