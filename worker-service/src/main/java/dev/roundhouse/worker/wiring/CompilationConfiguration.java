package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.ProgramCompiler;
import dev.roundhouse.pjrt.CompilerConfinement;
import dev.roundhouse.pjrt.CompilerLimits;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PluginOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.config.CompileProperties;
import dev.roundhouse.worker.config.CompileProperties.Confinement;
import dev.roundhouse.worker.config.CompileProperties.Isolation;
import dev.roundhouse.worker.config.WorkerProperties;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Optional;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.unit.DataSize;

/** Where programs come from: the cache, and the compiler in or outside this process. */
@Configuration(proxyBeanMethods = false)
class CompilationConfiguration {
  private static final String KEY = "roundhouse.worker.compile.";
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  /** Closed by the engine's lifecycle, before the engine waits for loads. */
  @Bean(destroyMethod = "")
  Compilation compilation(Device device, WorkerProperties properties) {
    CompileProperties wanted = properties.compile();
    boolean isolated = isolation(wanted, device) == Isolation.PROCESS;
    if (!isolated && (wanted.timeout() != null || wanted.memory() != null)) {
      device.close();
      throw new StartRefusedException(
          "%s%s is set, but programs are compiled in the worker's own process, which has no such limit."
              .formatted(KEY, wanted.timeout() != null ? "timeout" : "memory"),
          "Remove it, or set " + KEY + "isolation to process.");
    }
    if (!isolated && wanted.confinement() == Confinement.REQUIRED) {
      device.close();
      throw new StartRefusedException(
          KEY + "confinement is 'required', but programs are compiled in the worker's own process.",
          "Set " + KEY + "confinement to auto, or " + KEY + "isolation to process.");
    }
    Optional<ProgramCompiler> compiler =
        isolated && device instanceof PjrtDevice pjrt
            ? Optional.of(open(pjrt, limits(wanted, properties.watchdog().deviceCall())))
            : Optional.empty();
    Optional<ExecutableCache> cache =
        CacheFile.EXECUTABLES
            .of(wanted.cache(), System.getenv())
            .map(folder -> ExecutableCache.open(folder, wanted.cacheSize().toBytes()));
    return new Compilation(device, compiler, cache);
  }

  private static ProgramCompiler open(PjrtDevice device, CompilerLimits limits) {
    try {
      return device.openCompiler(limits);
    } catch (DeviceException refusal) {
      device.close();
      throw new StartRefusedException(
          KEY + "confinement is 'required', but " + refusal.getMessage() + ".",
          "Set " + KEY + "confinement to auto, or use a kernel that has it.");
    }
  }

  /** A second client on a GPU takes memory that models should have. */
  private static Isolation isolation(CompileProperties wanted, Device device) {
    Isolation set = wanted.isolation();
    if (set != null) {
      return set;
    }
    return device.description().platform().equals(PluginOptions.CPU)
        ? Isolation.PROCESS
        : Isolation.IN_PROCESS;
  }

  private static CompilerLimits limits(CompileProperties wanted, Duration run) {
    Duration timeout = wanted.timeout();
    DataSize memory = wanted.memory();
    return new CompilerLimits(
        timeout == null ? TIMEOUT : timeout,
        run,
        memory == null ? machineBytes() / 2 : memory.toBytes(),
        CompilerLimits.IDLE,
        CompilerConfinement.valueOf(wanted.confinement().name()));
  }

  /** Of the container, where that has a limit. */
  private static long machineBytes() {
    return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class)
        .getTotalMemorySize();
  }
}
