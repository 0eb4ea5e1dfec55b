package dev.roundhouse.worker.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.pjrt.CompileOptions;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CompilerOptionsTest {

  @Test
  void shouldGiveOptionsTheTypeTheyLookLike() {
    assertThat(
            CompilerOptions.parse(
                Map.of(
                    "xla_a", "true",
                    "xla_b", "-3",
                    "xla_c", "0.5",
                    "xla_d", "1.0e-3",
                    "xla_e", "/a folder",
                    "xla_f", "TRUE")))
        .isEqualTo(
            CompileOptions.DEFAULTS
                .with("xla_a", true)
                .with("xla_b", -3)
                .with("xla_c", 0.5)
                .with("xla_d", 0.001)
                .with("xla_e", "/a folder")
                .with("xla_f", "TRUE"));
    assertThat(CompilerOptions.parse(Map.of("xla_b", "3")))
        .isNotEqualTo(CompilerOptions.parse(Map.of("xla_b", "3.0")))
        .isNotEqualTo(CompilerOptions.parse(Map.of("xla_b", "4")));
  }
}
