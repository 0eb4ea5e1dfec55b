package dev.roundhouse.benchmarks.wire;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.bench.BenchRun;
import dev.roundhouse.benchmarks.report.Cell;
import dev.roundhouse.benchmarks.serving.PerfAnalyzer;
import dev.roundhouse.benchmarks.serving.PerfAnalyzer.Figures;
import dev.roundhouse.benchmarks.serving.ServerProcess;
import dev.roundhouse.benchmarks.serving.TritonModel;
import dev.roundhouse.benchmarks.serving.TritonModel.Batching;
import dev.roundhouse.measure.Comparison;
import dev.roundhouse.measure.Pairs;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * What perf_analyzer says of a worker and of a real Triton: {@code -m simple -i grpc
 * --concurrency-range 1:16}, with tensors in messages and in system shared memory. The servers take
 * turns at each concurrency.
 */
final class PerfAnalyzerTables implements Bench {
  private static final String MODEL = "simple";
  private static final int MOST = 16;
  private static final List<Integer> QUICK = List.of(1, 4, MOST);

  /** Where tensors are, and the option that puts them there. */
  private enum Transfer {
    INLINE("inline", List.of()),
    SHARED("shared memory", List.of("--shared-memory=system"));

    private final String words;
    private final List<String> options;

    Transfer(String words, List<String> options) {
      this.words = words;
      this.options = options;
    }
  }

  @Override
  public String name() {
    return "wire-perf-analyzer";
  }

  @Override
  public String about() {
    return "what Triton's perf_analyzer says of a worker and of a real Triton";
  }

  @Override
  public void run(BenchRun run) throws Exception {
    PerfAnalyzer tool;
    try {
      tool = PerfAnalyzer.find();
    } catch (PeerAbsentException absent) {
      run.say("%s: not measured: %s", name(), absent.reason());
      return;
    }
    try (Scratch scratch = Scratch.create();
        ServerPair servers =
            ServerPair.start(
                run,
                name(),
                scratch,
                repository(run, scratch),
                List.of(simple(Batching.OFF), simple(Batching.DYNAMIC)),
                "--roundhouse.worker.shared-memory.enabled=true")) {
      new Tables(run, tool, servers, scratch.path()).measure();
    }
  }

  /** Of our side: the sample, alone. */
  private static Path repository(BenchRun run, Scratch scratch) throws IOException {
    Path repository = Files.createDirectory(scratch.path().resolve("models"));
    Path folder = Files.createDirectory(repository.resolve(MODEL));
    Path sample = run.root().path().resolve("examples/models").resolve(MODEL);
    try (DirectoryStream<Path> files = Files.newDirectoryStream(sample)) {
      for (Path file : files) {
        Files.copy(file, folder.resolve(file.getFileName()));
      }
    }
    return repository;
  }

  /** The contract of the sample. */
  private static TritonModel simple(Batching batching) {
    String tensors =
        """
        input [{ name: "INPUT0" data_type: TYPE_INT32 dims: [16] },
               { name: "INPUT1" data_type: TYPE_INT32 dims: [16] }]
        output [{ name: "OUTPUT0" data_type: TYPE_INT32 dims: [16] },
                { name: "OUTPUT1" data_type: TYPE_INT32 dims: [16] }]""";
    String name = batching == Batching.OFF ? MODEL : MODEL + "-dynamic";
    return new TritonModel(name, tensors, 8, "add_sub", batching);
  }

  /** The tables of one run. */
  private record Tables(BenchRun run, PerfAnalyzer tool, ServerPair servers, Path scratch) {

    void measure() throws IOException, InterruptedException {
      List<Integer> levels = run.quick() ? QUICK : IntStream.rangeClosed(1, MOST).boxed().toList();
      warmUp(servers.ours());
      if (servers.triton() != null) {
        warmUp(servers.triton().process());
      }
      for (Transfer transfer : Transfer.values()) {
        for (int outstanding : levels) {
          measure(transfer, outstanding);
        }
      }
    }

    private void warmUp(ServerProcess server) throws IOException, InterruptedException {
      run.say("wire-perf-analyzer: warming %s up", server.name());
      Duration window = Duration.ofSeconds(run.quick() ? 2 : 5); // it takes three of them
      for (Transfer transfer : Transfer.values()) {
        var unused = ask(server, MODEL, MOST, window, transfer);
      }
    }

    private void measure(Transfer transfer, int outstanding)
        throws IOException, InterruptedException {
      Duration window = Duration.ofMillis(run.quick() ? 500 : 1000);
      String load = "%s, %d outstanding".formatted(transfer.words, outstanding);
      run.say("wire-perf-analyzer: %s", load);
      Figures ours = ask(servers.ours(), MODEL, outstanding, window, transfer);
      if (servers.triton() == null) {
        report(
            load + ", not compared: rate",
            Comparison.alone(ours.inferencesPerSecond()),
            "requests/s");
        report(load + ", not compared: p50", Comparison.alone(ours.p50Micros()), "us");
        return;
      }
      List<Figures> theirs = new ArrayList<>();
      for (TritonModel model : servers.triton().models()) {
        theirs.add(ask(servers.triton().process(), model.name(), outstanding, window, transfer));
      }
      Figures best =
          theirs.stream()
              .max(Comparator.comparingDouble(Figures::inferencesPerSecond))
              .orElseThrow();
      String setup = servers.triton().models().get(theirs.indexOf(best)).setup();
      report(
          load + ", vs " + setup + ": rate",
          pair(ours.inferencesPerSecond(), best.inferencesPerSecond()),
          "requests/s");
      report(load + ", vs " + setup + ": p50", pair(ours.p50Micros(), best.p50Micros()), "us");
    }

    private Figures ask(
        ServerProcess server, String model, int outstanding, Duration window, Transfer transfer)
        throws IOException, InterruptedException {
      return tool.run(server, model, outstanding, window, scratch, transfer.options);
    }

    private static Comparison pair(double ours, double theirs) {
      Pairs pairs = new Pairs();
      pairs.add(ours, theirs);
      return pairs.compare();
    }

    private void report(String cell, Comparison figures, String unit) {
      run.cells().accept(new Cell("wire-perf-analyzer", cell, figures, unit, null));
    }
  }
}
