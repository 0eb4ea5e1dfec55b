package dev.roundhouse.platform.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClientTextTest {
  @TempDir private Path folder;

  @Test
  void shouldTakeOutEverySpellingOfAFolder() throws Exception {
    Path real = Files.createDirectories(folder.resolve("my models"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), real);
    ClientText texts = new ClientText(List.of(link, Path.of("/")));

    assertThat(texts.of(link + "/m/manifest.yaml: is empty"))
        .isEqualTo("m/manifest.yaml: is empty");
    assertThat(texts.of("in " + real + "/m/weights and " + link + "/n"))
        .isEqualTo("in m/weights and n");
    assertThat(texts.of("input '/a/b' of model '/c'")).isEqualTo("input '/a/b' of model '/c'");
  }
}
