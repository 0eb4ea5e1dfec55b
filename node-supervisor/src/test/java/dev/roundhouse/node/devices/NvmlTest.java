package dev.roundhouse.node.devices;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a small library with NVML's functions: two GPUs, and one that cannot be opened. */
class NvmlTest {
  private static final String LIBRARY =
      """
      #include <stdlib.h>
      #include <string.h>
      typedef struct { int number; const char *uuid; unsigned long long total, used; } gpu;
      typedef struct { unsigned long long total, free, used; } memory;
      static gpu gpus[] = {{0, "GPU-first", 1000, 150}, {1, "GPU-second", 80ull << 30, 79ull << 30}};
      static int started;
      int nvmlInit_v2(void) { if (getenv("NVML_BROKEN")) return 9; started = 1; return 0; }
      int nvmlShutdown(void) { started = 0; return 0; }
      int nvmlDeviceGetCount_v2(unsigned *count) { if (!started) return 1; *count = 3; return 0; }
      int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **device) {
        if (!started || index > 1) return 15;
        *device = &gpus[index];
        return 0;
      }
      int nvmlDeviceGetHandleByUUID(const char *uuid, gpu **device) {
        for (int i = 0; i < 2; i++) if (!strcmp(gpus[i].uuid, uuid)) { *device = &gpus[i]; return 0; }
        return 6;
      }
      int nvmlDeviceGetUUID(gpu *device, char *uuid, unsigned length) {
        if (strlen(device->uuid) >= length) return 7;
        strcpy(uuid, device->uuid);
        return 0;
      }
      int nvmlDeviceGetMemoryInfo(gpu *device, memory *info) {
        info->total = device->total;
        info->used = device->used;
        info->free = device->total - device->used;
        return 0;
      }
      """;

  @TempDir static Path folder;
  private static String library = "";

  @BeforeAll
  static void build() throws Exception {
    Path source = Files.writeString(folder.resolve("nvml.c"), LIBRARY);
    Path built = folder.resolve("libnvidia-ml.so.1");
    try {
      Process compiler =
          new ProcessBuilder("gcc", "-shared", "-fPIC", "-o", built.toString(), source.toString())
              .inheritIO()
              .start();
      assertThat(compiler.waitFor()).isZero();
    } catch (IOException noCompiler) {
      assumeTrue(false, "SKIPPED: there is no gcc to build a stand-in for NVML with");
    }
    library = built.toString();
  }

  @Test
  void shouldNameTheGpusThatCanBeOpened() {
    try (Nvml nvml = Nvml.open(library).orElseThrow()) {
      assertThat(nvml.ids()).containsExactly("GPU-first", "GPU-second");
    }
  }

  @Test
  void shouldReadMemoryByNumberAndByUuid() {
    try (Nvml nvml = Nvml.open(library).orElseThrow()) {
      assertThat(nvml.read(List.of("0", "GPU-second", "2", "GPU-third")))
          .isEqualTo(
              Map.of(
                  "0", new DeviceMemory(150, 1000),
                  "GPU-second", new DeviceMemory(79L << 30, 80L << 30)));
    }
  }

  @Test
  void shouldFindNothingOnceClosed() {
    Nvml nvml = Nvml.open(library).orElseThrow();
    nvml.close();
    nvml.close();
    assertThat(nvml.ids()).isEmpty();
    assertThat(nvml.read(List.of("0"))).isEmpty();
  }

  @Test
  void shouldDoWithoutALibraryThatIsNotThereOrIsAnother() throws Exception {
    assertThat(Nvml.open(folder.resolve("missing.so").toString())).isEmpty();
    assertThat(Nvml.open("libc.so.6")).isEmpty();
  }
}
