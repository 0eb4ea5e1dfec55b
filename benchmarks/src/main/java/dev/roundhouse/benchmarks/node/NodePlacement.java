package dev.roundhouse.benchmarks.node;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.serving.JvmServer;
import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.Scratch;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * What it costs the gateway to place models, and to take in what its workers say once a second. The
 * floor does what cannot be left out: one sort, and the least loaded worker of a heap for each.
 */
final class NodePlacement implements Bench {
  private static final String MAIN = "dev.roundhouse.gateway.schedule.PlacementFigures";
  private static final int WORKERS = 16;

  @Override
  public String name() {
    return "node-placement";
  }

  @Override
  public String about() {
    return "placing 10,000 models on 16 workers, against a sort and a heap";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    try (Scratch scratch = Scratch.create()) {
      Path gateway = extract(run, scratch.path());
      String classPath = gateway + File.pathSeparator + run.root().testClasses("gateway-service");
      for (int models : List.of(1_000, 10_000)) {
        run.say("%s: %d models", name(), models);
        measure(run, scratch.path(), classPath, models);
      }
    }
  }

  /** The gateway's own classes beside its libraries. */
  private static Path extract(BenchRun run, Path scratch) throws IOException, InterruptedException {
    Path jar = run.root().gatewayJar();
    Path folder = scratch.resolve("gateway");
    List<String> command =
        List.of(
            JvmServer.java(),
            "-Djarmode=tools",
            "-jar",
            jar.toString(),
            "extract",
            "--destination",
            folder.toString());
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(scratch.resolve("extract.log").toFile())
            .start();
    if (process.waitFor() != 0) {
      throw new IOException("could not take " + jar + " apart");
    }
    return folder.resolve(jar.getFileName());
  }

  private void measure(BenchRun run, Path scratch, String classPath, int models)
      throws IOException {
    List<String> program = List.of("-cp", classPath, MAIN);
    Pairs pack = new Pairs();
    Pairs look = new Pairs();
    try (Child child = JvmServer.start("placement-" + models, program, scratch)) {
      child.awaitLine("ready");
      int rounds = run.quick() ? 5 : 15;
      for (int i = -rounds; i < rounds; i++) { // the first half warms up
        double floor = Double.parseDouble(child.ask("floor %d %d".formatted(models, WORKERS)));
        double packed = Double.parseDouble(child.ask("pack %d %d".formatted(models, WORKERS)));
        double looked = Double.parseDouble(child.ask("look %d %d".formatted(models, WORKERS)));
        if (i >= 0) {
          pack.add(packed, floor);
          look.add(looked, floor);
        }
      }
    }
    String size = "%d models, %d workers".formatted(models, WORKERS);
    run.cells().accept(new Cell(name(), size + ": place all", pack.compare(), "ms", null));
    run.cells().accept(new Cell(name(), size + ": one look", look.compare(), "ms", null));
  }
}
