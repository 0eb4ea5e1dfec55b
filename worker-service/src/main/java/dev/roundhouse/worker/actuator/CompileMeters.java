package dev.roundhouse.worker.actuator;

import static dev.roundhouse.platform.metrics.Metric.PROGRAMS_CACHE;
import static dev.roundhouse.platform.metrics.Metric.PROGRAMS_CACHE_HITS;
import static dev.roundhouse.platform.metrics.Metric.PROGRAMS_CACHE_MISSES;
import static dev.roundhouse.platform.metrics.Metric.PROGRAMS_CACHE_REBUILT;
import static dev.roundhouse.platform.metrics.Metric.PROGRAMS_COMPILED;
import static dev.roundhouse.platform.metrics.Metric.PROGRAMS_FAILED;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.CompileCounts;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.platform.metrics.Meters;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Shows where programs came from. */
public final class CompileMeters implements MeterBinder {
  private final Compilation compilation;

  public CompileMeters(Compilation compilation) {
    this.compilation = compilation;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    CompileCounts counts = compilation.counts();
    meters.read(PROGRAMS_COMPILED, counts, CompileCounts::compiled);
    meters.read(PROGRAMS_FAILED, counts, CompileCounts::failed);
    compilation.cache().ifPresent(cache -> bind(cache, counts, meters));
  }

  private static void bind(ExecutableCache cache, CompileCounts counts, Meters meters) {
    meters.read(PROGRAMS_CACHE_HITS, counts, CompileCounts::hits);
    meters.read(PROGRAMS_CACHE_MISSES, counts, CompileCounts::misses);
    meters.read(PROGRAMS_CACHE_REBUILT, counts, CompileCounts::rebuilt);
    meters.read(PROGRAMS_CACHE, cache, ExecutableCache::bytes);
  }
}
