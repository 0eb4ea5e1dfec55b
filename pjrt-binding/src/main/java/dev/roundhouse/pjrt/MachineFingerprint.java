package dev.roundhouse.pjrt;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Digest of what compiled code depends on besides the plugin: platform, device kind, CPU features,
 * the driver of a GPU.
 */
final class MachineFingerprint {
  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
  private static final Path NVIDIA_DRIVER = Path.of("/sys/module/nvidia/version");

  private MachineFingerprint() {}

  static byte[] of(String platform, String platformVersion, String deviceKind) {
    String text =
        String.join(
            "\n",
            platform,
            platformVersion,
            deviceKind,
            System.getProperty("os.arch"),
            cpu(),
            driver(platform));
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return Sha256.of(bytes, 0, bytes.length);
  }

  private static String driver(String platform) {
    if (!platform.equals(PluginOptions.CUDA) || !Files.isReadable(NVIDIA_DRIVER)) {
      return "";
    }
    try {
      return Files.readString(NVIDIA_DRIVER);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + NVIDIA_DRIVER, e);
    }
  }

  /** Model and features of the first processor, as the kernel reports them. */
  private static String cpu() {
    List<String> keys = List.of("model name", "flags", "Features", "CPU part");
    try (var lines = Files.lines(CPU_INFO)) {
      return String.join(
          "\n",
          lines
              .takeWhile(line -> !line.isEmpty())
              .filter(line -> keys.stream().anyMatch(line::startsWith))
              .toList());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + CPU_INFO, e);
    }
  }
}
