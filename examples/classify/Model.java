import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.ModelHooks;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Callers send files, or the ends of such, and get what they are, as magika says it. */
class Model implements ModelHooks {
  private static final int BLOCK = 4096; // bytes of each end of a file that are looked at
  private static final int KEPT = 1024; // of those, bytes that the program sees
  private static final int PADDING = 256;
  private static final int FEW = 8; // bytes, below which a program has nothing to go by

  /** A class of the program: what it is called, and what it is taken for when it is not sure. */
  private record Kind(String label, double threshold, String otherwise) {
    static Kind of(String line) {
      String[] parts = line.split("\t");
      return new Kind(parts[0], Double.parseDouble(parts[1]), parts[2]);
    }
  }

  private List<Kind> kinds;

  @Override
  public void open(ModelContext model) {
    String lines = new String(model.bytes("kinds.tsv"), StandardCharsets.UTF_8);
    kinds = lines.lines().map(Kind::of).toList();
  }

  @Override
  public Tensors preprocess(HookRequest request) {
    Tensor files = request.input("file");
    int rows = files.dim(0);
    Tensor seen = request.tensor("bytes", DType.I32, rows, 2 * KEPT);
    String[] known = new String[rows]; // without the program
    for (int row = 0; row < rows; row++) {
      ByteBuffer file = files.bytes(row);
      int size = file.limit();
      ByteBuffer begin = withoutSpaceBefore(file.slice(0, Math.min(BLOCK, size)));
      known[row] = begin.remaining() < FEW ? ofFewBytes(file) : null;
      int end = size;
      int lowest = Math.max(0, size - BLOCK);
      while (end > lowest && isSpace(file.get(end - 1))) {
        end--;
      }
      int length = Math.min(KEPT, end - lowest);
      IntBuffer into = seen.i32().slice(row * 2 * KEPT, 2 * KEPT);
      for (int i = 0; i < KEPT; i++) {
        into.put(i, i < begin.remaining() ? begin.get(begin.position() + i) & 0xff : PADDING);
        int at = end - KEPT + i;
        into.put(KEPT + i, at >= end - length ? file.get(at) & 0xff : PADDING);
      }
    }
    request.attach(known);
    return Tensors.of(seen);
  }

  private static ByteBuffer withoutSpaceBefore(ByteBuffer bytes) {
    while (bytes.hasRemaining() && isSpace(bytes.get(bytes.position()))) {
      bytes.position(bytes.position() + 1);
    }
    return bytes;
  }

  private static boolean isSpace(byte value) {
    return value == ' ' || value >= '\t' && value <= '\r';
  }

  private static String ofFewBytes(ByteBuffer file) {
    if (!file.hasRemaining()) {
      return "empty";
    }
    try {
      CharSequence unused =
          StandardCharsets.UTF_8.newDecoder().decode(file.slice(0, Math.min(BLOCK, file.limit())));
      return "txt";
    } catch (CharacterCodingException e) {
      return "unknown";
    }
  }

  @Override
  public Tensors postprocess(HookRequest request, Tensors outputs) {
    String[] known = request.attachment(String[].class);
    FloatBuffer scores = outputs.get("target_label").f32();
    Tensor score = request.tensor("score", DType.F32, known.length);
    List<String> labels = new ArrayList<>(known.length);
    for (int row = 0; row < known.length; row++) {
      if (known[row] != null) {
        labels.add(known[row]);
        score.f32().put(row, 1);
        continue;
      }
      int first = row * kinds.size();
      int best = first;
      for (int i = first + 1; i < first + kinds.size(); i++) {
        best = scores.get(i) > scores.get(best) ? i : best;
      }
      Kind kind = kinds.get(best - first);
      labels.add(scores.get(best) >= kind.threshold() ? kind.label() : kind.otherwise());
      score.f32().put(row, scores.get(best));
    }
    return Tensors.of(request.strings("label", labels), score);
  }
}
