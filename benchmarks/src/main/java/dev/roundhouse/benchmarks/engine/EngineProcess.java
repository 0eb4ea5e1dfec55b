package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bundle.ComposedDraft;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.measure.Scratch;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/**
 * Our side, as a process: the engine on a {@link NoOpDevice}, spoken to as the peer's {@code
 * triton_floor} is. Argument: MODELS, or {@code ensemble}.
 *
 * <p>Prints {@code ready start_us=... rss_kb=... threads=...}; answers {@code DEPTH MILLIS SPIN_US}
 * with a run, {@code memory} with what it holds after a collection, and {@code load N} with {@code
 * load_us=...} once there are N models. Ends when standard input closes.
 */
final class EngineProcess {
  private final Engine engine = Engine.open(EngineOptions.DEFAULT, new NoOpDevice());
  private final EngineCaller caller;
  private int loaded;

  private EngineProcess(Arena arena) {
    caller = new EngineCaller(engine, arena);
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    EngineProcess process = new EngineProcess(Arena.global());
    String loaded =
        arguments[0].equals(OurEngine.ENSEMBLE)
            ? process.loadEnsemble()
            : process.load(Integer.parseInt(arguments[0]));
    System.out.println("ready start_" + loaded.substring("load_".length()) + " " + memory());
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      System.out.println(process.answer(line.split(" ")));
    }
    System.exit(0);
  }

  private String answer(String... words) throws IOException, InterruptedException {
    return switch (words[0]) {
      case "memory" -> {
        collect();
        yield memory();
      }
      case "load" -> load(Integer.parseInt(words[1]));
      default ->
          caller.run(
              Integer.parseInt(words[0]),
              Integer.parseInt(words[1]),
              Integer.parseInt(words[2]) * 1_000L);
    };
  }

  private String load(int models) {
    long start = System.nanoTime();
    List<CompletableFuture<ModelStatus>> loads = new ArrayList<>();
    for (; loaded < models; loaded++) {
      loads.add(engine.admin().load(NoOpModel.image(loaded)));
    }
    loads.forEach(load -> requireReady(load.join()));
    long micros = (System.nanoTime() - start) / 1000;
    caller.call(IntStream.range(0, models).mapToObj(NoOpModel::name).toArray(String[]::new));
    return "load_us=" + micros;
  }

  private static void requireReady(ModelStatus status) {
    if (status.state() != ModelState.READY) {
      throw new IllegalStateException("a model did not load: " + status);
    }
  }

  private String loadEnsemble() throws IOException {
    long start = System.nanoTime();
    requireReady(engine.admin().load(NoOpModel.image("first", NoOpModel.ELEMENTS)).join());
    requireReady(engine.admin().load(NoOpModel.image("second", 1)).join());
    requireReady(engine.admin().load(NoOpModel.image("third", 1)).join());
    try (Scratch scratch = Scratch.create()) {
      ComposedDraft.chain(NoOpModel.ELEMENTS, 1, List.of("first", "second", "third"))
          .write(scratch.path().resolve(NoOpModel.name(0)));
      requireReady(engine.admin().load(scratch.path().resolve(NoOpModel.name(0))).join());
    }
    caller.call(NoOpModel.name(0));
    return "load_us=" + (System.nanoTime() - start) / 1000;
  }

  /** Collects, and waits for the heap that became free to go back to the system. */
  private static void collect() throws IOException, InterruptedException {
    System.gc();
    String before;
    String after = memory();
    do {
      before = after;
      TimeUnit.MILLISECONDS.sleep(500);
      after = memory();
    } while (!after.equals(before));
  }

  private static String memory() throws IOException {
    String rss = "0";
    String threads = "0";
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      String[] words = line.split("\\s+");
      switch (words[0]) {
        case "VmRSS:" -> rss = words[1];
        case "Threads:" -> threads = words[1];
        default -> {}
      }
    }
    return "rss_kb=" + rss + " threads=" + threads;
  }
}
