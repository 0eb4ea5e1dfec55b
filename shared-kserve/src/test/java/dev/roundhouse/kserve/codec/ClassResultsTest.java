package dev.roundhouse.kserve.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ClassResultsTest {
  private static final ClassLabels ANIMALS =
      ClassLabels.parse("cat\n\nKuh: groß\n".getBytes(StandardCharsets.UTF_8));

  @Test
  void shouldTellTheHighestOfEachRow() {
    ByteBuffer scores = floats(0.25f, 0.5f, -1, 0.5f, 3, 2, 1, 4);
    assertThat(results(DType.F32, scores, 2, 4, 3, ANIMALS))
        .containsExactly(
            "0.500000:1",
            "0.500000:3",
            "0.250000:0:cat",
            "4.000000:3",
            "3.000000:0:cat",
            "2.000000:1");
    assertThat(results(DType.F32, scores, 1, 8, 100, ANIMALS))
        .hasSize(8)
        .startsWith("4.000000:7", "3.000000:4")
        .endsWith("-1.000000:2:Kuh: groß");
  }

  @Test
  void shouldSayHowMuchRoomItNeeds() {
    ClassResults three = new ClassResults(DType.F32, 11, 3, ANIMALS);
    long index = 2; // digits of 10
    long longest = "Kuh: groß".getBytes(StandardCharsets.UTF_8).length;
    long number = three.mostBytes(1) / 3 - 4 - 1 - index - 1 - longest;
    assertThat(number).as("-FLT_MAX with six digits after the point").isEqualTo(47);
    assertThat(three.mostBytes(5)).isEqualTo(5 * three.mostBytes(1));
    assertThat(three.mostBytes(0)).isZero();
    assertThat(three.scratchBytes()).isEqualTo(3 * 12);
    assertThat(new ClassResults(DType.F32, 10, 3, ANIMALS).mostBytes(1))
        .as("one digit for each of three indices less")
        .isEqualTo(three.mostBytes(1) - 3);
  }

  @Test
  void shouldPutWhatIsNoNumberLast() {
    ByteBuffer scores =
        floats(Float.NaN, Float.NEGATIVE_INFINITY, -0.0f, Float.POSITIVE_INFINITY, 0.0f, Float.NaN);
    assertThat(results(DType.F32, scores, 1, 6, 6, ClassLabels.NONE))
        .containsExactly("inf:3", "-0.000000:2", "0.000000:4", "-inf:1", "nan:0", "nan:5");
  }

  /** What {@code std::to_string} of glibc 2.36 makes of them. */
  @ParameterizedTest
  @CsvSource({
    "0x1.ad7f2ap-24, 0.000000",
    "-0x1.ad7f2ap-24, -0.000000",
    "0x1.0c6f7ap-21, 0.000000",
    "0x1.0c6f7a0b5ed8dp-21, 0.000000",
    "0x1.92a737110e454p-20, 0.000002",
    "0x1.4f8b588e368f1p-19, 0.000003",
    "0x1.000008p+0, 1.000000",
    "0x1.fffffp-1, 1.000000",
    "0x1.f9ad85dfa871ap-4, 0.123456",
    "0x1.f9ae924f227dp-4, 0.123457",
    "0x1p-7, 0.007812",
    "0x1.8p-6, 0.023438",
    "0x1.4p-5, 0.039062",
    "0x1.cp-5, 0.054688",
    "0x1p-17, 0.000008",
    "0x1p-20, 0.000001",
    "0x1p-1074, 0.000000",
    "0x1.0f0cf064dd592p+73, 10000000000000000000000.000000",
    "-0x1.fffffep+127, -340282346638528859811704183484516925440.000000",
  })
  void shouldWriteNumbersAsTritonDoes(double value, String text) {
    ByteBuffer one = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putDouble(0, value);
    assertThat(results(DType.F64, one, 1, 1, 1, ClassLabels.NONE)).containsExactly(text + ":0");
  }

  @ParameterizedTest
  @CsvSource({
    "I8, -128:0|127:1",
    "U8, 128:0|127:1",
    "I16, -32768:0|32767:1",
    "U16, 32768:0|32767:1",
    "I32, -2147483648:0|2147483647:1",
    "U32, 2147483648:0|2147483647:1",
    "I64, -9223372036854775808:0|9223372036854775807:1",
    "U64, 9223372036854775808:0|9223372036854775807:1",
  })
  void shouldRankByTheTypesOwnOrder(DType dtype, String largestAndSmallest) {
    int size = dtype.byteSize();
    ByteBuffer values = ByteBuffer.allocate(2 * size);
    values.put(size - 1, (byte) 0x80);
    for (int i = size; i < 2 * size; i++) {
      values.put(i, (byte) (i == 2 * size - 1 ? 0x7f : 0xff));
    }
    String[] texts = largestAndSmallest.split("\\|");
    List<String> expected =
        texts[0].startsWith("-") ? List.of(texts[1], texts[0]) : List.of(texts[0], texts[1]);
    assertThat(results(dtype, values, 1, 2, 2, ClassLabels.NONE)).isEqualTo(expected);
  }

  @Test
  void shouldKeepTheBestWhateverTheOrderTheyComeIn() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      int elements = 1 + random.nextInt(40);
      int classes = 1 + random.nextInt(elements + 3);
      ByteBuffer values = ByteBuffer.allocate(elements);
      IntStream.range(0, elements).forEach(i -> values.put(i, (byte) random.nextInt(8)));
      List<String> expected =
          IntStream.range(0, elements)
              .boxed()
              .sorted(Comparator.comparingInt(i -> -values.get(i)))
              .limit(classes)
              .map(i -> values.get(i) + ":" + i)
              .toList();
      assertThat(results(DType.I8, values, 1, elements, classes, ClassLabels.NONE))
          .as("seed %d", seed)
          .isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"F32", "F64"})
  void shouldPromiseRoomForTheLongestTexts(DType dtype) {
    ByteBuffer values = ByteBuffer.allocate(11 * dtype.byteSize()).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < 11; i++) {
      if (dtype == DType.F32) {
        values.putFloat(4 * i, -Float.MAX_VALUE);
      } else {
        values.putDouble(8 * i, -Double.MAX_VALUE);
      }
    }
    ClassLabels labels = ClassLabels.parse("wide\n".repeat(11).getBytes(StandardCharsets.UTF_8));
    ClassResults results = new ClassResults(dtype, 11, 11, labels);
    ByteBuffer to = ByteBuffer.allocate((int) results.mostBytes(1)).order(ByteOrder.LITTLE_ENDIAN);
    results.write(values, 1, to);
    assertThat(to.position()).isEqualTo(to.capacity() - 10); // the first ten have one digit less
  }

  @ParameterizedTest
  @EnumSource(
      value = DType.class,
      names = {"BOOL", "F16", "BF16", "BYTES"})
  void shouldRefuseWhatTritonDoesNotRank(DType dtype) {
    assertThatThrownBy(() -> new ClassResults(dtype, 1, 1, ClassLabels.NONE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "class result not available for output due to unsupported type '%s'"
                .formatted(dtype.wireName()));
  }

  @Test
  void shouldRefuseMoreElementsThanTritonRanks() {
    assertThat(new ClassResults(DType.U8, 1_000_000, 1, ClassLabels.NONE).classes()).isOne();
    assertThatThrownBy(() -> new ClassResults(DType.U8, 1_000_001, 1, ClassLabels.NONE))
        .hasMessageContaining("classification output tensor too large")
        .hasMessageContaining("1000001 elements and the limit is 1000000");
  }

  @Test
  void shouldCountWithoutOverflowWhateverIsAskedFor() {
    ClassLabels longest = ClassLabels.parse(new byte[16 << 20]);
    ClassResults results = new ClassResults(DType.F64, 1_000_000, Long.MAX_VALUE, longest);
    assertThat(results.classes()).isEqualTo(1_000_000);
    assertThat(results.mostBytes(1 << 20)).isEqualTo(1L << 40);
    assertThat(new ClassResults(DType.F64, 0, 5, longest).mostBytes(7)).isZero();
  }

  private static ByteBuffer floats(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return bytes.flip();
  }

  private static List<String> results(
      DType dtype, ByteBuffer values, int rows, int elements, long classes, ClassLabels labels) {
    ClassResults results = new ClassResults(dtype, elements, classes, labels);
    ByteBuffer to =
        ByteBuffer.allocate((int) results.mostBytes(rows)).order(ByteOrder.LITTLE_ENDIAN);
    results.write(values, rows, to);
    to.flip();
    List<String> texts = new ArrayList<>();
    while (to.hasRemaining()) {
      byte[] text = new byte[to.getInt()];
      to.get(text);
      texts.add(new String(text, StandardCharsets.UTF_8));
    }
    assertThat(texts).hasSize(rows * results.classes());
    return texts;
  }
}
