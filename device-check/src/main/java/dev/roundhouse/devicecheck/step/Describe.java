package dev.roundhouse.devicecheck.step;

import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.pjrt.PjrtDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.TreeMap;

/** What the device, its plugin and this machine say of themselves. */
public final class Describe implements Step {
  private static final Path NVIDIA_DRIVER = Path.of("/proc/driver/nvidia/version");

  @Override
  public String name() {
    return "describe";
  }

  @Override
  public String about() {
    return "device, memory, plugin and machine";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(40);
  }

  @Override
  public void run(CheckContext context, Findings findings) throws IOException {
    machine(findings);
    try (PjrtDevice device = context.openDevice()) {
      DeviceDescription description = device.description();
      findings.fact("platform", description.platform());
      findings.fact("device", description.kind());
      new TreeMap<>(description.attributes()).forEach(findings::fact);
      DeviceMemory memory = device.memory();
      bytes(findings, "memory limit", memory.limit());
      bytes(findings, "memory in use after opening", memory.inUse());
    }
  }

  private static void machine(Findings findings) throws IOException {
    findings.fact("processor", cpuinfo("model name"));
    findings.figure("processors", Runtime.getRuntime().availableProcessors(), "", "");
    findings.fact("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    findings.fact("java", System.getProperty("java.runtime.version"));
    if (Files.isReadable(NVIDIA_DRIVER)) {
      findings.fact("driver", Files.readString(NVIDIA_DRIVER).lines().findFirst().orElse(""));
    }
  }

  private static String cpuinfo(String key) throws IOException {
    return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
        .filter(line -> line.startsWith(key))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .findFirst()
        .orElse("unknown");
  }

  private static void bytes(Findings findings, String what, OptionalLong bytes) {
    if (bytes.isPresent()) {
      findings.figure(what, bytes.getAsLong() / 1048576.0, "MiB", "");
    } else {
      findings.notMeasured(what, "the plugin does not count it");
    }
  }
}
