package dev.roundhouse.worker.transport.text;

import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonFields;
import dev.roundhouse.platform.rest.TextPath;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import tools.jackson.core.JsonGenerator;

/** Texts to embed, in the shape of OpenAI's API. */
final class EmbeddingsRequest extends InputRequest {
  private boolean base64;
  private long dimensions = -1;

  EmbeddingsRequest() {
    super(TextPath.EMBEDDINGS, "model, input, encoding_format, dimensions, user and parameters");
  }

  @Override
  boolean own(String name, boolean absent, JsonFields fields) {
    switch (name) {
      case "encoding_format" -> base64 = !absent && isBase64(fields.name(name));
      case "dimensions" -> dimensions = absent ? -1 : fields.integer(name);
      default -> {
        return false;
      }
    }
    return true;
  }

  private static boolean isBase64(String format) {
    return switch (format) {
      case "float" -> false;
      case "base64" -> true;
      default ->
          throw WireException.invalidArgument(
              "'encoding_format' is '%s'; it is float or base64".formatted(format));
    };
  }

  @Override
  public TextTask.Kind kind() {
    return TextTask.Kind.EMBED;
  }

  @Override
  public void require(TextTask task) {
    if (dimensions >= 0 && dimensions != task.width()) {
      throw WireException.invalidArgument(
          "'dimensions' is %d; model '%s' makes %d and they are not cut, so leave it out"
              .formatted(dimensions, model(), task.width()));
    }
  }

  @Override
  public void write(TextResults results, OutputStream out) {
    try (JsonGenerator json = Json.generator(out)) {
      json.writeStartObject();
      json.writeStringProperty("object", "list");
      json.writeArrayPropertyStart("data");
      for (int row = 0; row < rows(); row++) {
        json.writeStartObject();
        json.writeStringProperty("object", "embedding");
        json.writeNumberProperty("index", row);
        writeEmbedding(json, results, row);
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeStringProperty("model", model());
      json.writeObjectPropertyStart("usage");
      json.writeNumberProperty("prompt_tokens", results.tokens());
      json.writeNumberProperty("total_tokens", results.tokens());
      json.writeEndObject();
      json.writeEndObject();
    }
  }

  private void writeEmbedding(JsonGenerator json, TextResults results, int row) {
    int from = row * results.width();
    if (base64) {
      ByteBuffer bytes =
          ByteBuffer.allocate(results.width() * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      bytes.asFloatBuffer().put(results.numbers(), from, results.width());
      json.writeStringProperty("embedding", Base64.getEncoder().encodeToString(bytes.array()));
      return;
    }
    json.writeArrayPropertyStart("embedding");
    for (int i = from; i < from + results.width(); i++) {
      json.writeNumber(results.numbers()[i]);
    }
    json.writeEndArray();
  }
}
