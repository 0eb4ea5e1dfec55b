import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.Calls;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Callers send a picture, and get the lines of text in it: one model finds them, another reads. */
class Model implements MetaModel {
  private static final int SIDE = 640; // of the detector's input, as its program is compiled
  private static final float TEXT = 0.3f; // least probability of a pixel of text
  private static final double BOX = 0.5; // least mean of it in a box
  private static final int LEAST_SIDE = 3; // pixels of the detector's input
  private static final double UNCLIP = 1.6; // the detector marks the core of a line only
  private static final int MOST_BOXES = 500;

  private static final int HEIGHT = 48; // of the reader's input
  private static final int[] WIDTHS = {320, 640}; // a reader for each
  private static final int ROWS = 4; // of one call, as its program is compiled

  /** In the picture's pixels; right and bottom are outside. */
  private record Box(double left, double top, double right, double bottom) {
    double width() {
      return right - left;
    }

    double height() {
      return bottom - top;
    }

    /** Columns of the reader's input; a longer line is squeezed. */
    int columns() {
      long columns = Math.round(HEIGHT * width() / height());
      return Math.clamp(columns, 1, WIDTHS[WIDTHS.length - 1]);
    }
  }

  /** A call that reads the boxes of these numbers. */
  private record Reading(List<Integer> boxes, Calls.Pending call) {}

  private String[] characters;

  @Override
  public void open(ModelContext model) {
    String lines = new String(model.bytes("characters.txt"), StandardCharsets.UTF_8);
    // class 0 stands for no character, the last for a space
    characters =
        Stream.of(Stream.of(""), lines.lines(), Stream.of(" "))
            .flatMap(each -> each)
            .toArray(String[]::new);
  }

  @Override
  public Tensors run(HookRequest request, Calls calls) {
    Tensor image = request.input("image");
    if (image.dim(0) == 0 || image.dim(1) == 0) {
      throw HookException.invalid("'image' has shape %s and no pixels".formatted(image.shape()));
    }
    List<Box> boxes = find(request, calls, image);
    List<Reading> readings = new ArrayList<>();
    for (int i = 0; i < WIDTHS.length; i++) {
      int least = i == 0 ? 0 : WIDTHS[i - 1];
      int width = WIDTHS[i];
      List<Integer> those = new ArrayList<>();
      for (int box = 0; box < boxes.size(); box++) {
        int columns = boxes.get(box).columns();
        if (columns > least && columns <= width) {
          those.add(box);
        }
      }
      for (int at = 0; at < those.size(); at += ROWS) {
        List<Integer> some = those.subList(at, Math.min(at + ROWS, those.size()));
        Tensor crops = request.tensor("crops", DType.F32, some.size(), 3, HEIGHT, width);
        crop(image, boxes, some, width, crops.f32());
        readings.add(new Reading(some, calls.callAsync("reader-" + width, Tensors.of(crops))));
      }
    }
    calls.finish();
    String[] texts = new String[boxes.size()];
    Tensor scores = request.tensor("scores", DType.F32, boxes.size());
    for (Reading reading : readings) {
      Tensor classes = reading.call().await().get("classes");
      for (int row = 0; row < reading.boxes().size(); row++) {
        int box = reading.boxes().get(row);
        texts[box] = decode(classes, row, box, scores.f32());
      }
    }
    Tensor corners = request.tensor("boxes", DType.F32, boxes.size(), 4);
    FloatBuffer into = corners.f32();
    for (Box box : boxes) {
      into.put((float) box.left()).put((float) box.top());
      into.put((float) box.right()).put((float) box.bottom());
    }
    return Tensors.of(request.strings("text", List.of(texts), texts.length), corners, scores);
  }

  // --- where text is

  private static List<Box> find(HookRequest request, Calls calls, Tensor image) {
    int height = image.dim(0);
    int width = image.dim(1);
    double scale = Math.max(1, Math.max(width, height) / (double) SIDE); // small ones stay small
    int across = Math.max(1, (int) (width / scale));
    int down = Math.max(1, (int) (height / scale));
    Tensor picture = request.tensor("picture", DType.F32, 1, 3, SIDE, SIDE);
    FloatBuffer into = picture.f32();
    clear(into);
    sample(image, new Box(0, 0, width, height), across, down, into, 0, SIDE, SIDE * SIDE);
    FloatBuffer text = calls.call("finder", Tensors.of(picture)).get("text").f32();
    double toX = (double) width / across;
    double toY = (double) height / down;
    List<Box> boxes = new ArrayList<>();
    for (Box core : cores(text, across, down)) {
      double more = core.width() * core.height() * UNCLIP / (2 * (core.width() + core.height()));
      boxes.add(
          new Box(
              Math.max(0, core.left() - more) * toX,
              Math.max(0, core.top() - more) * toY,
              Math.min(across, core.right() + more) * toX,
              Math.min(down, core.bottom() + more) * toY));
    }
    boxes.sort(Comparator.comparingDouble(Box::top).thenComparingDouble(Box::left));
    return boxes.subList(0, Math.min(MOST_BOXES, boxes.size()));
  }

  /** Boxes around pixels of text that touch, corners included. */
  private static List<Box> cores(FloatBuffer text, int across, int down) {
    boolean[] seen = new boolean[SIDE * SIDE];
    int[] waiting = new int[SIDE * SIDE];
    List<Box> boxes = new ArrayList<>();
    for (int start = 0; start < down * SIDE; start++) {
      if (start % SIDE >= across || seen[start] || text.get(start) <= TEXT) {
        continue;
      }
      int left = SIDE;
      int top = SIDE;
      int right = 0;
      int bottom = 0;
      int count = 0;
      waiting[count++] = start;
      seen[start] = true;
      while (count > 0) {
        int at = waiting[--count];
        int x = at % SIDE;
        int y = at / SIDE;
        left = Math.min(left, x);
        top = Math.min(top, y);
        right = Math.max(right, x + 1);
        bottom = Math.max(bottom, y + 1);
        for (int v = Math.max(0, y - 1); v <= Math.min(down - 1, y + 1); v++) {
          for (int u = Math.max(0, x - 1); u <= Math.min(across - 1, x + 1); u++) {
            int near = v * SIDE + u;
            if (!seen[near] && text.get(near) > TEXT) {
              seen[near] = true;
              waiting[count++] = near;
            }
          }
        }
      }
      if (Math.min(right - left, bottom - top) >= LEAST_SIDE
          && mean(text, left, top, right, bottom) >= BOX) {
        boxes.add(new Box(left, top, right, bottom));
      }
    }
    return boxes;
  }

  private static double mean(FloatBuffer text, int left, int top, int right, int bottom) {
    double sum = 0;
    for (int y = top; y < bottom; y++) {
      for (int x = left; x < right; x++) {
        sum += text.get(y * SIDE + x);
      }
    }
    return sum / ((right - left) * (bottom - top));
  }

  // --- what it says

  private static void crop(
      Tensor image, List<Box> boxes, List<Integer> some, int width, FloatBuffer into) {
    clear(into);
    int plane = HEIGHT * width;
    for (int row = 0; row < some.size(); row++) {
      Box box = boxes.get(some.get(row));
      sample(image, box, box.columns(), HEIGHT, into, row * 3 * plane, width, plane);
    }
  }

  /** The best class of each step, without repetitions and blanks, and without space at the ends. */
  private String decode(Tensor classes, int row, int box, FloatBuffer scores) {
    int steps = classes.dim(1);
    int kinds = classes.dim(2);
    FloatBuffer values = classes.f32();
    StringBuilder line = new StringBuilder();
    double sum = 0;
    int kept = 0;
    int before = 0;
    for (int step = 0; step < steps; step++) {
      int first = (row * steps + step) * kinds;
      int best = 0;
      for (int kind = 1; kind < kinds; kind++) {
        best = values.get(first + kind) > values.get(first + best) ? kind : best;
      }
      if (best != 0 && best != before) {
        line.append(characters[best]);
        sum += values.get(first + best);
        kept++;
      }
      before = best;
    }
    scores.put(box, kept == 0 ? 0 : (float) (sum / kept));
    return line.toString().strip();
  }

  // --- pixels

  private static void clear(FloatBuffer values) {
    for (int i = 0; i < values.capacity(); i++) {
      values.put(i, 0);
    }
  }

  /** Writes a part of the picture, linearly between pixels, as planes of -1 to 1, blue first. */
  private static void sample(
      Tensor image, Box part, int across, int down, FloatBuffer into, int at, int line, int plane) {
    ByteBuffer pixels = image.u8();
    int height = image.dim(0);
    int width = image.dim(1);
    for (int v = 0; v < down; v++) {
      double y = part.top() + (v + 0.5) * part.height() / down - 0.5;
      y = Math.clamp(y, 0.0, height - 1.0);
      int top = (int) y;
      int bottom = Math.min(top + 1, height - 1);
      for (int u = 0; u < across; u++) {
        double x = part.left() + (u + 0.5) * part.width() / across - 0.5;
        x = Math.clamp(x, 0.0, width - 1.0);
        int left = (int) x;
        int right = Math.min(left + 1, width - 1);
        for (int c = 0; c < 3; c++) {
          double above = between(pixels, top * width, left, right, c, x - left);
          double below = between(pixels, bottom * width, left, right, c, x - left);
          double value = above + (below - above) * (y - top);
          into.put(at + (2 - c) * plane + v * line + u, (float) (value / 127.5 - 1));
        }
      }
    }
  }

  private static double between(
      ByteBuffer pixels, int row, int left, int right, int channel, double share) {
    int one = pixels.get((row + left) * 3 + channel) & 0xff;
    int other = pixels.get((row + right) * 3 + channel) & 0xff;
    return one + (other - one) * share;
  }
}
