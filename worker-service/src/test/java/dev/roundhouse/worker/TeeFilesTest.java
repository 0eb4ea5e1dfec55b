package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.tee.Tee;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Batches as files, and settings by which nobody could have them. */
@Timeout(120)
class TeeFilesTest {
  @TempDir Path repository;
  @TempDir Path folder;

  @Test
  void shouldWriteFilesAndKeepTheirFolderSmall() throws Exception {
    Path files = Files.createDirectory(folder.resolve("files"));
    Files.writeString(files.resolve("mine.safetensors"), "x".repeat(10_000));
    Files.writeString(files.resolve("double.1700000000000-000000000.safetensors.part"), "torn");
    Path old = files.resolve("double.1700000000000-000000000.safetensors");
    Files.writeString(old, "x".repeat(600));
    try (TeedWorker worker =
        TeedWorker.start(
            repository,
            "--roundhouse.worker.tee.port=-1",
            "--roundhouse.worker.tee.folder=" + files,
            "--roundhouse.worker.tee.folder-size=2KB")) {
      TeedWorker.await(
          () -> {
            worker.ask(1, 2);
            return worker.running().bean(Tee.class).filesWritten() == 8;
          });
      assertThat(old).doesNotExist();
    }
    List<Path> written;
    try (Stream<Path> there = Files.list(files)) {
      written = there.sorted().toList();
    }
    assertThat(files.resolve("mine.safetensors")).hasSize(10_000);
    long bytes = 0;
    for (Path each : written) {
      assertThat(each.getFileName().toString()).endsWith(".safetensors");
      bytes += each.endsWith("mine.safetensors") ? 0 : Files.size(each);
    }
    assertThat(written.size()).isBetween(3, 7); // of eight, and the one that is not ours
    assertThat(bytes).isLessThanOrEqualTo(2048);
    ByteBuffer file =
        ByteBuffer.wrap(Files.readAllBytes(written.getFirst())).order(ByteOrder.LITTLE_ENDIAN);
    int header = (int) file.getLong();
    byte[] json = new byte[header];
    file.get(json);
    assertThat(new String(json, StandardCharsets.UTF_8).strip())
        .contains("\"model\":\"double\"", "\"version\":\"1\"", "\"generation\":\"1\"")
        .endsWith(
            "\"inputs/x\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[0,32]},"
                + "\"outputs/y\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[32,64]}}");
    assertThat(file.remaining()).isEqualTo(64);
    assertThat(file.getFloat()).isEqualTo(1);
    assertThat(file.getFloat(file.position() + 28)).isEqualTo(2);
    assertThat((8 + header) % 64).isZero();
  }

  @Test
  void shouldRefuseToStartWhenNobodyCouldHaveTheCopies() {
    assertThatThrownBy(() -> TeedWorker.start(repository, "--roundhouse.worker.tee.port=-1"))
        .rootCause()
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("nobody could have the copies");
    assertThatThrownBy(
            () ->
                TeedWorker.start(
                    repository, "--roundhouse.worker.tee.folder=" + folder.resolve("none")))
        .rootCause()
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("no such folder");
    assertThatThrownBy(() -> TeedWorker.start(repository, "--roundhouse.worker.tee.models="))
        .rootCause()
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("tee.models chooses none");
  }
}
