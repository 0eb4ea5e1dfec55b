package dev.roundhouse.worker.actuator;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.CompileCounts;
import dev.roundhouse.engine.compile.ExecutableCache;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.function.ToDoubleFunction;

/** Shows where programs came from. */
public final class CompileMeters implements MeterBinder {
  private final Compilation compilation;

  public CompileMeters(Compilation compilation) {
    this.compilation = compilation;
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    count("compiled", "Programs that were compiled", CompileCounts::compiled, meters);
    count(
        "failed",
        "Programs that did not compile, or over which the compiler ended",
        CompileCounts::failed,
        meters);
    compilation.cache().ifPresent(cache -> bind(cache, meters));
  }

  private void bind(ExecutableCache cache, MeterRegistry meters) {
    count("cache.hits", "Programs loaded from the cache", CompileCounts::hits, meters);
    count("cache.misses", "Programs that the cache did not have", CompileCounts::misses, meters);
    count(
        "cache.rebuilt",
        "Entries of the cache that were of no use, removed and compiled again",
        CompileCounts::rebuilt,
        meters);
    Gauge.builder("roundhouse.programs.cache", cache, ExecutableCache::bytes)
        .description("Compiled programs in the cache")
        .baseUnit("bytes")
        .register(meters);
  }

  private void count(
      String name, String description, ToDoubleFunction<CompileCounts> part, MeterRegistry meters) {
    FunctionCounter.builder("roundhouse.programs." + name, compilation.counts(), part)
        .description(description)
        .register(meters);
  }
}
