package dev.roundhouse.platform.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.diagnostics.FailureAnalysis;

class UnknownValueFailureAnalyzerTest {
  enum Mode {
    FIFO,
    VIRTUAL_TIME
  }

  @Test
  void shouldShowTheValuesAsOneWritesThem() {
    FailureAnalysis analysis = Objects.requireNonNull(analyze("virtualtiem", Mode.class));
    assertThat(analysis.getDescription())
        .startsWith("a.mode is 'virtualtiem', given by ")
        .endsWith("; it may be fifo, virtual-time");
    assertThat(analysis.getAction()).isEqualTo("Write one of: fifo, virtual-time");
  }

  @Test
  void shouldLeaveOtherValuesToOthers() {
    assertThat(analyze("x", Integer.class)).isNull();
  }

  private static @Nullable FailureAnalysis analyze(String value, Class<?> type) {
    Binder binder = new Binder(new MapConfigurationPropertySource(Map.of("a.mode", value)));
    BindException failure =
        catchThrowableOfType(BindException.class, () -> binder.bind("a.mode", type));
    return new UnknownValueFailureAnalyzer().analyze(failure);
  }
}
