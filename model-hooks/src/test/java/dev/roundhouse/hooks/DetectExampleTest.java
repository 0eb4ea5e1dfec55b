package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.testing.SampleCalls;
import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DetectExampleTest {
  private static final int SIDE = 192;
  private static final int CHANNELS = 48;
  private static final int CLASSES = 3;
  private static final int ANCHORS = 24 * 24 * 2 + 12 * 12 * 2 + 6 * 6 * 2;

  @TempDir Path folder;
  private ExampleHooks<MetaModel> example;
  private SampleContext model;

  @BeforeEach
  void compile() throws Exception {
    example = ExampleHooks.compile(MetaModel.class, "detect", folder);
    model = new SampleContext("detect", folder, Map.of());
  }

  @AfterEach
  void close() throws Exception {
    example.close();
  }

  @Test
  void shouldSayWhatIsAtTheAnchorsWhenNothingIsMoved() throws Exception {
    open(new float[] {10, 20, 50, 60}, new float[] {100, 100, 140, 150});
    SampleRequest request = request(SIDE, SIDE);
    SampleCalls calls = halves(request, new float[] {0, 0.1f, 0.9f}, new float[] {0.2f, 0.8f, 0});
    Tensors answer = example.hooks().run(request, calls);
    assertThat(floats(answer, "boxes")).containsExactly(10, 20, 50, 60, 100, 100, 140, 150);
    assertThat(floats(answer, "scores")).containsExactly(0.9f, 0.8f);
    assertThat(answer.get("labels").i64().get(0)).isEqualTo(2);
    assertThat(answer.get("labels").i64().get(1)).isEqualTo(1);
    assertThat(answer.get("names").strings()).containsExactly("square", "circle");
    assertThat(calls.called()).containsExactly("proposer", "box-head");
    assertThat(calls.isFinished()).isTrue();
  }

  @Test
  void shouldAnswerInThePicturesPixelsWhenItIsLarger() throws Exception {
    open(new float[] {10, 20, 50, 60}, new float[] {150, 40, 190, 120});
    SampleRequest request = request(SIDE, 2 * SIDE);
    SampleCalls calls = halves(request, new float[] {0, 0.9f, 0.1f}, new float[] {0, 0.8f, 0.2f});
    Tensors answer = example.hooks().run(request, calls);
    assertThat(floats(answer, "boxes"))
        .as("none ends below the picture")
        .containsExactly(20, 40, 100, 120, 300, 80, 380, SIDE);
    FloatBuffer fitted = calls.made().getFirst().inputs().get("image").f32();
    assertThat(fitted.get((SIDE / 2 - 1) * SIDE)).as("the last row of the picture").isEqualTo(1);
    assertThat(fitted.get(SIDE / 2 * SIDE)).as("below it").isZero();
  }

  @Test
  void shouldSuppressWithinAKindAlone() throws Exception {
    open(new float[] {10, 20, 50, 60}, new float[] {18, 20, 58, 60});
    SampleRequest request = request(SIDE, SIDE);
    float[] circle = {0, 0.9f, 0.1f};
    float[] lessOfACircle = {0.2f, 0.8f, 0};
    float[] square = {0.2f, 0, 0.8f};
    Tensors same = example.hooks().run(request, halves(request, circle, lessOfACircle));
    assertThat(same.get("names").strings()).containsExactly("circle");
    Tensors different = example.hooks().run(request, halves(request, circle, square));
    assertThat(different.get("names").strings()).containsExactly("circle", "square");
  }

  @Test
  void shouldLeaveOutWhatIsUnlikelyOrNothing() throws Exception {
    open(new float[] {10, 20, 50, 60}, new float[] {100, 100, 140, 150});
    SampleRequest request = request(SIDE, SIDE);
    SampleCalls calls =
        halves(request, new float[] {0.9f, 0.1f, 0}, new float[] {0.3f, 0.4f, 0.3f});
    Tensors answer = example.hooks().run(request, calls);
    assertThat(answer.get("boxes").shape().dims()).containsExactly(0, 4);
    assertThat(answer.get("names").strings()).isEmpty();
  }

  @Test
  void shouldNotAskWhatIsThereWhenNothingIsProposed() throws Exception {
    open();
    SampleRequest request = request(SIDE, SIDE);
    SampleCalls calls = halves(request);
    Tensors answer = example.hooks().run(request, calls);
    assertThat(answer.get("boxes").shape().dims()).containsExactly(0, 4);
    assertThat(calls.called()).containsExactly("proposer");
  }

  @Test
  void shouldRefuseAPictureWithoutPixels() throws Exception {
    open();
    SampleRequest request = request(8, 0);
    assertThatExceptionOfType(HookException.class)
        .isThrownBy(() -> example.hooks().run(request, halves(request)))
        .withMessageContaining("no pixels");
  }

  /** Anchors of the finest level; all others have no area, and so propose nothing. */
  private void open(float[]... anchors) throws Exception {
    ByteBuffer file = ByteBuffer.allocate(ANCHORS * 16).order(ByteOrder.LITTLE_ENDIAN);
    for (float[] anchor : anchors) {
      for (float side : anchor) {
        file.putFloat(side);
      }
    }
    Files.write(folder.resolve("anchors.f32"), file.array());
    Files.writeString(folder.resolve("names.txt"), "nothing\ncircle\nsquare");
    example.hooks().open(model);
  }

  /** White. */
  private SampleRequest request(int height, int width) {
    return new SampleRequest(model)
        .with(
            r -> {
              Tensor image = r.tensor("image", DType.U8, height, width, 3);
              image.segment().fill((byte) 255);
              return image;
            });
  }

  private static float[] floats(Tensors answer, String name) {
    FloatBuffer values = answer.get(name).f32();
    float[] copy = new float[values.remaining()];
    values.get(copy);
    return copy;
  }

  /** Proposes the anchors as they are, the first as the likeliest, and then says these scores. */
  private static SampleCalls halves(HookRequest request, float[]... scores) {
    return new SampleCalls()
        .with("proposer", inputs -> proposals(request))
        .with("box-head", inputs -> what(request, inputs.get("rois"), scores));
  }

  private static Tensors proposals(HookRequest request) {
    Tensor objectness = request.tensor("objectness", DType.F32, 1, ANCHORS);
    for (int i = 0; i < ANCHORS; i++) {
      objectness.f32().put(i, -i);
    }
    Tensor fine = request.tensor("fine", DType.F32, 1, CHANNELS, 24, 24);
    for (int i = 0; i < CHANNELS * 24 * 24; i++) {
      fine.f32().put(i, 1);
    }
    return Tensors.of(
        objectness,
        request.tensor("deltas", DType.F32, 1, ANCHORS, 4),
        fine,
        request.tensor("coarse", DType.F32, 1, CHANNELS, 12, 12));
  }

  private static Tensors what(HookRequest request, Tensor rois, float[]... scores) {
    assertThat(rois.shape().dims()).containsExactly(scores.length, CHANNELS, 7, 7);
    assertThat(rois.f32().get(0)).as("of the fine level").isEqualTo(1);
    Tensor told = request.tensor("scores", DType.F32, scores.length, CLASSES);
    FloatBuffer into = told.f32();
    for (float[] row : scores) {
      into.put(row);
    }
    return Tensors.of(told, request.tensor("deltas", DType.F32, scores.length, CLASSES * 4));
  }
}
