package dev.roundhouse.engine.embedded;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.engine.device.DeviceProvider;
import dev.roundhouse.engine.numerics.NumericsPolicy;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How an embedded engine is set up.
 *
 * @param repositories folders of model folders, loaded on opening; may be empty
 * @param device name of the kind of device, such as {@code pjrt}
 * @param settings of the device
 * @param engine discipline, limits, weights, where costs are kept
 * @param numerics whether f32 products may be computed in TF32
 * @param compileCache folder in which compiled programs are kept for the next start, up to {@link
 *     ExecutableCache#DEFAULT_MAX_BYTES}; may be shared. Empty to compile at every start
 */
public record RoundhouseConfig(
    List<Path> repositories,
    String device,
    DeviceProvider.Settings settings,
    EngineOptions engine,
    NumericsPolicy numerics,
    Optional<Path> compileCache) {

  public RoundhouseConfig {
    repositories = List.copyOf(repositories);
  }

  /** Serves the models in a folder of model folders, on an auto-detected PJRT device. */
  public static RoundhouseConfig of(Path... repositories) {
    return new RoundhouseConfig(
        List.of(repositories),
        "pjrt",
        DeviceProvider.Settings.DEFAULT,
        EngineOptions.DEFAULT,
        NumericsPolicy.AUTO,
        Optional.empty());
  }

  public RoundhouseConfig withDevice(String name, DeviceProvider.Settings of) {
    return new RoundhouseConfig(repositories, name, of, engine, numerics, compileCache);
  }

  public RoundhouseConfig withEngine(EngineOptions options) {
    return new RoundhouseConfig(repositories, device, settings, options, numerics, compileCache);
  }

  public RoundhouseConfig withNumerics(NumericsPolicy policy) {
    return new RoundhouseConfig(repositories, device, settings, engine, policy, compileCache);
  }

  public RoundhouseConfig withCompileCache(Path folder) {
    return new RoundhouseConfig(
        repositories, device, settings, engine, numerics, Optional.of(folder));
  }
}
