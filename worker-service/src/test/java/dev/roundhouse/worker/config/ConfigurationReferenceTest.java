package dev.roundhouse.worker.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigurationReferenceTest {
  private static final Path SOURCES = Path.of("src/main/java/dev/roundhouse/worker/config");
  private static final Path PAGE = Path.of("../docs/configuration.md");

  @Test
  void shouldBeCurrent() throws Exception {
    String page = new ConfigurationReference(SOURCES).page();
    if (Boolean.getBoolean("update.docs")) {
      Files.createDirectories(PAGE.getParent());
      Files.writeString(PAGE, page);
    }

    assertThat(PAGE).as("run the tests with -Dupdate.docs=true to rewrite it").hasContent(page);
  }

  @Test
  void shouldShowDefaultsAndBounds() {
    assertThat(new ConfigurationReference(SOURCES).page())
        .contains("| `roundhouse.worker.shutdown.drain` | `30s` | at least 0s, at most 1h |");
  }

  @Test
  void shouldHaveEveryKey() {
    String page = new ConfigurationReference(SOURCES).page();

    for (String key : new KnownKeys(WorkerProperties.PREFIX, WorkerProperties.class).all()) {
      assertThat(page).contains("`" + key.replace(KnownKeys.ANY, "NAME") + "`");
    }
  }
}
