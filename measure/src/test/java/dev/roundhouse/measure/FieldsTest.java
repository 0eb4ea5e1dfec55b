package dev.roundhouse.measure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class FieldsTest {
  @Test
  void shouldFindEachNumberByItsNameWhenTheLineIsWellFormed() {
    Fields fields = Fields.parse(" requests=12  wall_ns=34 ");
    assertThat(fields.get("requests")).isEqualTo(12);
    assertThat(fields.get("wall_ns")).isEqualTo(34);
  }

  @Test
  void shouldShowTheLineWhenAWordIsNotANumber() {
    assertThatThrownBy(() -> Fields.parse("requests=12 wall_ns=soon"))
        .hasMessageContaining("'wall_ns=soon' in 'requests=12 wall_ns=soon'");
    assertThatThrownBy(() -> Fields.parse("no core here"))
        .hasMessageContaining("'no' in 'no core here'");
  }

  @Test
  void shouldShowTheLineWhenANumberIsMissing() {
    assertThatThrownBy(() -> Fields.parse("requests=12").get("cpu_ns"))
        .hasMessageContaining("'requests=12' has no 'cpu_ns'");
  }
}
