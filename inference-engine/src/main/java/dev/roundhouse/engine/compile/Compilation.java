package dev.roundhouse.engine.compile;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.ProgramCompiler;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A device whose programs come from a cache if it has them, else from a compiler outside this
 * process if there is one. Thread-safe.
 */
public final class Compilation implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Compilation.class);

  private final Device device;
  private final Optional<ProgramCompiler> compiler;
  private final Optional<ExecutableCache> cache;
  private final CompileCounts counts = new CompileCounts();

  /**
   * @param device borrowed
   * @param compiler taken; empty to compile in this process
   * @param cache empty to compile every time
   */
  public Compilation(
      Device device, Optional<ProgramCompiler> compiler, Optional<ExecutableCache> cache) {
    this.compiler = compiler;
    this.cache = cache;
    this.device = new CompilingDevice(device, compiler, cache, counts);
    if (cache.isPresent()) {
      Thread.ofPlatform().daemon().name("compile-target").start(() -> findTarget(device));
    }
  }

  /** Takes most of a second, which the first model to be loaded would wait for. */
  private static void findTarget(Device device) {
    try {
      var unused = device.compileTarget();
    } catch (DeviceException again) {
      log.debug("told by the first compile: {}", again.getMessage());
    }
  }

  /** The device for the engine; closing it closes the underlying device. */
  public Device device() {
    return device;
  }

  public CompileCounts counts() {
    return counts;
  }

  /** True when programs are compiled outside this process. */
  public boolean isIsolated() {
    return compiler.isPresent();
  }

  /** What the compiler's processes cannot reach; empty when they are not confined. */
  public Set<String> confinement() {
    return compiler.map(ProgramCompiler::confinement).orElse(Set.of());
  }

  public Optional<ExecutableCache> cache() {
    return cache;
  }

  /**
   * Ends compiles that run outside this process: those loads fail, and later ones too. Those in
   * this process cannot be ended. Closing twice is harmless.
   */
  @Override
  public void close() {
    compiler.ifPresent(ProgramCompiler::close);
  }
}
