package dev.roundhouse.bundle.manifest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** docs/manifest.md has every key, and its example is a manifest. */
class ManifestPageTest {
  private static final String SCHEMA = "/dev/roundhouse/bundle/manifest-3.schema.json";
  private static final Path PAGE = Path.of("../docs/manifest.md");

  @Test
  void shouldNameEveryKeyOfTheSchema() throws Exception {
    Set<String> keys = new TreeSet<>();
    try (InputStream schema = ManifestPageTest.class.getResourceAsStream(SCHEMA)) {
      collect(new JsonMapper().readTree(schema), keys);
    }
    assertThat(keys).contains("format_version", "correlation_id", "allow_timeout_override");
    String page = Files.readString(PAGE);
    assertThat(keys).allSatisfy(key -> assertThat(page).contains("`" + key + "`"));
  }

  @Test
  void shouldHoldAnExampleThatIsRead() throws Exception {
    String page = Files.readString(PAGE);
    int begin = page.indexOf("```yaml\n") + "```yaml\n".length();
    byte[] yaml =
        page.substring(begin, page.indexOf("```", begin)).getBytes(StandardCharsets.UTF_8);
    Manifest manifest = ManifestReader.read(yaml, "manifest.yaml", "tagger");
    assertThat(manifest.spec().variants()).hasSize(2);
    assertThat(manifest.spec().serving().sequence()).isPresent();
    assertThat(manifest.digests().orElseThrow()).hasSize(6);
  }

  private static void collect(JsonNode node, Set<String> keys) {
    if (node.get("properties") != null && node.has("additionalProperties")) {
      node.get("properties").properties().forEach(each -> keys.add(each.getKey()));
    }
    node.forEach(child -> collect(child, keys));
  }
}
