package dev.roundhouse.benchmarks.serving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.benchmarks.serving.PerfAnalyzer.Figures;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

class PerfAnalyzerTest {
  /** As 2.51.0 wrote it. */
  private static final String NAMES =
      "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,"
          + "Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,"
          + "p50 latency,p90 latency,p95 latency,p99 latency";

  @Test
  void shouldReadRateAndMedianOfItsFile() throws IOException {
    String line = "1,2340.69,2,299,30,0,85,0,1,236,373,1407,4133";
    assertThat(Figures.parse(List.of(NAMES, line))).isEqualTo(new Figures(2340.69, 236));
  }

  @Test
  void shouldSayWhatIsMissingInItsFile() {
    assertThatThrownBy(() -> Figures.parse(List.of("Concurrency,Inferences/Second", "1,2")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("no column 'p50 latency'");
    assertThatThrownBy(() -> Figures.parse(List.of(NAMES)))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("has not two lines");
  }
}
