import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import dev.roundhouse.hooks.detection.DetectionGlue;
import java.awt.image.BufferedImage;
import java.awt.image.ComponentColorModel;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.Semaphore;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;
import javax.imageio.stream.MemoryCacheImageInputStream;

/** Callers send a picture as a file's bytes, and get the faces in it, in the picture's pixels. */
class Model implements ModelHooks {
  private static final int WIDTH = 640; // as the program is compiled
  private static final int HEIGHT = 480;
  private static final int CELL = 4; // pixels that one value of the program's outputs stands for
  private static final int CELLS_ACROSS = WIDTH / CELL;
  private static final int CELLS = CELLS_ACROSS * (HEIGHT / CELL);
  private static final int LANDMARKS = 5; // eyes, nose, corners of the mouth
  private static final float LOWEST_SCORE = 0.5f;
  private static final double OVERLAP = 0.3;

  /** Decoded pictures lie on the heap that all models share: 64 MB each, two at a time. */
  private static final long MOST_PIXELS = 16_000_000;

  private static final int LONGEST_SIDE = 10_000;

  private static final Set<String> FORMATS = Set.of("png", "JPEG"); // as ImageIO names them

  private final Semaphore decoding = new Semaphore(2);

  /** What postprocess needs of the picture: its size, and how much of the input it covers. */
  private record Fit(int width, int height, int fittedWidth, int fittedHeight) {
    static Fit of(BufferedImage picture) {
      int width = picture.getWidth();
      int height = picture.getHeight();
      double scale = Math.min((double) WIDTH / width, (double) HEIGHT / height);
      return new Fit(
          width,
          height,
          Math.max(1, (int) Math.round(width * scale)),
          Math.max(1, (int) Math.round(height * scale)));
    }

    float across() {
      return (float) width / fittedWidth;
    }

    float down() {
      return (float) height / fittedHeight;
    }
  }

  /** ImageIO keeps the context class loader of its first user for good, which shall not be ours. */
  @Override
  public void open(ModelContext model) {
    Thread thread = Thread.currentThread();
    ClassLoader own = thread.getContextClassLoader();
    thread.setContextClassLoader(ClassLoader.getPlatformClassLoader());
    try {
      boolean unused = ImageIO.getUseCache();
    } finally {
      thread.setContextClassLoader(own);
    }
  }

  // --- before the program: the picture's pixels, fitted into the top left of its input

  @Override
  public Tensors preprocess(HookRequest request) throws InterruptedException {
    ByteBuffer file = request.input("picture").bytes(0);
    Tensor image = request.tensor("image", DType.F32, 1, 3, HEIGHT, WIDTH);
    decoding.acquire();
    try {
      BufferedImage picture = decoded(file);
      Fit fit = Fit.of(picture);
      resize(picture, fit, image.f32());
      request.attach(fit);
    } finally {
      decoding.release();
    }
    return Tensors.of(image);
  }

  private static BufferedImage decoded(ByteBuffer file) {
    byte[] bytes = new byte[file.remaining()];
    file.get(bytes);
    // ImageIO.createImageInputStream would make a temporary file
    try (var stream = new MemoryCacheImageInputStream(new ByteArrayInputStream(bytes))) {
      ImageReader reader = reader(stream, bytes.length);
      try {
        reader.setInput(stream, true, true);
        int width = reader.getWidth(0); // of the header: nothing is decoded yet
        int height = reader.getHeight(0);
        if ((long) width * height > MOST_PIXELS || Math.max(width, height) > LONGEST_SIDE) {
          throw HookException.invalid(
              "'picture' has %d x %d pixels; send %d at most, and %d on a side"
                  .formatted(width, height, MOST_PIXELS, LONGEST_SIDE));
        }
        return reader.read(0);
      } finally {
        reader.dispose();
      }
    } catch (HookException e) {
      throw e;
    } catch (IOException | RuntimeException e) { // readers throw either for a damaged file
      throw HookException.invalid("'picture' cannot be decoded: " + e.getMessage());
    }
  }

  private static ImageReader reader(ImageInputStream stream, int size) {
    for (Iterator<ImageReader> all = ImageIO.getImageReaders(stream); all.hasNext(); ) {
      ImageReader reader = all.next();
      if (FORMATS.contains(reader.getOriginatingProvider().getFormatNames()[0])) {
        return reader;
      }
      reader.dispose();
    }
    throw HookException.invalid(
        "'picture' has %d bytes that are no picture; send a PNG or a JPEG".formatted(size));
  }

  /** Writes {@code [3, HEIGHT, WIDTH]}, 0 to 255, first along rows and then along columns. */
  private static void resize(BufferedImage picture, Fit fit, FloatBuffer into) {
    int width = fit.width();
    Resampling across = new Resampling(width, fit.fittedWidth());
    Resampling down = new Resampling(fit.height(), fit.fittedHeight());
    double[][] out = new double[fit.fittedHeight()][3 * fit.fittedWidth()];
    double[] narrowed = new double[3 * fit.fittedWidth()];
    int[] row = new int[width];
    double[] channel = new double[width];
    int first = 0; // row of the output that the current one of the picture may still belong to
    for (int y = 0; y < fit.height(); y++) {
      readRow(picture, y, row);
      for (int c = 0; c < 3; c++) {
        for (int x = 0; x < width; x++) {
          channel[x] = (row[x] >> (16 - 8 * c)) & 0xff;
        }
        across.apply(channel, narrowed, c * fit.fittedWidth());
      }
      while (down.end(first) <= y) {
        first++;
      }
      for (int o = first; o < out.length && down.start(o) <= y; o++) {
        double weight = down.weight(o, y);
        for (int i = 0; i < narrowed.length; i++) {
          out[o][i] += weight * narrowed[i];
        }
      }
    }
    for (int c = 0; c < 3; c++) {
      for (int y = 0; y < out.length; y++) {
        for (int x = 0; x < fit.fittedWidth(); x++) {
          into.put((c * HEIGHT + y) * WIDTH + x, (float) out[y][c * fit.fittedWidth() + x]);
        }
      }
    }
  }

  /** As 0xRRGGBB. Java takes grey for linear light and would brighten it. */
  private static void readRow(BufferedImage picture, int y, int[] row) {
    if (!(picture.getColorModel() instanceof ComponentColorModel grey)
        || grey.getNumColorComponents() != 1) {
      picture.getRGB(0, y, row.length, 1, row, 0, row.length);
      return;
    }
    picture.getRaster().getSamples(0, y, row.length, 1, 0, row);
    int bits = grey.getComponentSize(0);
    for (int x = 0; x < row.length; x++) {
      int value = bits > 8 ? row[x] >> (bits - 8) : row[x];
      row[x] = value * 0x010101;
    }
  }

  /** Each output is a mean of the inputs near it, with weights that fall off linearly. */
  private static final class Resampling {
    private final int[] starts;
    private final double[][] weights;

    Resampling(int from, int to) {
      double scale = (double) from / to;
      double reach = Math.max(1, scale);
      starts = new int[to];
      weights = new double[to][];
      for (int i = 0; i < to; i++) {
        double centre = (i + 0.5) * scale;
        int start = Math.max(0, (int) Math.floor(centre - reach));
        int end = Math.min(from, (int) Math.ceil(centre + reach));
        double[] all = new double[end - start];
        double sum = 0;
        for (int k = 0; k < all.length; k++) {
          all[k] = Math.max(0, 1 - Math.abs((start + k + 0.5 - centre) / reach));
          sum += all[k];
        }
        for (int k = 0; k < all.length; k++) {
          all[k] /= sum;
        }
        starts[i] = start;
        weights[i] = all;
      }
    }

    int start(int output) {
      return starts[output];
    }

    int end(int output) {
      return starts[output] + weights[output].length;
    }

    double weight(int output, int input) {
      return weights[output][input - starts[output]];
    }

    void apply(double[] values, double[] into, int at) {
      for (int i = 0; i < starts.length; i++) {
        double sum = 0;
        double[] all = weights[i];
        for (int k = 0; k < all.length; k++) {
          sum += all[k] * values[starts[i] + k];
        }
        into[at + i] = sum;
      }
    }
  }

  // --- behind the program: boxes of the cells that say "face", and of each face the best one

  @Override
  public Tensors postprocess(HookRequest request, Tensors outputs) {
    Fit fit = request.attachment(Fit.class);
    FloatBuffer heat = outputs.get("heatmap").f32(); // [1, 1, 120, 160]
    FloatBuffer size = outputs.get("size").f32(); // [1, 2, 120, 160]: height, width; logarithms
    FloatBuffer offset = outputs.get("offset").f32(); // [1, 2, 120, 160]: down, across
    FloatBuffer points = outputs.get("points").f32(); // [1, 10, 120, 160]: down, across, five times
    int[] cells = new int[CELLS];
    int found = 0;
    for (int cell = 0; cell < CELLS; cell++) {
      if (heat.get(cell) > LOWEST_SCORE) {
        cells[found++] = cell;
      }
    }
    FloatBuffer boxes = FloatBuffer.allocate(found * 4);
    FloatBuffer scores = FloatBuffer.allocate(found);
    FloatBuffer landmarks = FloatBuffer.allocate(found * LANDMARKS * 2);
    for (int i = 0; i < found; i++) {
      int cell = cells[i];
      float height = (float) Math.exp(size.get(cell)) * CELL;
      float width = (float) Math.exp(size.get(CELLS + cell)) * CELL;
      float y = (cell / CELLS_ACROSS + offset.get(cell) + 0.5f) * CELL;
      float x = (cell % CELLS_ACROSS + offset.get(CELLS + cell) + 0.5f) * CELL;
      float left = x - width / 2;
      float top = y - height / 2;
      boxes.put(left * fit.across()).put(top * fit.down());
      boxes.put((left + width) * fit.across()).put((top + height) * fit.down());
      scores.put(heat.get(cell));
      for (int p = 0; p < LANDMARKS; p++) {
        landmarks.put((left + points.get((2 * p + 1) * CELLS + cell) * width) * fit.across());
        landmarks.put((top + points.get(2 * p * CELLS + cell) * height) * fit.down());
      }
    }
    DetectionGlue.clip(boxes.flip(), fit.height(), fit.width());
    int[] kept = DetectionGlue.nms(boxes, scores.flip(), OVERLAP);
    return Tensors.of(
        taken(request.tensor("boxes", DType.F32, kept.length, 4), boxes, kept),
        taken(request.tensor("scores", DType.F32, kept.length), scores, kept),
        taken(request.tensor("landmarks", DType.F32, kept.length, LANDMARKS, 2), landmarks, kept));
  }

  /** Fills a tensor with some rows of the values. */
  private static Tensor taken(Tensor tensor, FloatBuffer values, int[] rows) {
    FloatBuffer into = tensor.f32();
    int each = rows.length == 0 ? 0 : into.capacity() / rows.length;
    for (int row : rows) {
      for (int i = 0; i < each; i++) {
        into.put(values.get(row * each + i));
      }
    }
    return tensor;
  }
}
