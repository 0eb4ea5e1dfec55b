package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.error.JsonProblem;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.json.JsonFactory;

/** {@code __metadata__.argument_order}: a JSON list in a string, naming every tensor once. */
final class ArgumentOrder {
  private static final JsonFactory JSON = new JsonFactory();
  private static final String KEY = "__metadata__.argument_order";

  private ArgumentOrder() {}

  static List<FileTensor> apply(SafetensorsHeader header, String file) {
    String text = header.argumentOrder();
    if (text == null) {
      if (!header.tensors().isEmpty()) {
        throw new BundleException(
            file,
            KEY
                + " is missing although there are "
                + header.tensors().size()
                + " tensors; it must list their names in the order @main takes them");
      }
      return List.of();
    }
    Map<String, FileTensor> remaining = new LinkedHashMap<>();
    header.tensors().forEach(tensor -> remaining.put(tensor.name(), tensor));
    List<FileTensor> ordered = new ArrayList<>();
    for (String name : names(text, file)) {
      FileTensor tensor = remaining.remove(name);
      if (tensor == null) {
        boolean twice = ordered.stream().anyMatch(earlier -> earlier.name().equals(name));
        throw new BundleException(
            file,
            KEY
                + " names '"
                + name
                + "'"
                + (twice ? " twice" : ", which is not a tensor of this file"));
      }
      ordered.add(tensor);
    }
    if (!remaining.isEmpty()) {
      throw new BundleException(
          file, KEY + " leaves out tensor '" + remaining.keySet().iterator().next() + "'");
    }
    return List.copyOf(ordered);
  }

  private static List<String> names(String text, String file) {
    List<String> names = new ArrayList<>();
    try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), text)) {
      boolean list = json.nextToken() == JsonToken.START_ARRAY;
      while (list && json.nextToken() == JsonToken.VALUE_STRING) {
        names.add(json.getString());
      }
      if (!list || json.currentToken() != JsonToken.END_ARRAY || json.nextToken() != null) {
        throw new BundleException(file, KEY + " is not a JSON list of strings");
      }
      return names;
    } catch (JacksonException e) {
      throw new BundleException(
          file, KEY + " is not a JSON list of strings: " + JsonProblem.of(e), e);
    }
  }
}
