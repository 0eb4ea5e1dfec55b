package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.benchmarks.bench.RepositoryRoot;
import dev.roundhouse.measure.Child;
import dev.roundhouse.measure.PeerAbsentException;
import dev.roundhouse.measure.Scratch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** The peer: NVIDIA's Triton core with our no-op backend, in a C++ process. */
final class TritonCore {
  private static final String FETCH =
      "fetch it: mvn -pl benchmarks dependency:unpack@triton-core (./roundhouse bench does)";
  private static final String PACKAGES = "apt-get install -y libnuma1 libcurl4 libxml2";

  private final Path library;
  private final Path programs;
  private final Scratch scratch;
  private int started;

  private TritonCore(Path library, Path programs, Scratch scratch) {
    this.library = library;
    this.programs = programs;
    this.scratch = scratch;
  }

  /** Whether a batcher may join requests, and where the caller's request objects come from. */
  record Setup(boolean dynamicBatching, boolean reusedRequests) {
    @Override
    public String toString() {
      return (dynamicBatching ? "dynamic batching" : "no batching")
          + (reusedRequests ? ", reused requests" : "");
    }
  }

  /** As Triton's own front ends call the core: with a new request object each time. */
  private static final List<Setup> FRESH = List.of(new Setup(false, false), new Setup(true, false));

  /**
   * Finds the core and tries to load it.
   *
   * @throws PeerAbsentException when it cannot run here
   */
  static TritonCore find(RepositoryRoot root, Scratch scratch)
      throws IOException, PeerAbsentException {
    String architecture = System.getProperty("os.arch", "");
    if (!architecture.equals("amd64")) {
      throw new PeerAbsentException(
          "the Triton core comes for x86_64 only, this machine is " + architecture);
    }
    Path library = root.path().resolve("benchmarks/target/triton/libtritonserver.so");
    if (!Files.exists(library)) {
      throw new PeerAbsentException(library + " is missing; " + FETCH);
    }
    TritonCore core = new TritonCore(library, root.tritonBuild(), scratch);
    try (Child trial = core.child("triton-trial", List.of())) {
      String answer = trial.awaitLine("");
      if (!answer.equals("present")) {
        throw new PeerAbsentException(
            "the Triton core does not load (%s); it needs Debian's: %s"
                .formatted(answer.replaceFirst("^absent ", ""), PACKAGES));
      }
    }
    return core;
  }

  /** Starts a core with so many models and a caller of them. */
  Side start(int models, Setup setup) throws IOException {
    return start(Integer.toString(models), setup);
  }

  private Side start(String models, Setup setup) throws IOException {
    String name = "triton-" + models + "-" + started++;
    Path repository = Files.createDirectory(scratch.path().resolve(name));
    return Side.ready(
        child(
            name,
            List.of(
                repository.toString(),
                programs.resolve("backends").toString(),
                models,
                setup.dynamicBatching() ? "dynamic" : "none",
                setup.reusedRequests() ? "reused" : "fresh")));
  }

  /** A setup and the process that runs it. */
  record Choice(Setup setup, Side side) {}

  /** Starts the setup that answers the most requests a second here. */
  Choice fastest(int models, int depth) throws IOException {
    return fastest(Integer.toString(models), depth);
  }

  /** As {@link #fastest(int, int)}, of an ensemble of three steps. */
  Choice fastestEnsemble(int depth) throws IOException {
    return fastest(OurEngine.ENSEMBLE, depth);
  }

  private Choice fastest(String models, int depth) throws IOException {
    List<Choice> choices = new ArrayList<>();
    List<Double> rates = new ArrayList<>();
    try {
      for (Setup setup : FRESH) {
        Side side = start(models, setup);
        choices.add(new Choice(setup, side));
        Side.Trial trial = side.fastest(depth);
        choices.set(choices.size() - 1, new Choice(setup, trial.side()));
        rates.add(trial.requestsPerSecond());
      }
    } catch (IOException | RuntimeException failure) {
      choices.forEach(choice -> choice.side().close());
      throw failure;
    }
    int best = rates.indexOf(rates.stream().max(Comparator.naturalOrder()).orElseThrow());
    Choice fastest = choices.remove(best);
    choices.forEach(choice -> choice.side().close());
    return fastest;
  }

  private Child child(String name, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(programs.resolve("triton_floor").toString());
    command.add(library.toString());
    command.addAll(arguments);
    return Child.start(
        name,
        command,
        Map.of("LD_LIBRARY_PATH", programs.toString()),
        scratch.path().resolve(name + ".log"));
  }
}
