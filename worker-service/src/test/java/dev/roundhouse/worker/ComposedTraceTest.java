package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What a trace tells of the calls that answer a request. */
@Timeout(60)
class ComposedTraceTest {
  @TempDir Path folder;

  @Test
  void shouldTellOfEachCallWithItsStages() throws Exception {
    Path repository = folder.resolve("models");
    TestBundle.doubling(2, 1).write(repository, "a");
    TestBundle.doubling(2, 1).write(repository, "b");
    TestBundle.ensemble(
            """
            inputs: [{name: x, dtype: f32, shape: [n, 2]}]
            outputs: [{name: y, dtype: f32, shape: [n, 2]}]
            steps:
              - {model: a, inputs: {x: x}, outputs: {y: t}}
              - {model: b, inputs: {x: t}, outputs: {y: y}}
            """)
        .write(repository, "m");
    Path file = folder.resolve("trace.json");
    try (RunningWorker worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.trace.file=" + file,
                "--roundhouse.worker.trace.level=TIMESTAMPS",
                "--roundhouse.worker.trace.rate=1")
            .awaitLoaded()) {
      worker.stub().modelInfer(WorkerTest.request("m", 1, 1, 2));
      List<JsonNode> elements = elements(file, 6);
      JsonNode request = request(elements, "m");
      JsonNode first = request(elements, "a");
      JsonNode second = request(elements, "b");
      assertThat(request.has("parent_id")).isFalse();
      assertThat(first.get("parent_id")).isEqualTo(request.get("id"));
      assertThat(second.get("parent_id")).isEqualTo(request.get("id"));
      long began = at(stages(elements, second), "COMPUTE_START");
      assertThat(began).isGreaterThanOrEqualTo(at(stages(elements, first), "COMPUTE_END"));
      assertThat(at(stages(elements, request), "REQUEST_END")).isGreaterThan(began);
    }
  }

  private static JsonNode request(List<JsonNode> elements, String model) {
    return elements.stream()
        .filter(each -> each.has("model_name") && each.get("model_name").asString().equals(model))
        .findFirst()
        .orElseThrow();
  }

  private static JsonNode stages(List<JsonNode> elements, JsonNode of) {
    return elements.stream()
        .filter(each -> each.has("timestamps") && each.get("id").equals(of.get("id")))
        .findFirst()
        .orElseThrow()
        .get("timestamps");
  }

  private static long at(JsonNode timestamps, String name) {
    for (JsonNode each : timestamps) {
      if (each.get("name").asString().equals(name)) {
        return each.get("ns").asLong();
      }
    }
    throw new AssertionError(name + " is not among " + timestamps);
  }

  private static List<JsonNode> elements(Path file, int count) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    List<JsonNode> elements = new ArrayList<>();
    while (elements.size() < count) {
      assertThat(System.nanoTime()).isLessThan(deadline);
      TimeUnit.MILLISECONDS.sleep(20);
      if (Files.exists(file) && Files.size(file) > 0) {
        elements.clear();
        new JsonMapper().readTree(Files.readString(file)).forEach(elements::add);
      }
    }
    return elements;
  }
}
