package dev.roundhouse.hooks.detection;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URISyntaxException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Against what torchvision makes of the same: the file of {@code detection/make.py}. */
class GoldenDetectionTest {
  private static final JsonNode CASES = read();

  static Stream<JsonNode> decode() {
    return cases("decode");
  }

  @ParameterizedTest
  @MethodSource
  void decode(JsonNode wanted) {
    JsonNode weights = wanted.get("weights");
    FloatBuffer found = FloatBuffer.allocate(wanted.get("boxes").size());
    DetectionGlue.decode(
        floats(wanted.get("deltas")),
        floats(wanted.get("anchors")),
        wanted.get("classes").intValue(),
        new BoxWeights(
            weights.get(0).floatValue(),
            weights.get(1).floatValue(),
            weights.get(2).floatValue(),
            weights.get(3).floatValue()),
        found);
    assertClose(found.flip(), wanted.get("boxes"), 1e-6f);
  }

  static Stream<JsonNode> filter() {
    return cases("filter");
  }

  @ParameterizedTest
  @MethodSource
  void filter(JsonNode wanted) {
    FloatBuffer boxes = floats(wanted.get("boxes"));
    DetectionGlue.clip(boxes, wanted.get("height").floatValue(), wanted.get("width").floatValue());
    assertClose(boxes, wanted.get("clipped"), 0);
    assertThat(DetectionGlue.largeEnough(boxes, wanted.get("minSize").floatValue()))
        .isEqualTo(ints(wanted.get("large")));
  }

  static Stream<JsonNode> nms() {
    return cases("nms");
  }

  @ParameterizedTest
  @MethodSource
  void nms(JsonNode wanted) {
    int[] found =
        DetectionGlue.nms(
            floats(wanted.get("boxes")),
            floats(wanted.get("scores")),
            wanted.get("threshold").doubleValue());
    assertThat(found).isEqualTo(ints(wanted.get("kept")));
  }

  static Stream<JsonNode> nmsByGroup() {
    return cases("nmsByGroup");
  }

  @ParameterizedTest
  @MethodSource
  void nmsByGroup(JsonNode wanted) {
    int[] found =
        DetectionGlue.nmsByGroup(
            floats(wanted.get("boxes")),
            floats(wanted.get("scores")),
            ints(wanted.get("groups")),
            wanted.get("threshold").doubleValue());
    assertThat(found).isEqualTo(ints(wanted.get("kept")));
  }

  static Stream<JsonNode> selectProposals() {
    return cases("selectProposals");
  }

  @ParameterizedTest
  @MethodSource
  void selectProposals(JsonNode wanted) {
    ScoredBoxes found =
        DetectionGlue.selectProposals(
            floats(wanted.get("proposals")),
            floats(wanted.get("objectness")),
            ints(wanted.get("levels")),
            wanted.get("height").floatValue(),
            wanted.get("width").floatValue(),
            new RpnSettings(
                wanted.get("pre").intValue(),
                wanted.get("post").intValue(),
                0.7,
                wanted.get("scoreThreshold").floatValue(),
                wanted.get("minSize").floatValue()));
    assertThat(found.count()).isEqualTo(wanted.get("scores").size());
    assertClose(found.boxes(), wanted.get("boxes"), 0);
    assertClose(found.scores(), wanted.get("scores"), 1e-6f);
  }

  static Stream<JsonNode> roiAlign() {
    return cases("roiAlign");
  }

  @ParameterizedTest
  @MethodSource
  void roiAlign(JsonNode group) {
    JsonNode shape = group.get("shape");
    FeatureMap features =
        new FeatureMap(
            floats(group.get("features")),
            shape.get(0).intValue(),
            shape.get(1).intValue(),
            shape.get(2).intValue());
    for (JsonNode wanted : group.get("cases")) {
      FloatBuffer found = FloatBuffer.allocate(wanted.get("out").size());
      DetectionGlue.roiAlign(
          features,
          floats(group.get("boxes")),
          new RoiAlignSettings(
              wanted.get("height").intValue(),
              wanted.get("width").intValue(),
              wanted.get("scale").floatValue(),
              wanted.get("ratio").intValue(),
              wanted.get("aligned").booleanValue()),
          found);
      assertClose(found.flip(), wanted.get("out"), 1e-6f);
    }
  }

  static Stream<JsonNode> roiAlignByLevel() {
    return cases("roiAlignByLevel");
  }

  @ParameterizedTest
  @MethodSource
  void roiAlignByLevel(JsonNode wanted) {
    List<FeatureMap> levels = new ArrayList<>();
    for (JsonNode shape : wanted.get("shapes")) {
      levels.add(
          new FeatureMap(
              floats(wanted.get("features").get(levels.size())),
              1,
              shape.get(0).intValue(),
              shape.get(1).intValue()));
    }
    int size = wanted.get("size").intValue();
    FloatBuffer found = FloatBuffer.allocate(wanted.get("out").size());
    DetectionGlue.roiAlignByLevel(
        levels,
        floats(wanted.get("boxes")),
        wanted.get("imageHeight").intValue(),
        new RoiAlignSettings(size, size, 1, wanted.get("ratio").intValue(), false),
        found);
    assertClose(found.flip(), wanted.get("out"), 1e-6f);
  }

  static Stream<JsonNode> pasteMasks() {
    return cases("pasteMasks");
  }

  @ParameterizedTest
  @MethodSource
  void pasteMasks(JsonNode wanted) {
    FloatBuffer found = FloatBuffer.allocate(wanted.get("out").size());
    DetectionGlue.pasteMasks(
        floats(wanted.get("masks")),
        wanted.get("size").intValue(),
        floats(wanted.get("boxes")),
        wanted.get("height").intValue(),
        wanted.get("width").intValue(),
        found);
    assertClose(found.flip(), wanted.get("out"), 1e-6f);
  }

  private static void assertClose(FloatBuffer found, JsonNode wanted, float relative) {
    FloatBuffer values = floats(wanted);
    assertThat(found.remaining()).isEqualTo(values.remaining());
    for (int i = 0; i < values.remaining(); i++) {
      float allowed = relative * Math.max(1, Math.abs(values.get(i)));
      assertThat(found.get(i)).as("value %d", i).isCloseTo(values.get(i), Offset.offset(allowed));
    }
  }

  private static Stream<JsonNode> cases(String name) {
    return Objects.requireNonNull(CASES.get(name), name).valueStream();
  }

  private static FloatBuffer floats(JsonNode array) {
    FloatBuffer values = FloatBuffer.allocate(array.size());
    for (JsonNode value : array) {
      values.put(value.isString() ? special(value.stringValue()) : value.floatValue());
    }
    return values.flip();
  }

  /** Reads what Python calls the numbers that JSON has no words for. */
  private static float special(String value) {
    return switch (value) {
      case "nan" -> Float.NaN;
      case "inf" -> Float.POSITIVE_INFINITY;
      case "-inf" -> Float.NEGATIVE_INFINITY;
      default -> Float.parseFloat(value);
    };
  }

  private static int[] ints(JsonNode array) {
    return array.valueStream().mapToInt(JsonNode::intValue).toArray();
  }

  private static JsonNode read() {
    try {
      return JsonMapper.shared()
          .readTree(
              Path.of(
                      Objects.requireNonNull(
                              GoldenDetectionTest.class.getResource("/detection/cases.json"))
                          .toURI())
                  .toFile());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
