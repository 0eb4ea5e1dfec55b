package dev.roundhouse.engine.residency;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PartSizeTest {
  private static final long LEAST = 2 << 20;

  private final PartSize parts = new PartSize(LEAST);

  @ParameterizedTest
  @CsvSource({"6, 2", "12, 2", "25, 4", "36, 6", "54, 8", "900, 8"})
  void shouldCutPartsByHowFastTheLinkIs(long gigabytesPerSecond, long mebibytes) {
    for (int i = 0; i < 100; i++) {
      parts.arrived(parts.current(), parts.current() / gigabytesPerSecond);
    }
    assertThat(parts.current() >> 20).isEqualTo(mebibytes);
    assertThat(parts.mostOnLink()).isEqualTo(2 * parts.current());
  }

  @Test
  void shouldGoBackWhenTheLinkBecomesSlow() {
    for (int i = 0; i < 100; i++) {
      parts.arrived(LEAST, LEAST / 54);
    }
    assertThat(parts.current()).isEqualTo(4 * LEAST);
    for (int i = 0; i < 200; i++) {
      parts.arrived(LEAST, LEAST / 6);
    }
    assertThat(parts.current()).isEqualTo(LEAST);
  }

  @Test
  void shouldLearnNothingFromSmallTensorsOrFromAClockThatStands() {
    for (int i = 0; i < 100; i++) {
      parts.arrived(LEAST - 1, 1);
      parts.arrived(LEAST, 0);
    }
    assertThat(parts.current()).isEqualTo(LEAST);
  }

  @Test
  void shouldNotTakeTheLinkForSlowWhenNobodyWasThereToNotice() {
    for (int i = 0; i < 100; i++) {
      parts.arrived(LEAST, LEAST / 54);
    }
    parts.arrived(LEAST, 10_000_000_000L);
    parts.arrived(LEAST, LEAST / 54);
    assertThat(parts.current()).isEqualTo(4 * LEAST);
  }

  /** Whoever takes arrivals comes late, and finds two at once. */
  @Test
  void shouldNotTakeTwoThatWereNoticedTogetherForAFastLink() {
    for (int i = 0; i < 100; i++) {
      parts.arrived(LEAST, 2 * LEAST / 12);
      parts.arrived(LEAST, 10);
    }
    assertThat(parts.current()).isEqualTo(LEAST);
  }
}
