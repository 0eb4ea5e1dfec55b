package dev.roundhouse.worker.transport.text;

import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.DocumentMemory;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.platform.rest.JsonFields;
import dev.roundhouse.platform.rest.TextPath;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Documents to rank by a query, in the shape of Cohere's API. */
final class RerankRequest extends RequestFields {
  private static final String DOCUMENTS = TextPath.RERANK.texts();
  private static final String QUERY = "query";

  private byte @Nullable [] query;
  private @Nullable Texts documents;
  private long most = Integer.MAX_VALUE;
  private boolean returns;

  RerankRequest() {
    super(
        TextPath.RERANK.path(), "model, query, documents, top_n, return_documents and parameters");
  }

  @Override
  boolean property(
      String name, JsonToken value, JsonParser json, JsonFields fields, DocumentMemory kept) {
    boolean absent = value == JsonToken.VALUE_NULL;
    switch (name) {
      case QUERY -> query = query(json, fields, kept);
      case "documents" -> documents(json, fields, kept);
      case "top_n" -> most = absent ? Integer.MAX_VALUE : topN(fields.integer(name));
      case "return_documents" -> returns = !absent && fields.flag(name);
      default -> {
        return false;
      }
    }
    return true;
  }

  private static byte[] query(JsonParser json, JsonFields fields, DocumentMemory kept) {
    fields.require(JsonToken.VALUE_STRING, QUERY, "a string");
    return Texts.utf8(json.getString(), QUERY, 0, kept);
  }

  private static long topN(long value) {
    if (value < 1) {
      throw WireException.invalidArgument("'top_n' is %d; the least is 1".formatted(value));
    }
    return value;
  }

  private void documents(JsonParser json, JsonFields fields, DocumentMemory kept) {
    fields.requireArray(DOCUMENTS);
    Texts read = new Texts(kept, DOCUMENTS);
    documents = read;
    while (json.nextToken() != JsonToken.END_ARRAY) {
      switch (json.currentToken()) {
        case VALUE_STRING -> read.add(json.getString());
        case START_OBJECT -> read.add(text(json, fields, read.size()));
        default ->
            throw WireException.invalidArgument(
                "element %d of 'documents' is neither a string nor an object with a 'text'"
                    .formatted(read.size()));
      }
    }
  }

  private static String text(JsonParser json, JsonFields fields, int index) {
    String text = null;
    while (fields.nextProperty()) {
      String name = json.currentName();
      json.nextToken();
      if (!name.equals("text")) {
        throw WireException.invalidArgument(
            "element %d of 'documents' has '%s'; only 'text' is ranked".formatted(index, name));
      }
      fields.require(JsonToken.VALUE_STRING, "documents[%d].text".formatted(index), "a string");
      text = json.getString();
    }
    if (text == null) {
      throw WireException.invalidArgument(
          "element %d of 'documents' has no 'text'".formatted(index));
    }
    return text;
  }

  @Override
  void requireWhole() {
    if (query == null) {
      throw WireException.invalidArgument("'query' is missing; send the text to rank by");
    }
    if (documents == null || documents.size() == 0) {
      throw WireException.invalidArgument(
          "'documents' is missing or empty; send one document at least");
    }
  }

  private Texts documents() {
    if (documents == null) {
      throw new IllegalStateException("not read");
    }
    return documents;
  }

  @Override
  public TextTask.Kind kind() {
    return TextTask.Kind.RERANK;
  }

  @Override
  public int rows() {
    return documents().size();
  }

  @Override
  public byte[] text(int input, int row) {
    byte[] ranked = query;
    return input == 0 && ranked != null ? ranked : documents().get(row);
  }

  @Override
  public void require(TextTask task) {
    // nothing more is asked of it
  }

  /** Best first; among equals in the order they were sent, and what has no score last. */
  @Override
  public void write(TextResults results, OutputStream out) {
    float[] scores = results.numbers();
    int[] order =
        IntStream.range(0, scores.length)
            .boxed()
            .sorted(Comparator.comparingDouble(row -> place(scores[row])))
            .limit(most)
            .mapToInt(Integer::intValue)
            .toArray();
    try (JsonGenerator json = Json.generator(out)) {
      json.writeStartObject();
      json.writeStringProperty("id", UUID.randomUUID().toString());
      json.writeArrayPropertyStart("results");
      for (int row : order) {
        json.writeStartObject();
        json.writeNumberProperty("index", row);
        json.writeNumberProperty("relevance_score", scores[row]);
        if (returns) {
          json.writeObjectPropertyStart("document");
          json.writeStringProperty(
              "text", new String(documents().get(row), StandardCharsets.UTF_8));
          json.writeEndObject();
        }
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeObjectPropertyStart("meta");
      json.writeObjectPropertyStart("api_version");
      json.writeStringProperty("version", "1");
      json.writeEndObject();
      json.writeEndObject();
      json.writeEndObject();
    }
  }

  private static double place(float score) {
    return Float.isNaN(score) ? Double.POSITIVE_INFINITY : -score;
  }
}
