package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.testing.SampleContext;
import dev.roundhouse.hooks.testing.SampleRequest;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FacesExampleTest {
  private static final int ACROSS = 160;
  private static final int CELLS = ACROSS * 120;

  private static final SampleContext MODEL = new SampleContext("faces", Path.of("."), Map.of());

  private static ExampleHooks<ModelHooks> example;
  private static ModelHooks hooks;

  private final float[] heat = new float[CELLS];
  private final float[] size = new float[2 * CELLS];
  private final float[] offset = new float[2 * CELLS];
  private final float[] points = new float[10 * CELLS];

  @BeforeAll
  static void compile(@TempDir Path folder) throws Exception {
    example = ExampleHooks.compile("faces", folder);
    hooks = example.hooks();
    hooks.open(MODEL);
  }

  @AfterAll
  static void close() throws IOException {
    example.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"png", "jpeg"})
  void shouldFitAPictureIntoTheTopLeftOfTheInput(String format) throws Exception {
    BufferedImage picture = new BufferedImage(1280, 480, BufferedImage.TYPE_INT_RGB);
    fill(picture, 0x0ac81e);
    Tensor image = hooks.preprocess(request(file(picture, format))).get("image");
    assertThat(image.shape().dims()).containsExactly(1, 3, 480, 640);
    float[] expected = {0x0a, 0xc8, 0x1e};
    FloatBuffer values = image.f32();
    for (int c = 0; c < 3; c++) {
      for (int y = 0; y < 480; y++) {
        for (int x = 0; x < 640; x++) {
          float value = values.get((c * 480 + y) * 640 + x);
          assertThat(value)
              .isBetween(
                  y < 240 ? expected[c] - 2 : 0, y < 240 ? expected[c] + 2 : 0); // what JPEG loses
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "3, 7", "4000, 2", "640, 480"})
  void shouldTakePicturesOfAnyShape(int width, int height) throws Exception {
    BufferedImage picture = new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
    fill(picture, 0xff646464);
    FloatBuffer values = hooks.preprocess(request(file(picture, "png"))).get("image").f32();
    assertThat(values.get(0)).isEqualTo(100, within());
  }

  @Test
  void shouldMeanOverPixelsWhenAPictureIsMadeSmaller() throws Exception {
    BufferedImage picture = new BufferedImage(1280, 960, BufferedImage.TYPE_INT_RGB);
    for (int y = 0; y < 960; y++) {
      for (int x = 0; x < 1280; x++) {
        picture.setRGB(x, y, x % 2 == 0 ? 0xffffff : 0);
      }
    }
    FloatBuffer values = hooks.preprocess(request(file(picture, "png"))).get("image").f32();
    assertThat(values.get(320)).isEqualTo(127.5f, within());
  }

  @ParameterizedTest
  @ValueSource(ints = {BufferedImage.TYPE_BYTE_GRAY, BufferedImage.TYPE_USHORT_GRAY})
  void shouldTakeGreyAsItIs(int type) throws Exception {
    BufferedImage picture = new BufferedImage(640, 480, type);
    int value = type == BufferedImage.TYPE_BYTE_GRAY ? 100 : 100 << 8;
    int[] row = new int[640];
    Arrays.fill(row, value);
    for (int y = 0; y < 480; y++) {
      picture.getRaster().setPixels(0, y, 640, 1, row);
    }
    FloatBuffer values = hooks.preprocess(request(file(picture, "png"))).get("image").f32();
    assertThat(values.get(0)).isEqualTo(100, within());
  }

  @Test
  void shouldAnswerInThePicturesPixels() throws Exception {
    int cell = 30 * ACROSS + 40;
    face(cell, 0.9f, 10, 5);
    offset[cell] = 0.25f; // down
    points[cell] = 0.5f; // first landmark, down
    points[CELLS + cell] = 0.25f;
    Tensors answer = answer(1280, 960); // twice the program's
    // 40 high and 20 wide around (40.5, 30.75) * 4
    assertThat(floats(answer, "boxes")).containsExactly(new float[] {304, 206, 344, 286}, within());
    assertThat(floats(answer, "scores")).containsExactly(0.9f);
    assertThat(answer.get("landmarks").shape().dims()).containsExactly(1, 5, 2);
    assertThat(Arrays.copyOf(floats(answer, "landmarks"), 4))
        .containsExactly(new float[] {314, 246, 304, 206}, within());
  }

  @Test
  void shouldKeepTheBestOfBoxesThatOverlapAndCutThemAtTheBorder() throws Exception {
    face(0, 0.6f, 10, 10);
    face(1, 0.8f, 10, 10);
    face(100, 0.7f, 10, 10);
    face(50, 0.5f, 10, 10); // which is not enough
    Tensors answer = answer(640, 480);
    assertThat(floats(answer, "scores")).containsExactly(0.8f, 0.7f);
    assertThat(Arrays.copyOf(floats(answer, "boxes"), 4))
        .containsExactly(new float[] {0, 0, 26, 22}, within());
  }

  @Test
  void shouldAnswerWithNothingWhenThereIsNoFace() throws Exception {
    Tensors answer = answer(640, 480);
    assertThat(answer.get("boxes").shape().dims()).containsExactly(0, 4);
    assertThat(answer.get("scores").shape().dims()).containsExactly(0);
    assertThat(answer.get("landmarks").shape().dims()).containsExactly(0, 5, 2);
  }

  @Test
  void shouldRefuseWhatIsNoPicture() throws Exception {
    refused("hello".getBytes(StandardCharsets.UTF_8), "has 5 bytes that are no picture");
    refused(new byte[0], "has 0 bytes that are no picture");
    BufferedImage picture = new BufferedImage(64, 64, BufferedImage.TYPE_INT_RGB);
    refused(file(picture, "gif"), "send a PNG or a JPEG");
    byte[] whole = file(picture, "png");
    refused(Arrays.copyOf(whole, whole.length / 2), "cannot be decoded");
    refused(Arrays.copyOf(whole, 20), "cannot be decoded");
  }

  @Test
  void shouldRefusePicturesOfTooManyPixels() throws Exception {
    refused(
        file(new BufferedImage(4001, 4000, BufferedImage.TYPE_BYTE_BINARY), "png"),
        "'picture' has 4001 x 4000 pixels; send 16000000 at most");
    refused(
        file(new BufferedImage(10_001, 1, BufferedImage.TYPE_BYTE_BINARY), "png"),
        "10000 on a side");
  }

  private void face(int cell, float score, float height, float width) {
    heat[cell] = score;
    size[cell] = (float) Math.log(height);
    size[CELLS + cell] = (float) Math.log(width);
  }

  private Tensors answer(int width, int height) throws Exception {
    BufferedImage picture = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    SampleRequest request = request(file(picture, "png"));
    Tensors unused = hooks.preprocess(request);
    return hooks.postprocess(
        request,
        Tensors.of(
            SampleRequest.f32("heatmap", heat, 1, 1, 120, 160),
            SampleRequest.f32("size", size, 1, 2, 120, 160),
            SampleRequest.f32("offset", offset, 1, 2, 120, 160),
            SampleRequest.f32("points", points, 1, 10, 120, 160)));
  }

  private static void refused(byte[] file, String message) {
    assertThatExceptionOfType(HookException.class)
        .isThrownBy(() -> hooks.preprocess(request(file)))
        .withMessageContaining(message)
        .satisfies(e -> assertThat(e.code()).isEqualTo(HookException.Code.INVALID_ARGUMENT));
  }

  private static SampleRequest request(byte[] file) {
    return new SampleRequest(MODEL).with(r -> r.bytes("picture", List.of(file), 1));
  }

  private static float[] floats(Tensors tensors, String name) {
    assertThat(tensors.get(name).dtype()).isEqualTo(DType.F32);
    FloatBuffer values = tensors.get(name).f32();
    float[] copy = new float[values.remaining()];
    FloatBuffer unused = values.get(copy);
    return copy;
  }

  private static void fill(BufferedImage picture, int rgb) {
    for (int y = 0; y < picture.getHeight(); y++) {
      for (int x = 0; x < picture.getWidth(); x++) {
        picture.setRGB(x, y, rgb);
      }
    }
  }

  private static byte[] file(BufferedImage picture, String format) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    assertThat(ImageIO.write(picture, format, bytes)).isTrue();
    return bytes.toByteArray();
  }

  private static Offset<Float> within() {
    return Offset.offset(1e-3f);
  }
}
