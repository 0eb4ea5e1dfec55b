package dev.roundhouse.benchmarks;

import dev.roundhouse.benchmarks.bench.Bench;
import dev.roundhouse.benchmarks.engine.EngineSuite;
import dev.roundhouse.benchmarks.engine.GlueSuite;
import dev.roundhouse.benchmarks.engine.SequenceState;
import dev.roundhouse.benchmarks.firstlight.FirstLight;
import dev.roundhouse.benchmarks.firstlight.JniExecute;
import dev.roundhouse.benchmarks.firstlight.ModelInfer;
import dev.roundhouse.benchmarks.node.NodeSuite;
import dev.roundhouse.benchmarks.page.OpenPage;
import dev.roundhouse.benchmarks.residency.ResidencySuite;
import dev.roundhouse.benchmarks.stream.Streams;
import dev.roundhouse.benchmarks.wire.WireSuite;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Every bench there is. */
final class Catalogue {
  static final List<Bench> BENCHES =
      Stream.<List<Bench>>of(
              List.of(new FirstLight(), new JniExecute(), new ModelInfer(), new EngineSuite()),
              EngineSuite.ROWS,
              List.of(new GlueSuite()),
              GlueSuite.ROWS,
              List.of(new SequenceState()),
              List.of(new ResidencySuite()),
              ResidencySuite.ROWS,
              List.of(new WireSuite()),
              WireSuite.ROWS,
              List.of(new NodeSuite()),
              NodeSuite.ROWS,
              List.of(new OpenPage()),
              List.of(new Streams()))
          .flatMap(List::stream)
          .toList();

  private Catalogue() {}

  /**
   * The bench of that name.
   *
   * @throws IllegalArgumentException when there is none
   */
  static Bench named(String name) {
    return BENCHES.stream()
        .filter(bench -> bench.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "there is no bench '%s'; there are: %s"
                        .formatted(
                            name,
                            BENCHES.stream().map(Bench::name).collect(Collectors.joining(", ")))));
  }

  static String list() {
    return BENCHES.stream()
        .map(bench -> "  %-21s %s\n".formatted(bench.name(), bench.about()))
        .collect(Collectors.joining());
  }
}
