package dev.roundhouse.bundle.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.MemorySegment;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BytesLayoutTest {

  @Test
  void shouldReadWhatItWrites() {
    List<String> texts = List.of("", "a", "größer", "\0", "😀");
    MemorySegment data = BytesLayout.ofStrings(texts);
    BytesLayout.check(data, texts.size(), "it");
    assertThat(BytesLayout.strings(data)).isEqualTo(texts);
    assertThat(data.byteSize()).isEqualTo(5 * 4 + 1 + 8 + 1 + 4);
    BytesLayout.check(BytesLayout.ofStrings(List.of()), 0, "it");
  }

  @ParameterizedTest
  @CsvSource({
    "'', 1, 'expected 1 string elements for it, got 0'",
    "'', 2147483648, 'expected 2147483648 string elements for it, got 0'",
    "00000000, 9223372036854775807, 'expected 9223372036854775807 string elements for it, got 1'",
    "00000000, 0, 'unexpected number of string elements 1 for it, expecting 0'",
    "0000000000000000, 1, 'unexpected number of string elements 2 for it, expecting 1'",
    "000000, 1, 'incomplete string length indicator for it, expecting 4 bytes but only 3 bytes available'",
    "010000006101, 2, 'incomplete string length indicator for it, expecting 4 bytes but only 1 bytes available'",
    "0500000061626364, 1, 'incomplete string data for it, expecting string of length 5 but only 4 bytes available'",
    "ffffffff61, 1, 'expecting string of length 4294967295 but only 1 bytes available'",
    "00000080, 1, 'expecting string of length 2147483648 but only 0 bytes available'",
    "fcffffff00000000, 1, 'expecting string of length 4294967292 but only 4 bytes available'"
  })
  void shouldRefuseWhatIsNoWholeNumberOfElements(String hex, long elements, String text) {
    MemorySegment data = MemorySegment.ofArray(HexFormat.of().parseHex(hex));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BytesLayout.check(data, elements, "it"))
        .withMessageContaining(text);
  }

  @Test
  void shouldSayWhetherSoManyElementsCouldFit() {
    BytesLayout.requireRoom(8, 2, "it");
    BytesLayout.requireRoom(0, 0, "it");
    for (long elements : new long[] {3, 1L << 31, Long.MAX_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> BytesLayout.requireRoom(11, elements, "it"))
          .withMessage("expected %d string elements for it, got 2", elements);
    }
  }

  /** Damaged data is refused exactly where a reader that goes step by step fails. */
  @Test
  void shouldAgreeWithAReaderThatGoesStepByStep() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int refused = 0;
    for (int round = 0; round < 20_000; round++) {
      List<String> texts = new ArrayList<>();
      int count = random.nextInt(5);
      for (int i = 0; i < count; i++) {
        texts.add("x".repeat(random.nextInt(6)));
      }
      byte[] bytes = (byte[]) BytesLayout.ofStrings(texts).heapBase().orElseThrow();
      for (int damage = random.nextInt(3); damage > 0 && bytes.length > 0; damage--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(-2, 7);
      }
      int length = random.nextInt(4) == 0 ? random.nextInt(bytes.length + 1) : bytes.length;
      MemorySegment data = MemorySegment.ofArray(bytes).asSlice(0, length);
      boolean accepted = true;
      try {
        BytesLayout.check(data, count, "it");
      } catch (IllegalArgumentException e) {
        accepted = false;
        refused++;
      }
      assertThat(accepted)
          .as("seed %d, round %d", seed, round)
          .isEqualTo(isWhole(ByteBuffer.wrap(bytes, 0, length), count));
    }
    assertThat(refused).as("seed %d", seed).isBetween(1000, 19_000);
  }

  private static boolean isWhole(ByteBuffer data, int count) {
    data.order(ByteOrder.LITTLE_ENDIAN);
    try {
      for (int i = 0; i < count; i++) {
        int length = data.getInt();
        if (length < 0) {
          return false; // of 2 GiB and more
        }
        for (int at = 0; at < length; at++) {
          var unused = data.get();
        }
      }
    } catch (BufferUnderflowException e) {
      return false;
    }
    return !data.hasRemaining();
  }
}
