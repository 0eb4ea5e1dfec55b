package dev.roundhouse.platform.telemetry;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.trace.SpanContext;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SharedRunsTest {
  private static final String RUN = "a run";

  private final SharedRuns runs = new SharedRuns();
  private final TraceContexts contexts = new TraceContexts(1);

  private List<SpanContext> requests(int count) {
    return Stream.generate(() -> requireNonNull(contexts.request(SpanContext.getInvalid())))
        .limit(count)
        .toList();
  }

  @Test
  void shouldKnowTheOthersOfARun() {
    List<SpanContext> three = requests(3);
    runs.add(RUN, three.get(0));
    runs.add("another", three.get(1));
    runs.add(RUN, three.get(2));
    assertThat(runs.others(RUN, three.get(0))).containsExactly(three.get(2));
    assertThat(runs.others(RUN, three.get(2))).containsExactly(three.get(0));
    assertThat(runs.others("another", three.get(1))).isEmpty();
    assertThat(runs.others("none", three.get(1))).isEmpty();
    runs.clear();
    assertThat(runs.others(RUN, three.get(0))).isEmpty();
  }

  @Test
  void shouldCountARequestOnceWhenSeveralOfItsCallsHadAPartInARun() {
    List<SpanContext> two = requests(2);
    runs.add(RUN, two.getFirst());
    runs.add(RUN, two.getFirst());
    runs.add(RUN, two.getLast());
    assertThat(runs.others(RUN, two.getFirst())).containsExactly(two.getLast());
    assertThat(runs.others(RUN, two.getLast())).containsExactly(two.getFirst());
  }

  @Test
  void shouldLinkToEachOfARunThatIsTooLargeForAllLinks() {
    List<SpanContext> many = requests(3 * SharedRuns.MOST_LINKS);
    many.forEach(each -> runs.add(RUN, each));
    Set<SpanContext> linked = new HashSet<>();
    for (SpanContext each : many) {
      List<SpanContext> others = runs.others(RUN, each);
      assertThat(others)
          .hasSize(SharedRuns.MOST_LINKS)
          .doesNotContain(each)
          .doesNotHaveDuplicates();
      linked.addAll(others);
    }
    assertThat(linked).hasSameSizeAs(many);
  }
}
