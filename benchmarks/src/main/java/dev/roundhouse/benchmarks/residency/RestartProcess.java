package dev.roundhouse.benchmarks.residency;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.pjrt.CompilerLimits;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * A start, as a process. {@code engine FOLDER CACHE} opens an engine as a worker does and loads
 * every model of a folder; prints {@code ready us=... compiled=... hits=...} when all are ready.
 * {@code fill FOLDER CACHE} does so without a compiler process, which is quicker when there is much
 * to compile. {@code copy FOLDER} is its floor: reads every weight file and copies it; prints
 * {@code ready us=... bytes=...}. Time counts from the first line of {@code main}.
 */
final class RestartProcess {
  /** As a worker has by default. */
  private static final int COMPILE_THREADS = 2;

  private static final long CACHE_BYTES = 8L << 30;
  private static final CompilerLimits LIMITS =
      new CompilerLimits(Duration.ofMinutes(5), 4L << 30, CompilerLimits.IDLE);

  private RestartProcess() {}

  public static void main(String[] arguments) throws IOException {
    long start = System.nanoTime();
    List<Path> folders;
    try (Stream<Path> listed = Files.list(Path.of(arguments[1]))) {
      folders = listed.sorted().toList();
    }
    switch (arguments[0]) {
      case "engine" -> engine(start, folders, Path.of(arguments[2]), true);
      case "fill" -> engine(start, folders, Path.of(arguments[2]), false);
      case "copy" -> {
        long bytes = RestartFloor.copy(folders);
        System.out.printf("ready us=%d bytes=%d%n", microsSince(start), bytes);
      }
      default -> throw new IllegalArgumentException("not engine, fill or copy: " + arguments[0]);
    }
    System.exit(0);
  }

  private static void engine(long start, List<Path> folders, Path cache, boolean isolated) {
    PjrtDevice device = PjrtDevice.open(PjrtDeviceOptions.DEFAULTS);
    Compilation compilation =
        new Compilation(
            device,
            isolated ? Optional.of(device.openCompiler(LIMITS)) : Optional.empty(),
            Optional.of(ExecutableCache.open(cache, CACHE_BYTES)));
    EngineOptions options =
        EngineOptions.builder()
            .compileThreads(COMPILE_THREADS)
            .residency(ColdLoadTurns.COPIED)
            .build();
    try (Engine engine = Engine.open(options, compilation.device())) {
      List<CompletableFuture<ModelStatus>> loads = new ArrayList<>(folders.size());
      folders.forEach(folder -> loads.add(engine.admin().load(folder)));
      for (CompletableFuture<ModelStatus> load : loads) {
        ModelStatus status = load.join();
        if (!status.isReady()) {
          throw new IllegalStateException("a model did not load: " + status);
        }
      }
      System.out.printf(
          "ready us=%d compiled=%d hits=%d%n",
          microsSince(start), compilation.counts().compiled(), compilation.counts().hits());
    }
    compilation.close();
    device.close();
  }

  private static long microsSince(long start) {
    return (System.nanoTime() - start) / 1000;
  }
}
