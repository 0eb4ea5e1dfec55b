package dev.roundhouse.bundle.weights;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.error.JsonProblem;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/**
 * The JSON header of a safetensors file, read as a stream: memory grows with the entries that are
 * really there, never with a length the file claims.
 */
record SafetensorsHeader(List<FileTensor> tensors, Map<String, String> metadata) {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(8)
                  .maxNameLength(4096)
                  .maxNumberLength(40)
                  .maxStringLength(16 << 20)
                  .build())
          .build();

  static SafetensorsHeader read(InputStream bytes, String file) {
    InputStreamReader utf8 =
        new InputStreamReader(
            bytes,
            StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT));
    try (JsonParser json = JSON.createParser(ObjectReadContext.empty(), utf8)) {
      return new Reading(json, file).header();
    } catch (JacksonException e) {
      throw new BundleException(file, "header is not valid JSON: " + JsonProblem.of(e), e);
    }
  }

  /** The names and order of {@code @main}'s weights, as metadata says them. */
  @Nullable String argumentOrder() {
    return metadata.get("argument_order");
  }

  private record Reading(JsonParser json, String file) {

    SafetensorsHeader header() {
      List<FileTensor> tensors = new ArrayList<>();
      Map<String, String> metadata = new LinkedHashMap<>();
      require(json.nextToken() == JsonToken.START_OBJECT, "header is not a JSON object");
      while (json.nextToken() == JsonToken.PROPERTY_NAME) {
        String name = json.currentName();
        json.nextToken();
        if (name.equals("__metadata__")) {
          readMetadata(metadata);
        } else {
          tensors.add(new TensorEntryReader(json, file, name).read());
        }
      }
      require(json.nextToken() == null, "header goes on after its JSON object");
      return new SafetensorsHeader(List.copyOf(tensors), metadata);
    }

    private void readMetadata(Map<String, String> metadata) {
      require(json.currentToken() == JsonToken.START_OBJECT, "__metadata__ is not an object");
      while (json.nextToken() == JsonToken.PROPERTY_NAME) {
        String key = json.currentName();
        require(
            json.nextToken() == JsonToken.VALUE_STRING,
            "__metadata__." + key + " is not a string; safetensors metadata holds strings only");
        metadata.put(key, json.getString());
      }
    }

    private void require(boolean holds, String otherwise) {
      if (!holds) {
        throw new BundleException(file, otherwise);
      }
    }
  }
}
