package dev.roundhouse.node.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.config.ConfigurationReference;
import dev.roundhouse.platform.config.KnownKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigurationReferenceTest {
  private static final String HEAD =
      """
      # Configuration of the node

      Generated from the records of `dev.roundhouse.node.config`; a test fails when this page is stale, and
      `-Dupdate.docs=true` rewrites it. Keys go into `application.yaml` in the working directory, which workers and gateway read too,
      on the command line (`--roundhouse.node.devices.gpus=2`) or into the environment (`ROUNDHOUSE_NODE_DEVICES_GPUS`; drop
      dashes). An unknown key stops the start and names the nearest known one, and so does a near miss of a key of Spring's. What the keys are for: [node.md](node.md).
      """;

  private static final Path SOURCES = Path.of("src/main/java/dev/roundhouse/node/config");
  private static final Path PAGE = Path.of("../docs/configuration-node.md");

  @Test
  void shouldBeCurrent() throws Exception {
    String page = page();
    if (Boolean.getBoolean("update.docs")) {
      Files.writeString(PAGE, page);
    }

    assertThat(PAGE).as("run the tests with -Dupdate.docs=true to rewrite it").hasContent(page);
  }

  @Test
  void shouldHaveEveryKey() {
    String page = page();

    for (String key : NodeKeys.known().all()) {
      assertThat(page).contains("`" + key.replace(KnownKeys.ANY, "NAME") + "`");
    }
  }

  private static String page() {
    return new ConfigurationReference(NodeProperties.PREFIX, NodeProperties.class, SOURCES, HEAD)
        .page();
  }
}
