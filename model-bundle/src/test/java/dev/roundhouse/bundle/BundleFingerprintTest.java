package dev.roundhouse.bundle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BundleFingerprintTest {
  private static final FileTime THEN = FileTime.from(Instant.parse("2026-01-01T00:00:00Z"));

  @TempDir Path root;
  private Path bundle;

  @BeforeEach
  void write() throws IOException {
    bundle = root.resolve("bundle");
    Files.createDirectories(bundle.resolve("assets"));
    write("manifest.yaml", "kind: model");
    write("assets/labels.txt", "a");
  }

  @Test
  void shouldStayTheSameWhileNothingChanges() throws IOException {
    String before = BundleFingerprint.of(bundle);
    Files.writeString(bundle.resolve(".nfs0001"), "hidden");
    assertThat(BundleFingerprint.of(bundle)).isEqualTo(before);
  }

  @Test
  void shouldChangeWithSizeTimeAndNameOfAnyFile() throws IOException {
    String before = BundleFingerprint.of(bundle);
    write("assets/labels.txt", "ab");
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(before);
    Files.setLastModifiedTime(
        bundle.resolve("assets/labels.txt"), FileTime.fromMillis(THEN.toMillis() + 1));
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(before);
    write("assets/labels.txt", "a");
    Files.move(bundle.resolve("assets/labels.txt"), bundle.resolve("assets/other.txt"));
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(before);
  }

  @Test
  void shouldChangeWhenAFileIsWrittenAnewWithItsSizeAndTimeKept() throws Exception {
    String before = BundleFingerprint.of(bundle);
    TimeUnit.MILLISECONDS.sleep(20); // the time of an inode is that of a tick of the kernel
    write("assets/labels.txt", "b");
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(before);
  }

  @Test
  void shouldChangeWhenAFileOfTheSameSizeAndTimeIsPutInAnothersPlace() throws IOException {
    String before = BundleFingerprint.of(bundle);
    write("assets/.new", "b");
    Files.move(
        bundle.resolve("assets/.new"),
        bundle.resolve("assets/labels.txt"),
        StandardCopyOption.REPLACE_EXISTING);
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(before);
  }

  @Test
  void shouldNameTheFoldersToListenTo() throws IOException {
    Files.createDirectories(bundle.resolve(".git"));
    assertThat(BundleFingerprint.look(bundle).folders())
        .containsExactly(bundle.toRealPath(), bundle.toRealPath().resolve("assets"));
  }

  @Test
  void shouldChangeWithAProgramForOnePlatform() throws IOException {
    write("model.mlir", "x");
    String without = BundleFingerprint.of(bundle);
    write("model.cpu.mlir", "x");
    String with = BundleFingerprint.of(bundle);
    assertThat(with).isNotEqualTo(without);
    write("model.cpu.mlir", "xy");
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(with).isNotEqualTo(without);
  }

  @Test
  void shouldChangeWhenALinkLeadsElsewhereEvenToATwin() throws IOException {
    write("a.mlir", "x");
    write("b.mlir", "x");
    Path link = Files.createSymbolicLink(bundle.resolve("model.mlir"), Path.of("a.mlir"));
    String before = BundleFingerprint.of(bundle);
    Files.delete(link);
    Files.createSymbolicLink(link, Path.of("b.mlir"));
    String swapped = BundleFingerprint.of(bundle);
    assertThat(swapped).isNotEqualTo(before);
    Files.delete(bundle.resolve("b.mlir"));
    assertThat(BundleFingerprint.of(bundle)).isNotEqualTo(swapped);
  }

  @Test
  void shouldChangeWhenTheFolderItselfIsALinkThatIsSwapped() throws IOException {
    Path twin = root.resolve("twin");
    Files.createDirectories(twin.resolve("assets"));
    for (String file : new String[] {"manifest.yaml", "assets/labels.txt"}) {
      Files.copy(bundle.resolve(file), twin.resolve(file));
      Files.setLastModifiedTime(twin.resolve(file), THEN);
    }
    Path link = Files.createSymbolicLink(root.resolve("model"), bundle);
    String before = BundleFingerprint.of(link);
    assertThat(before).isEqualTo(BundleFingerprint.of(bundle));
    Files.delete(link);
    Files.createSymbolicLink(link, twin);
    assertThat(BundleFingerprint.of(link)).isNotEqualTo(before);
  }

  @Test
  void shouldFailWhenThereIsNothingToLookAt() {
    assertThatThrownBy(() -> BundleFingerprint.of(root.resolve("none")))
        .isInstanceOf(NoSuchFileException.class);
  }

  private void write(String name, String content) throws IOException {
    Files.writeString(bundle.resolve(name), content);
    Files.setLastModifiedTime(bundle.resolve(name), THEN);
  }
}
