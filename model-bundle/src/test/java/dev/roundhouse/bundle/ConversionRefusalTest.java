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

class ConversionRefusalTest {
  @TempDir Path root;

  private Path refused(String name, String text) throws IOException {
    Path folder = Files.createDirectories(root.resolve(name));
    Files.writeString(folder.resolve("refused.txt"), text);
    return folder;
  }

  private static BundleException reading(Path folder) {
    try (Bundle bundle = BundleReader.read(folder)) {
      throw new AssertionError(bundle.directory() + " was read");
    } catch (BundleException e) {
      return e;
    }
  }

  @Test
  void shouldListTheModelAndSayTheReasonWhenAConverterRefusedIt() throws IOException {
    Path folder = refused("resnet", "config.pbtxt: backend 'dali' is not served\nline two\n");
    assertThat(Repository.list(root)).containsExactly(folder);
    assertThat(ModelFolder.versions(folder)).containsExactly(new ModelFolder.Version(1, folder));
    assertThat(reading(folder))
        .hasMessage(
            folder.toRealPath().resolve("refused.txt")
                + ": config.pbtxt: backend 'dali' is not served");
  }

  @Test
  void shouldListARefusedVersionBesideOthers() throws IOException {
    BundleFolder.format2(root.resolve("m/1"), "").file("model.mlir", "x").write();
    Path second = refused("m/2", "no such backend");
    assertThat(ModelFolder.versions(root.resolve("m")))
        .extracting(ModelFolder.Version::number)
        .containsExactly(1L, 2L);
    assertThat(reading(second).reasons()).isEqualTo(List.of("no such backend"));
  }

  @Test
  void shouldReadTheBundleWhenOneIsThereAfterAll() throws IOException {
    refused("m", "no");
    Path bundle =
        BundleFolder.format2(root.resolve("m"), "")
            .file("model.mlir", BundleFolder.PROGRAM)
            .write();
    try (Bundle read = BundleReader.read(bundle)) {
      assertThat(read.programs("cpu")).hasSize(1);
    }
  }

  @Test
  void shouldKeepTheReasonToOneBoundedLineWhateverTheFileHolds() throws IOException {
    assertThat(reading(refused("long", "\uD83D\uDE00".repeat(1_001))).reasons())
        .containsExactly("\uD83D\uDE00".repeat(1_000) + "...");
    assertThat(reading(refused("whole", "x".repeat(1_000))).reasons())
        .containsExactly("x".repeat(1_000));
    assertThat(
            reading(refused("controls", "\uFEFFa\u001b[31m\tb\u0000c\u0085\u2028d\r\nd")).reasons())
        .containsExactly("a [31m b c d");
    assertThat(reading(refused("empty", "\nlate")).reasons().getFirst())
        .contains("its first line, the reason, is empty");
  }

  @Test
  void shouldNotReadThroughALinkThatLeadsOut() throws IOException {
    Path secret = Files.writeString(root.resolve("secret"), "password");
    Path folder = Files.createDirectory(root.resolve("m"));
    Files.createSymbolicLink(folder.resolve("refused.txt"), secret);
    assertThatThrownBy(() -> BundleReader.read(folder))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("is a link that leads out of the bundle")
        .hasMessageNotContaining("password");
  }
}
