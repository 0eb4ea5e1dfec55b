import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.Calls;
import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.HookRequest;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelContext;
import dev.roundhouse.hooks.Tensor;
import dev.roundhouse.hooks.Tensors;
import dev.roundhouse.hooks.detection.BoxWeights;
import dev.roundhouse.hooks.detection.DetectionGlue;
import dev.roundhouse.hooks.detection.FeatureMap;
import dev.roundhouse.hooks.detection.RoiAlignSettings;
import dev.roundhouse.hooks.detection.RpnSettings;
import dev.roundhouse.hooks.detection.ScoredBoxes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Faster R-CNN: one model proposes where something is, another says what, and between them is what
 * no program of fixed shapes can do. The numbers are those that the detector was built with.
 */
class Model implements MetaModel {
  private static final int SIDE = 192; // of the proposer's input
  private static final int[] ANCHORS = {24 * 24 * 2, 12 * 12 * 2, 6 * 6 * 2}; // of each level
  private static final int CHANNELS = 48; // of the features of each level
  private static final int BINS = 7;

  private static final RpnSettings PROPOSALS = new RpnSettings(300, 100, 0.7, 0, 1e-3f);
  private static final RoiAlignSettings SAMPLES = new RoiAlignSettings(BINS, BINS, 1, 2, false);
  private static final float LEAST_SCORE = 0.5f; // box_score_thresh
  private static final double OVERLAP = 0.5; // box_nms_thresh
  private static final float LEAST_SIDE = 1e-2f; // pixels
  private static final int MOST = 100; // box_detections_per_img

  /** How a picture lies in the proposer's input: at its left upper corner, and never enlarged. */
  private record Fit(int width, int height, int across, int down) {
    static Fit of(int width, int height) {
      double larger = Math.max(1, Math.max(width, height) / (double) SIDE);
      int across = Math.max(1, (int) (width / larger + 0.5));
      int down = Math.max(1, (int) (height / larger + 0.5));
      return new Fit(width, height, across, down);
    }

    float x(float fitted) {
      return Math.min(fitted * width / across, width);
    }

    float y(float fitted) {
      return Math.min(fitted * height / down, height);
    }
  }

  private FloatBuffer anchors;
  private List<String> names; // by label; 0 stands for nothing

  @Override
  public void open(ModelContext model) {
    ByteBuffer bytes = ByteBuffer.wrap(model.bytes("anchors.f32"));
    anchors = bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    names = new String(model.bytes("names.txt"), StandardCharsets.UTF_8).lines().toList();
  }

  @Override
  public Tensors run(HookRequest request, Calls calls) {
    Tensor image = request.input("image");
    if (image.dim(0) == 0 || image.dim(1) == 0) {
      throw HookException.invalid("'image' has shape %s and no pixels".formatted(image.shape()));
    }
    Fit fit = Fit.of(image.dim(1), image.dim(0));
    Tensor fitted = request.tensor("image", DType.F32, 1, 3, SIDE, SIDE);
    resize(image.u8(), fit, fitted.f32());
    Tensors seen = calls.call("proposer", Tensors.of(fitted));
    ScoredBoxes proposals = propose(seen);
    if (proposals.count() == 0) {
      return answer(request, fit, FloatBuffer.allocate(0), FloatBuffer.allocate(0), new int[0]);
    }
    Tensor rois = request.tensor("rois", DType.F32, proposals.count(), CHANNELS, BINS, BINS);
    List<FeatureMap> levels = List.of(features(seen.get("fine")), features(seen.get("coarse")));
    DetectionGlue.roiAlignByLevel(levels, proposals.boxes(), SIDE, SAMPLES, rois.f32());
    Tensors told = calls.call("box-head", Tensors.of(rois));
    calls.finish();
    return detections(request, fit, proposals, told);
  }

  // --- torchvision's RegionProposalNetwork, behind its convolutions

  private ScoredBoxes propose(Tensors seen) {
    FloatBuffer boxes = FloatBuffer.allocate(anchors.remaining());
    DetectionGlue.decode(seen.get("deltas").f32(), anchors, 1, BoxWeights.PROPOSALS, boxes);
    FloatBuffer objectness = seen.get("objectness").f32();
    return DetectionGlue.selectProposals(boxes.flip(), objectness, ANCHORS, SIDE, SIDE, PROPOSALS);
  }

  private static FeatureMap features(Tensor level) {
    return new FeatureMap(level.f32(), level.dim(1), level.dim(2), level.dim(3));
  }

  // --- its RoIHeads.postprocess_detections

  private Tensors detections(HookRequest request, Fit fit, ScoredBoxes proposals, Tensors told) {
    int classes = names.size();
    FloatBuffer scores = told.get("scores").f32();
    FloatBuffer moved = FloatBuffer.allocate(proposals.count() * classes * 4);
    FloatBuffer deltas = told.get("deltas").f32();
    DetectionGlue.decode(deltas, proposals.boxes(), classes, BoxWeights.BOX_HEAD, moved);
    DetectionGlue.clip(moved.flip(), SIDE, SIDE);
    FloatBuffer boxes = FloatBuffer.allocate(moved.remaining());
    FloatBuffer likely = FloatBuffer.allocate(scores.remaining());
    int[] labels = new int[scores.remaining()];
    for (int at = 0; at < scores.remaining(); at++) {
      boolean something = at % classes != 0;
      if (something && scores.get(at) > LEAST_SCORE) {
        FloatBuffer box = moved.slice(at * 4, 4);
        if (DetectionGlue.largeEnough(box, LEAST_SIDE).length == 1) {
          labels[likely.position()] = at % classes;
          likely.put(scores.get(at));
          boxes.put(box);
        }
      }
    }
    return answer(
        request, fit, boxes.flip(), likely.flip(), Arrays.copyOf(labels, likely.remaining()));
  }

  private Tensors answer(
      HookRequest request, Fit fit, FloatBuffer boxes, FloatBuffer scores, int[] labels) {
    int[] kept = DetectionGlue.nmsByGroup(boxes, scores, labels, OVERLAP);
    int count = Math.min(kept.length, MOST);
    Tensor where = request.tensor("boxes", DType.F32, count, 4);
    Tensor what = request.tensor("labels", DType.I64, count);
    Tensor how = request.tensor("scores", DType.F32, count);
    List<String> called = new ArrayList<>();
    FloatBuffer corners = where.f32();
    for (int i = 0; i < count; i++) {
      int box = kept[i] * 4;
      corners.put(fit.x(boxes.get(box))).put(fit.y(boxes.get(box + 1)));
      corners.put(fit.x(boxes.get(box + 2))).put(fit.y(boxes.get(box + 3)));
      what.i64().put(i, labels[kept[i]]);
      how.f32().put(i, scores.get(kept[i]));
      called.add(names.get(labels[kept[i]]));
    }
    return Tensors.of(where, what, how, request.strings("names", called, count));
  }

  // --- pixels

  /** Writes the picture, linearly between pixels, as planes of 0 to 1; what is left stays 0. */
  private static void resize(ByteBuffer pixels, Fit fit, FloatBuffer into) {
    for (int v = 0; v < fit.down(); v++) {
      double y = place(v, fit.down(), fit.height());
      int top = (int) y;
      int bottom = Math.min(top + 1, fit.height() - 1);
      for (int u = 0; u < fit.across(); u++) {
        double x = place(u, fit.across(), fit.width());
        int left = (int) x;
        int right = Math.min(left + 1, fit.width() - 1);
        for (int c = 0; c < 3; c++) {
          double above = between(pixels, top * fit.width(), left, right, c, x - left);
          double below = between(pixels, bottom * fit.width(), left, right, c, x - left);
          double value = (above + (below - above) * (y - top)) / 255;
          into.put((c * SIDE + v) * SIDE + u, (float) value);
        }
      }
    }
  }

  /** Where the centre of a pixel of {@code fitted} lies among {@code size}. */
  private static double place(int at, int fitted, int size) {
    return Math.clamp((at + 0.5) * size / fitted - 0.5, 0.0, size - 1.0);
  }

  private static double between(
      ByteBuffer pixels, int row, int left, int right, int channel, double share) {
    int one = pixels.get((row + left) * 3 + channel) & 0xff;
    int other = pixels.get((row + right) * 3 + channel) & 0xff;
    return one + (other - one) * share;
  }
}
