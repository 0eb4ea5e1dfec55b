package dev.roundhouse.benchmarks.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RepositoryRootTest {
  @TempDir Path folder;

  @BeforeEach
  void makeRepository() throws IOException {
    Path tool = Files.createDirectories(folder.resolve("tools/pjrt-plugin"));
    Files.createFile(tool.resolve("fetch"));
  }

  @Test
  void shouldWalkUpFromTheJarWhenNoVariableIsSet() {
    assertThat(RepositoryRoot.find(null, folder.resolve("target/run/benchmarks.jar")).path())
        .isEqualTo(folder);
  }

  @Test
  void shouldTakeTheVariableWhenItIsSet() {
    assertThat(RepositoryRoot.find(folder.toString(), Path.of("/")).path()).isEqualTo(folder);
  }

  @Test
  void shouldSayWhatToSetWhenTheFolderIsNotARepository() {
    assertThatThrownBy(() -> RepositoryRoot.find("/", folder))
        .hasMessageContaining("ROUNDHOUSE_HOME is /");
    assertThatThrownBy(() -> RepositoryRoot.find(null, Path.of("/")))
        .hasMessageContaining("set ROUNDHOUSE_HOME");
  }

  @Test
  void shouldSayHowToBuildWhenAProgramIsMissing() {
    RepositoryRoot root = new RepositoryRoot(folder);
    assertThatThrownBy(() -> root.pjrtFloor())
        .hasMessageContaining("measure/target/native/pjrt_floor is missing; build it: mvn");
    assertThatThrownBy(root::workerJar).hasMessageContaining("is missing; build it: mvn");
  }

  @Test
  void shouldRefuseToChooseWhenThereAreTwoWorkers() throws IOException {
    Path target = Files.createDirectories(folder.resolve("worker-service/target"));
    Path jar = Files.createFile(target.resolve("worker-service-0.1.0.jar"));
    Files.createFile(target.resolve("worker-service-0.1.0-tests.jar"));
    RepositoryRoot root = new RepositoryRoot(folder);
    assertThat(root.workerJar()).isEqualTo(jar);
    Files.createFile(target.resolve("worker-service-0.2.0.jar"));
    assertThatThrownBy(root::workerJar).hasMessageContaining("worker-service-0.2.0.jar");
  }
}
