package dev.roundhouse.node.devices;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class NvidiaSmiTest {
  @TempDir Path folder;

  @Test
  void shouldReadUuidsAndMemory() throws Exception {
    NvidiaSmi smi =
        program(
            """
            case $1 in
              --query-gpu=uuid) printf 'GPU-a\\nGPU-b\\n' ;;
              --query-gpu=index,uuid,memory.used,memory.total) printf '0, GPU-a, 1, 16\\n1, GPU-b, [N/A], 16\\n' ;;
            esac
            """);
    assertThat(smi.ids()).containsExactly("GPU-a", "GPU-b");
    DeviceMemory memory = new DeviceMemory(1 << 20, 16 << 20);
    assertThat(smi.read(List.of("0", "GPU-a", "GPU-b")))
        .isEqualTo(Map.of("0", memory, "GPU-a", memory));
  }

  @Test
  void shouldFindNothingWhereItFailsOrIsMissing() throws Exception {
    assertThat(program("echo 'NVIDIA-SMI has failed'; exit 9").ids()).isEmpty();
    NvidiaSmi missing = new NvidiaSmi(folder.resolve("missing").toString(), Duration.ofSeconds(10));
    assertThat(missing.ids()).isEmpty();
    assertThat(missing.read(List.of("0"))).isEmpty();
  }

  @Test
  void shouldGiveUpOneThatHangs() throws Exception {
    Path script = script("exec sleep 3600");
    assertThat(new NvidiaSmi(script.toString(), Duration.ofMillis(50)).ids()).isEmpty();
  }

  @Test
  void shouldNumberTheDriversFiles() throws Exception {
    for (String name : List.of("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "null")) {
      Files.createFile(folder.resolve(name));
    }
    assertThat(new DeviceFiles(folder).ids()).containsExactly("2", "10");
    assertThat(new DeviceFiles(folder.resolve("missing")).ids()).isEmpty();
  }

  private NvidiaSmi program(String body) throws Exception {
    return new NvidiaSmi(script(body).toString(), Duration.ofSeconds(30));
  }

  private Path script(String body) throws Exception {
    Path script = Files.writeString(folder.resolve("nvidia-smi"), "#!/bin/sh\n" + body);
    return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
  }
}
