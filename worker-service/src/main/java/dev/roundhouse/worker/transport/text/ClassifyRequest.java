package dev.roundhouse.worker.transport.text;

import dev.roundhouse.bundle.model.ClassLabels;
import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonFields;
import dev.roundhouse.platform.rest.TextPath;
import java.io.OutputStream;
import java.time.Instant;
import java.util.UUID;
import tools.jackson.core.JsonGenerator;

/** Texts to classify, in the shape of vLLM's API. */
final class ClassifyRequest extends InputRequest {
  private ClassLabels labels = ClassLabels.NONE;

  ClassifyRequest() {
    super(TextPath.CLASSIFY, "model, input, user and parameters");
  }

  @Override
  boolean own(String name, boolean absent, JsonFields fields) {
    return false;
  }

  @Override
  public TextTask.Kind kind() {
    return TextTask.Kind.CLASSIFY;
  }

  @Override
  public void require(TextTask task) {
    labels = task.result().classes();
  }

  @Override
  public void write(TextResults results, OutputStream out) {
    try (JsonGenerator json = Json.generator(out)) {
      json.writeStartObject();
      json.writeStringProperty("id", "classify-" + UUID.randomUUID());
      json.writeStringProperty("object", "list");
      json.writeNumberProperty("created", Instant.now().getEpochSecond());
      json.writeStringProperty("model", model());
      json.writeArrayPropertyStart("data");
      for (int row = 0; row < rows(); row++) {
        writeRow(json, results, row);
      }
      json.writeEndArray();
      json.writeObjectPropertyStart("usage");
      json.writeNumberProperty("prompt_tokens", results.tokens());
      json.writeNumberProperty("total_tokens", results.tokens());
      json.writeNumberProperty("completion_tokens", 0);
      json.writeEndObject();
      json.writeEndObject();
    }
  }

  private void writeRow(JsonGenerator json, TextResults results, int row) {
    int width = results.width();
    int best = highest(results.numbers(), row * width, width);
    json.writeStartObject();
    json.writeNumberProperty("index", row);
    if (best < 0) {
      json.writeNullProperty("label");
    } else {
      json.writeStringProperty("label", labels.text(best));
    }
    json.writeArrayPropertyStart("probs");
    for (int i = row * width; i < (row + 1) * width; i++) {
      json.writeNumber(results.numbers()[i]);
    }
    json.writeEndArray();
    json.writeNumberProperty("num_classes", width);
    json.writeEndObject();
  }

  /** The first among equals; -1 when all are NaN. */
  private static int highest(float[] numbers, int from, int width) {
    int best = -1;
    for (int i = 0; i < width; i++) {
      float number = numbers[from + i];
      if (!Float.isNaN(number) && (best < 0 || number > numbers[from + best])) {
        best = i;
      }
    }
    return best;
  }
}
