package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which texts are kept, and that none is taken for another. */
class NameCacheTest {
  private final NameCache names = new NameCache();

  @Test
  void shouldGiveTheSameTextForTheSameBytes() {
    String kept = keep("INPUT0");
    assertThat(find("INPUT0")).isSameAs(kept);
    assertThat(find("INPUT1")).isNull();
    assertThat(find("INPUT00")).isNull();
    assertThat(find("")).isNull();
  }

  @Test
  void shouldKeepTextsUpToTheLongest() {
    String longest = "x".repeat(NameCache.LONGEST);
    assertThat(keep(longest)).isSameAs(find(longest));
    String longer = "x".repeat(NameCache.LONGEST + 1);
    keep(longer);
    assertThat(find(longer)).isNull();
  }

  /** Many more than there are places: each is found as it is, or not at all. */
  @Test
  void shouldNeverTakeOneTextForAnother() {
    int found = 0;
    for (int i = 0; i < 20_000; i++) {
      String name = "model-with-a-long-name-" + i;
      assertThat(find(name)).isNull();
      keep(name);
      assertThat(find(name)).isEqualTo(name);
      String earlier = "model-with-a-long-name-" + i / 2;
      String known = find(earlier);
      if (known != null) {
        assertThat(known).isEqualTo(earlier);
        found++;
      }
    }
    assertThat(found).as("some are there still").isPositive();
  }

  private String keep(String text) {
    names.keep(text.getBytes(StandardCharsets.UTF_8), text);
    return text;
  }

  private @Nullable String find(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    ByteBuffer in = ByteBuffer.allocate(bytes.length + 3).order(ByteOrder.LITTLE_ENDIAN);
    in.position(3);
    in.put(bytes);
    return names.find(in, 3, bytes.length);
  }
}
