package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.CompileCounts;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.worker.transport.Transports;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;

/**
 * Tells which ports are bound, what the device is, how exactly it multiplies, and where its
 * programs came from.
 */
public final class WorkerInfo implements InfoContributor {
  private final Device device;
  private final Compilation compilation;
  private final String numerics;
  private final Transports transports;

  /**
   * @param numerics the policy and what was found, in one line
   */
  public WorkerInfo(
      Device device, Compilation compilation, String numerics, Transports transports) {
    this.device = device;
    this.compilation = compilation;
    this.numerics = numerics;
    this.transports = transports;
  }

  @Override
  public void contribute(Info.Builder info) {
    DeviceDescription description = device.description();
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("platform", description.platform());
    shown.put("kind", description.kind());
    shown.put("ordinal", description.ordinal());
    shown.put("memory", memory());
    shown.put("attributes", description.attributes());
    info.withDetail("ports", transports.ports())
        .withDetail("numerics", numerics)
        .withDetail("device", shown)
        .withDetail("programs", programs());
  }

  private Map<String, @Nullable Object> programs() {
    CompileCounts counts = compilation.counts();
    Map<String, @Nullable Object> programs = new LinkedHashMap<>();
    programs.put("isolation", compilation.isIsolated() ? "process" : "in-process");
    programs.put("compiled", counts.compiled());
    programs.put("failed", counts.failed());
    programs.put("cache", compilation.cache().map(cache -> cache(counts, cache)).orElse(null));
    programs.put("confinement", new TreeSet<>(compilation.confinement()));
    return programs;
  }

  private static Map<String, Object> cache(CompileCounts counts, ExecutableCache cache) {
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("hits", counts.hits());
    shown.put("misses", counts.misses());
    shown.put("rebuilt", counts.rebuilt());
    shown.put("bytes", cache.bytes());
    shown.put("maxBytes", cache.maxBytes());
    return shown;
  }

  /** In bytes; {@code null} for what the device does not count. */
  private Map<String, @Nullable Long> memory() {
    DeviceMemory counted;
    try {
      counted = device.memory();
    } catch (DeviceException closedOrLost) {
      counted = DeviceMemory.UNKNOWN;
    }
    Map<String, @Nullable Long> memory = new LinkedHashMap<>();
    memory.put("inUse", known(counted.inUse()));
    memory.put("limit", known(counted.limit()));
    memory.put("peak", known(counted.peak()));
    memory.put("largestFreeBlock", known(counted.largestFreeBlock()));
    return memory;
  }

  private static @Nullable Long known(OptionalLong bytes) {
    return bytes.isPresent() ? bytes.getAsLong() : null;
  }
}
