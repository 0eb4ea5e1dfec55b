package dev.roundhouse.engine.compile;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramCompiler;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.recording.CompileEvent;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks in the cache before it compiles, and compiles outside this process where it can. */
final class CompilingDevice extends ForwardingDevice {
  private static final Logger log = LoggerFactory.getLogger(CompilingDevice.class);

  private final Device device;
  private final Optional<ProgramCompiler> compiler;
  private final Optional<ExecutableCache> cache;
  private final CompileCounts counts;

  CompilingDevice(
      Device device,
      Optional<ProgramCompiler> compiler,
      Optional<ExecutableCache> cache,
      CompileCounts counts) {
    super(device);
    this.device = device;
    this.compiler = compiler;
    this.cache = cache;
    this.counts = counts;
  }

  @Override
  public DeviceProgram compile(ProgramSource source) {
    long started = System.nanoTime();
    Optional<String> target = cache.flatMap(kept -> device.compileTarget());
    if (target.isEmpty()) {
      DeviceProgram program = compiled(source, null, null);
      told(source, false, started);
      return program;
    }
    ExecutableCache entries = cache.orElseThrow();
    ExecutableKey key = ExecutableKey.of(target.get(), source.code());
    DeviceProgram cached = cached(entries, key, source.name());
    if (cached != null) {
      counts.onHit();
      told(source, true, started);
      return cached;
    }
    counts.onMiss();
    DeviceProgram program = compiled(source, entries, key);
    told(source, false, started);
    return program;
  }

  private @Nullable DeviceProgram cached(ExecutableCache entries, ExecutableKey key, String name) {
    byte[] executable;
    try {
      Optional<byte[]> found = entries.read(key);
      if (found.isEmpty()) {
        return null;
      }
      executable = found.get();
    } catch (DamagedEntryException damaged) {
      rebuild(entries, key, name, damaged.getMessage());
      return null;
    }
    try {
      return device.load(name, executable);
    } catch (DeviceException refusal) {
      switch (refusal.code()) {
        case INVALID_ARGUMENT, UNSUPPORTED, INTERNAL -> {
          rebuild(entries, key, name, refusal.getMessage());
          return null;
        }
        // The entry is not to blame.
        case OUT_OF_MEMORY, NO_THREAD, CLOSED, DEVICE_LOST -> throw refusal;
      }
      throw refusal;
    }
  }

  private void rebuild(
      ExecutableCache entries, ExecutableKey key, String name, @Nullable String why) {
    log.warn("{} is compiled again: {}, which is removed: {}", name, entries.file(key), why);
    counts.onRebuilt();
    entries.remove(key);
  }

  /** Compiles, loads, then caches: what does not load here is useless to everyone. */
  private DeviceProgram compiled(
      ProgramSource source, @Nullable ExecutableCache entries, @Nullable ExecutableKey key) {
    DeviceProgram program = null;
    try {
      byte[] executable = null;
      if (compiler.isPresent()) {
        executable = compiler.get().compile(source);
        program = device.load(source.name(), executable);
      } else {
        program = device.compile(source);
      }
      counts.onCompiled();
      if (entries != null && key != null) {
        executable = executable == null ? serialized(program) : executable;
        if (executable != null) {
          entries.write(key, executable);
        }
      }
      return program;
    } catch (RuntimeException | Error e) {
      if (program == null) {
        counts.onFailed();
      } else {
        program.close();
      }
      throw e;
    }
  }

  /** Null when the device cannot serialise this one, which is no reason not to serve it. */
  private byte @Nullable [] serialized(DeviceProgram program) {
    try {
      return device.serialize(program);
    } catch (DeviceException refusal) {
      if (refusal.code() == DeviceException.Code.DEVICE_LOST) {
        throw refusal;
      }
      log.warn("{} is compiled at every start: {}", program.name(), refusal.getMessage());
      return null;
    }
  }

  private static void told(ProgramSource source, boolean cached, long startNanos) {
    long took = System.nanoTime() - startNanos;
    log.info(
        cached ? "loaded {} from the cache in {} ms" : "compiled {} in {} ms",
        source.name(),
        TimeUnit.NANOSECONDS.toMillis(took));
    CompileEvent.tell(source.name(), cached, took);
  }
}
