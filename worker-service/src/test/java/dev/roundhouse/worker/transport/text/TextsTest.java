package dev.roundhouse.worker.transport.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.DocumentMemory;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.transport.memory.MemoryBudget;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TextsTest {
  private long taken;

  private final DocumentMemory memory =
      new DocumentMemory(
          new MemoryHold(
              new MemoryBudget() {
                @Override
                public @Nullable String take(long bytes) {
                  taken += bytes;
                  return null;
                }

                @Override
                public void giveBack(long bytes) {
                  taken -= bytes;
                }
              }));

  @ParameterizedTest
  @ValueSource(strings = {"a", "ä", "語", "😀", "a ä 語 😀 "})
  void shouldCountTheBytesThatItKeeps(String part) {
    Texts texts = new Texts(memory, "input");
    String text = part.repeat(100_000);
    texts.add(text);
    texts.add(text);
    memory.settle();
    assertThat(texts.get(1)).isEqualTo(text.getBytes(StandardCharsets.UTF_8));
    assertThat(taken - 2L * texts.get(1).length).isBetween(32L, 128L);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a\ud83d", "\ud83da", "\ude00\ud83d", "\ud83d\ud83d\ude00"})
  void shouldRefuseHalfASurrogatePair(String text) {
    Texts texts = new Texts(memory, "input");
    texts.add("fine");
    assertThatExceptionOfType(WireException.class)
        .isThrownBy(() -> texts.add(text))
        .withMessageContaining("text 1 of 'input' has half of a surrogate pair");
  }

  @Test
  void shouldTakeManyAndNoMore() {
    Texts texts = new Texts(memory, "documents");
    for (int i = 0; i < Texts.MOST; i++) {
      texts.add("");
    }
    assertThatExceptionOfType(WireException.class)
        .isThrownBy(() -> texts.add(""))
        .withMessageContaining("'documents' has more texts than 10000");
  }
}
