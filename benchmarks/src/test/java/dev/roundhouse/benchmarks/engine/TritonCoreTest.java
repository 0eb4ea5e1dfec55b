package dev.roundhouse.benchmarks.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.benchmarks.bench.RepositoryRoot;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(architectures = "amd64")
class TritonCoreTest {
  @TempDir Path folder;

  @Test
  void shouldSayHowToFetchItWhenTheCoreIsMissing() {
    assertThatThrownBy(() -> find())
        .isInstanceOf(PeerAbsentException.class)
        .hasMessageContaining("libtritonserver.so is missing; fetch it: mvn");
  }

  @Test
  void shouldNameThePackagesWhenALibraryIsMissing() throws Exception {
    installCore("echo absent libnuma.so.1: cannot open shared object file");
    assertThatThrownBy(() -> find())
        .isInstanceOf(PeerAbsentException.class)
        .hasMessageContaining("(libnuma.so.1: cannot open shared object file)")
        .hasMessageContaining("apt-get install -y libnuma1 libcurl4 libxml2");
  }

  @Test
  void shouldChooseTheSetupThatIsFasterHere() throws Exception {
    // Arguments: CORE REPOSITORY BACKENDS MODELS BATCHING REQUESTS
    installCore(
        """
        [ $# -gt 1 ] || { echo present; exit; }
        echo ready start_us=1 rss_kb=2 threads=3
        [ "$5" = dynamic ] && done=900 || done=100
        while read -r line; do
          echo requests=$done wall_ns=1000000 cpu_ns=1000000 p50_ns=0 p99_ns=0
        done
        """);
    TritonCore.Choice choice = find().fastest(1, 64);
    try (Side side = choice.side()) {
      assertThat(choice.setup()).isEqualTo(new TritonCore.Setup(true, false));
      assertThat(side.start().get("threads")).isEqualTo(3);
    }
  }

  private TritonCore find() throws Exception {
    return TritonCore.find(new RepositoryRoot(folder), new Scratch(folder));
  }

  private void installCore(String script) throws Exception {
    Path library = folder.resolve("benchmarks/target/triton/libtritonserver.so");
    Files.createDirectories(library.getParent());
    Files.createFile(library);
    Path program = folder.resolve("benchmarks/target/native/triton/triton_floor");
    Files.createDirectories(program.getParent());
    Files.writeString(program, "#!/bin/sh\n" + script + "\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
  }
}
