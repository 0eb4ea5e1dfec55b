package dev.roundhouse.benchmarks.serving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.benchmarks.serving.TritonModel.Batching;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TritonServerTest {
  private static final RowModel MODEL = RowModel.COPY_FOUR_KIB;

  @TempDir Path folder;
  private TritonInstallation triton;

  @BeforeEach
  void install() throws IOException {
    Path server = folder.resolve("server");
    Files.createDirectories(server.resolve("pytriton/tritonserver/backends/python"));
    Files.createDirectories(server.resolve("pytriton/tritonserver/bin"));
    Path ours = Files.createDirectory(folder.resolve("ours"));
    Files.createDirectory(ours.resolve("identity"));
    triton = new TritonInstallation(server, ours);
  }

  @Test
  void shouldShowTheLastLinesOfAServerThatEnds() throws IOException {
    program("echo no room for models >&2; exit 3");
    assertThatThrownBy(() -> start(TritonModel.identity(MODEL, "identity", Batching.OFF)))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Triton does not serve")
        .hasMessageContaining("no room for models");
  }

  @Test
  void shouldGiveItEveryModelAndBackend() throws IOException {
    program("find \"${1#--model-repository=}\" \"${2#--backend-directory=}\" >&2; exit 3");
    assertThatThrownBy(
            () ->
                start(
                    TritonModel.identity(MODEL, "identity", Batching.DYNAMIC),
                    TritonModel.identity(MODEL, "python", Batching.OFF)))
        .hasMessageContaining("models/identity-4096-identity-dynamic/config.pbtxt")
        .hasMessageContaining("models/identity-4096-python-off/1/model.py")
        .hasMessageContaining("backends/identity")
        .hasMessageContaining("backends/python");
  }

  @Test
  void shouldConfigureBatchingWhenAskedTo() {
    TritonModel off = TritonModel.identity(MODEL, "identity", Batching.OFF);
    TritonModel dynamic = TritonModel.identity(MODEL, "identity", Batching.DYNAMIC);
    assertThat(off.configuration())
        .contains("backend: \"identity\"", "dims: [1024]", "max_batch_size: 64")
        .doesNotContain("dynamic_batching");
    assertThat(dynamic.configuration())
        .contains("dynamic_batching { preferred_batch_size: [16, 64] }");
    assertThat(List.of(off.setup(), dynamic.setup()))
        .containsExactly("C backend", "C backend, dynamic batching");
    assertThat(dynamic.serves(MODEL)).isTrue();
    assertThat(dynamic.serves(new RowModel(40, List.of(1), RowModel.Work.COPY))).isFalse();
  }

  private void start(TritonModel... models) throws IOException {
    TritonServer.start(triton, folder, List.of(models)).close();
  }

  private void program(String script) throws IOException {
    Files.writeString(triton.program(), "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(triton.program(), PosixFilePermissions.fromString("rwx------"));
  }
}
