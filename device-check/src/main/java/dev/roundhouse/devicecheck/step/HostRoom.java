package dev.roundhouse.devicecheck.step;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** How much memory this machine has to give. */
final class HostRoom {
  private HostRoom() {}

  /** What the kernel says is available, in bytes. */
  static long bytes() throws IOException {
    return Files.readAllLines(Path.of("/proc/meminfo")).stream()
        .filter(line -> line.startsWith("MemAvailable:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
        .findFirst()
        .orElse(1L << 30);
  }
}
