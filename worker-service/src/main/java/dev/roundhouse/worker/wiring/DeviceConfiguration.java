package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import dev.roundhouse.pjrt.PluginOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.DeviceProperties;
import dev.roundhouse.worker.config.WorkerProperties;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.unit.DataSize;

/** Opens the device; tests replace it. */
@Configuration(proxyBeanMethods = false)
class DeviceConfiguration {

  /** Closed by the engine's lifecycle, unless a compile that hangs still uses it. */
  @Bean(destroyMethod = "")
  @ConditionalOnMissingBean
  Device device(WorkerProperties properties) {
    ResidencySettings.check(properties);
    try {
      PjrtDevice device = PjrtDevice.open(options(properties));
      try {
        CompilerOptions.check(properties.compile().options(), device);
      } catch (StartRefusedException refusal) {
        device.close();
        throw refusal;
      }
      return device;
    } catch (DeviceException refusal) {
      throw new StartRefusedException(
          "The device could not be opened: " + refusal.getMessage(),
          "Check roundhouse.worker.device.*; `./roundhouse doctor` says what is missing here.",
          refusal);
    }
  }

  static PjrtDeviceOptions options(WorkerProperties properties) {
    DeviceProperties device = properties.device();
    Integer threads = device.cpu().threads();
    DataSize limit = properties.compile().maxProgramMemory();
    return new PjrtDeviceOptions(
        new PluginOptions(
            device.platform(),
            path(device.plugin()),
            path(device.cuda().pythonEnvironment()),
            device.xlaFlags(),
            threads == null ? OptionalInt.empty() : OptionalInt.of(threads),
            properties.runtime().numerics() == NumericsPolicy.F32),
        CudaClientOptions.of(device),
        CompilerOptions.parse(properties.compile().options()),
        device.ordinal(),
        limit == null ? OptionalLong.empty() : OptionalLong.of(limit.toBytes()));
  }

  private static Optional<Path> path(String text) {
    return Optional.of(text).filter(each -> !each.isBlank()).map(Path::of);
  }
}
