package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceContractTest;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** A device of the platform {@code cuda}: memory of its own, pinned host memory. */
class FakeCudaContractTest extends DeviceContractTest {
  @TempDir private static Path folder;
  private static Path plugin;

  @BeforeAll
  static void buildPlugin() {
    plugin = FakeCudaPlugin.build(folder.resolve("fake_cuda.so"));
  }

  @Override
  protected Device openDevice() {
    return FakeCudaPlugin.open(plugin);
  }
}
