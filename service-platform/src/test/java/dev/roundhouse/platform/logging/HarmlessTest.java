package dev.roundhouse.platform.logging;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HarmlessTest {
  @Test
  void shouldLeaveOrdinaryTextsAsTheyAre() {
    for (String text : new String[] {"", "model 'digits' \\ 7", "größer 漢字 \ud83d\ude42"}) {
      assertThat(Harmless.line(text)).isSameAs(text);
      assertThat(Harmless.lines(text)).isSameAs(text);
    }
  }

  @Test
  void shouldShowWhatCouldEndALineOrMoveACursorAsText() {
    assertThat(Harmless.line("a\nb\r\tc")).isEqualTo("a\\nb\\r\\tc");
    assertThat(Harmless.line("\u001b[31mred\u0000\u007f\u0085\u009b"))
        .isEqualTo("\\u001b[31mred\\u0000\\u007f\\u0085\\u009b");
    assertThat(Harmless.line("a\u2028b\u2029c")).isEqualTo("a\\u2028b\\u2029c");
    assertThat(Harmless.line("\u202etxt.exe\u2066\u200f\ufeff"))
        .isEqualTo("\\u202etxt.exe\\u2066\\u200f\\ufeff");
    assertThat(Harmless.line("half \ud83d of a pair, \ude42"))
        .isEqualTo("half \\ud83d of a pair, \\ude42");
  }

  @Test
  void shouldKeepEndsOfLinesWhereTheyCannotEndARecord() {
    assertThat(Harmless.lines("a\n\tb\u001b\u2028")).isEqualTo("a\n\tb\\u001b\\u2028");
  }

  @Test
  void shouldCutALongTextAndSayHowLongItWas() {
    assertThat(Harmless.line("x".repeat(8192))).hasSize(8192);
    assertThat(Harmless.line("x".repeat(1_000_000)))
        .isEqualTo("x".repeat(8192) + "... (1000000 characters)");
  }
}
