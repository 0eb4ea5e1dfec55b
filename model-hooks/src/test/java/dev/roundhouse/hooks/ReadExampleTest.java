package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.testing.SampleCalls;
import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadExampleTest {
  private static final int SIDE = 640;

  private ExampleHooks<MetaModel> example;
  private SampleContext model;

  @BeforeEach
  void open(@TempDir Path folder) throws Exception {
    example = ExampleHooks.compile(MetaModel.class, "read", folder);
    Files.writeString(folder.resolve("characters.txt"), "a\nb\nc");
    model = new SampleContext("read", folder, Map.of());
    example.hooks().open(model);
  }

  @AfterEach
  void close() throws Exception {
    example.close();
  }

  @Test
  void shouldReadWhatIsFoundFromTheTopDown() throws Exception {
    SampleRequest request = request(200, 300);
    SampleCalls calls = found(request, new int[] {20, 100, 60, 110}, new int[] {30, 40, 280, 52});
    Tensors answer = example.hooks().run(request, calls);
    assertThat(answer.get("text").strings()).containsExactly("ab c", "ab c");
    assertThat(answer.get("boxes").shape().dims()).containsExactly(2, 4);
    float left = answer.get("boxes").f32().get(0);
    float top = answer.get("boxes").f32().get(1);
    assertThat(left).as("larger than what is marked").isBetween(15f, 29f);
    assertThat(top).isBetween(25f, 39f);
    assertThat(answer.get("scores").f32().get(0)).isEqualTo(0.9f);
    assertThat(calls.called()).containsExactly("finder", "reader-320", "reader-640");
    assertThat(calls.isFinished()).isTrue();
  }

  @Test
  void shouldAnswerWithNothingWhereThereIsNoText() throws Exception {
    SampleRequest request = request(48, 64);
    SampleCalls calls = found(request);
    Tensors answer = example.hooks().run(request, calls);
    assertThat(answer.get("text").strings()).isEmpty();
    assertThat(answer.get("boxes").shape().dims()).containsExactly(0, 4);
    assertThat(calls.called()).containsExactly("finder");
  }

  @Test
  void shouldRefuseAPictureWithoutPixels() {
    SampleRequest request = request(0, 8);
    assertThatExceptionOfType(HookException.class)
        .isThrownBy(() -> example.hooks().run(request, found(request)))
        .withMessageContaining("no pixels");
  }

  private SampleRequest request(int height, int width) {
    return new SampleRequest(model).with(r -> r.tensor("image", DType.U8, height, width, 3));
  }

  /** Finds text in these boxes, each of left, top, right and bottom, and reads {@code ab c}. */
  private static SampleCalls found(HookRequest request, int[]... boxes) {
    return new SampleCalls()
        .with("finder", inputs -> text(request, boxes))
        .with("reader-320", inputs -> classes(request, inputs.get("crops").dim(0)))
        .with("reader-640", inputs -> classes(request, inputs.get("crops").dim(0)));
  }

  private static Tensors text(HookRequest request, int[]... boxes) {
    Tensor text = request.tensor("text", DType.F32, 1, 1, SIDE, SIDE);
    for (int[] box : boxes) {
      for (int y = box[1]; y < box[3]; y++) {
        for (int x = box[0]; x < box[2]; x++) {
          text.f32().put(y * SIDE + x, 0.9f);
        }
      }
    }
    return Tensors.of(text);
  }

  /** Classes are none, a, b, c and space. */
  private static Tensors classes(HookRequest request, int rows) {
    int[] steps = {1, 1, 0, 2, 4, 3, 4};
    Tensor classes = request.tensor("classes", DType.F32, rows, steps.length, 5);
    for (int row = 0; row < rows; row++) {
      for (int step = 0; step < steps.length; step++) {
        classes.f32().put((row * steps.length + step) * 5 + steps[step], 0.9f);
      }
    }
    return Tensors.of(classes);
  }
}
