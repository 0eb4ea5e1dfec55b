package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClassifyExampleTest {
  private static final int HALF = 1024;
  private static final int PADDING = 256;

  private ExampleHooks<ModelHooks> example;
  private SampleContext model;

  @BeforeEach
  void open(@TempDir Path folder) throws Exception {
    example = ExampleHooks.compile("classify", folder);
    Files.writeString(
        folder.resolve("kinds.tsv"), "java\t0.5\ttxt\nmarkdown\t0.75\ttxt\nelf\t0.5\tunknown\n");
    model = new SampleContext("magika", folder, Map.of());
    example.hooks().open(model);
  }

  @AfterEach
  void close() throws Exception {
    example.close();
  }

  @Test
  void shouldShowBothEndsWithoutTheSpaceAroundThem() throws Exception {
    int[] seen = seen(bytes(" \n\u000b12345678 9 \r\n"));
    assertThat(seen).hasSize(2 * HALF);
    assertThat(seen).startsWith('1', '2', '3', '4', '5', '6', '7', '8', ' ', '9', ' ', '\r', '\n');
    assertThat(seen[13]).isEqualTo(PADDING);
    assertThat(seen[HALF - 1]).isEqualTo(PADDING);
    assertThat(seen[2 * HALF - 14]).isEqualTo(PADDING);
    assertThat(seen).endsWith(' ', '\n', 0x0b, '1', '2', '3', '4', '5', '6', '7', '8', ' ', '9');
  }

  @Test
  void shouldLookNoFurtherThanABlockFromEachEnd() throws Exception {
    int[] seen = seen(bytes(" ".repeat(4090) + "beginx" + "middle" + "endend" + " ".repeat(4090)));
    assertThat(seen).startsWith('b', 'e', 'g', 'i', 'n', 'x', PADDING);
    assertThat(seen).endsWith(PADDING, 'e', 'n', 'd', 'e', 'n', 'd');
    int[] large = seen(bytes("b".repeat(3000) + "\u00ff" + "e".repeat(3000)));
    assertThat(large).containsOnly('b', 'e');
    assertThat(large[HALF - 1]).isEqualTo('b');
    assertThat(large[HALF]).isEqualTo('e');
  }

  @Test
  void shouldAnswerWithTheBestKindOrAPlainOneWhenItIsNotSure() throws Exception {
    float[] scores = {0.6f, 0.3f, 0.1f, /**/ 0.2f, 0.7f, 0.1f, /**/ 0.3f, 0.3f, 0.4f};
    Tensors answer = answer(scores, bytes("12345678"), bytes("12345678"), bytes("12345678"));
    assertThat(answer.get("label").strings()).containsExactly("java", "txt", "unknown");
    assertThat(answer.get("score").f32().get(1)).isEqualTo(0.7f);
  }

  @Test
  void shouldNotAskTheProgramOfFewBytes() throws Exception {
    float[] scores = new float[15];
    scores[12] = 1; // the last row's first kind
    Tensors answer =
        answer(
            scores,
            new byte[0],
            bytes(" \n 1234567 \n"),
            new byte[] {(byte) 0xc3, 0x28},
            bytes(" ".repeat(10_000)),
            bytes("12345678"));
    assertThat(answer.get("label").strings())
        .containsExactly("empty", "txt", "unknown", "txt", "java");
    assertThat(answer.get("score").f32().get(0)).isEqualTo(1);
  }

  private int[] seen(byte[] file) throws Exception {
    IntBuffer values = example.hooks().preprocess(request(file)).get("bytes").i32();
    int[] copy = new int[values.remaining()];
    IntBuffer unused = values.get(copy);
    return copy;
  }

  private Tensors answer(float[] scores, byte[]... files) throws Exception {
    SampleRequest request = request(files);
    Tensors unused = example.hooks().preprocess(request);
    Tensor program = SampleRequest.f32("target_label", scores, files.length, 3);
    return example.hooks().postprocess(request, Tensors.of(program));
  }

  private SampleRequest request(byte[]... files) {
    return new SampleRequest(model).with(r -> r.bytes("file", List.of(files), files.length));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }
}
