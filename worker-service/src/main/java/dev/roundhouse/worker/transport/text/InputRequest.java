package dev.roundhouse.worker.transport.text;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.DocumentMemory;
import dev.roundhouse.platform.rest.JsonFields;
import dev.roundhouse.platform.rest.TextPath;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Texts under {@code input}, one or a list, each of which is answered by itself. */
abstract class InputRequest extends RequestFields {
  private static final String INPUT = "input";

  private @Nullable Texts texts;

  /**
   * @param known the properties that it takes, for texts
   */
  InputRequest(TextPath path, String known) {
    super(path.path(), known);
  }

  @Override
  final boolean property(
      String name, JsonToken value, JsonParser json, JsonFields fields, DocumentMemory kept) {
    switch (name) {
      case INPUT -> input(json, kept);
      case "user" -> json.skipChildren(); // whom it is for, which changes no answer
      default -> {
        return own(name, value == JsonToken.VALUE_NULL, fields);
      }
    }
    return true;
  }

  /**
   * Reads a property of this route alone.
   *
   * @param absent when it is null
   * @return false when the route has none of that name
   */
  abstract boolean own(String name, boolean absent, JsonFields fields);

  private void input(JsonParser json, DocumentMemory kept) {
    Texts read = new Texts(kept, INPUT);
    texts = read;
    if (json.currentToken() == JsonToken.VALUE_STRING) {
      read.add(json.getString());
      return;
    }
    if (json.currentToken() != JsonToken.START_ARRAY) {
      throw refused("is no text");
    }
    while (json.nextToken() != JsonToken.END_ARRAY) {
      switch (json.currentToken()) {
        case VALUE_STRING -> read.add(json.getString());
        case VALUE_NUMBER_INT, START_ARRAY -> throw refused("has tokens");
        default -> throw refused("has an element that is no text");
      }
    }
  }

  private static WireException refused(String what) {
    return WireException.invalidArgument(
        "'%s' %s; send a string or a list of strings, which the model's own tokenizer reads"
            .formatted(INPUT, what));
  }

  @Override
  final void requireWhole() {
    if (texts == null || texts.size() == 0) {
      throw WireException.invalidArgument("'input' is missing or empty; send one text at least");
    }
  }

  @Override
  public final int rows() {
    return texts().size();
  }

  @Override
  public final byte[] text(int input, int row) {
    return texts().get(row);
  }

  private Texts texts() {
    if (texts == null) {
      throw new IllegalStateException("not read");
    }
    return texts;
  }
}
