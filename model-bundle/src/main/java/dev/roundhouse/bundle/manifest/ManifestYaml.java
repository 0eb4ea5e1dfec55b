package dev.roundhouse.bundle.manifest;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.error.JsonProblem;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLMapper;
import tools.jackson.dataformat.yaml.YAMLParser;
import tools.jackson.dataformat.yaml.YAMLReadFeature;

/**
 * YAML as manifests may use it: one document, no anchors, no aliases, no tags, no duplicate keys.
 */
final class ManifestYaml {
  private static final int MAX_BYTES = 1 << 20;

  private static final YAMLMapper YAML =
      new YAMLMapper(
          YAMLFactory.builder()
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              // The builder, unlike the plain constructor, leaves this default off.
              .enable(YAMLReadFeature.EMPTY_STRING_AS_NULL)
              .streamReadConstraints(
                  StreamReadConstraints.builder()
                      .maxNestingDepth(32)
                      .maxNumberLength(40)
                      .maxNameLength(4096)
                      .build())
              .build());

  private ManifestYaml() {}

  static ObjectNode read(Path manifest) {
    try (InputStream bytes = Files.newInputStream(manifest)) {
      return parse(bytes.readNBytes(MAX_BYTES + 1), manifest.toString());
    } catch (IOException e) {
      throw BundleException.inaccessible(manifest, "cannot be read", e);
    }
  }

  static ObjectNode parse(byte[] bytes, String file) {
    if (bytes.length > MAX_BYTES) {
      throw new BundleException(file, "is larger than " + MAX_BYTES + " bytes");
    }
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      if (mayHaveConstructs(text)) {
        checkConstructs(text, file);
      }
      JsonNode root = YAML.readTree(text);
      if (root instanceof ObjectNode object) {
        return object;
      }
      throw new BundleException(file, "is not a YAML mapping");
    } catch (CharacterCodingException e) {
      throw new BundleException(file, "is not UTF-8 text", e);
    } catch (JacksonException e) {
      throw new BundleException(file, "is not valid YAML: " + JsonProblem.of(e), e);
    }
  }

  /**
   * False when the characters are missing without which there is no anchor, alias, tag or second
   * document. Almost no manifest has them, and to parse one is a good part of loading a small
   * model.
   */
  private static boolean mayHaveConstructs(String text) {
    return text.indexOf('&') >= 0
        || text.indexOf('*') >= 0
        || text.indexOf('!') >= 0
        || text.contains("---")
        || text.contains("...");
  }

  /**
   * A tree would show an alias as a string, silently; and nested aliases are how YAML bombs grow.
   */
  private static void checkConstructs(String text, String file) {
    try (JsonParser parser = YAML.createParser(text)) {
      int depth = 0;
      int documents = 0;
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        boolean alias = parser instanceof YAMLParser yaml && yaml.isCurrentAlias();
        if (alias || parser.getObjectId() != null || parser.getTypeId() != null) {
          throw new BundleException(
              file,
              "line %d: YAML anchors, aliases and tags are not read; write the value out"
                  .formatted(parser.currentTokenLocation().getLineNr()));
        }
        documents += depth == 0 ? 1 : 0;
        depth += token.isStructStart() ? 1 : token.isStructEnd() ? -1 : 0;
      }
      if (documents > 1) {
        throw new BundleException(file, "holds more than one YAML document");
      }
    }
  }
}
