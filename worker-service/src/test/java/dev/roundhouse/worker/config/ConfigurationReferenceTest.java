package dev.roundhouse.worker.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.config.ConfigurationReference;
import dev.roundhouse.platform.config.KnownKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigurationReferenceTest {
  private static final String HEAD =
      """
      # Configuration of the worker

      Generated from the records of `dev.roundhouse.worker.config`; a test fails when this page is stale, and
      `-Dupdate.docs=true` rewrites it. Keys go into `application.yaml` in the working directory, or in `config/` there (not beside
      the jar), on the command line (`--roundhouse.worker.server.name=triton`) or into the environment
      (`ROUNDHOUSE_WORKER_SERVER_NAME`; drop dashes). `--spring.config.additional-location=file:/etc/roundhouse/` names another folder.
      An unknown key stops the start and names the nearest known one, and so does a near miss of `roundhouse` or of a key of Spring's,
      such as `server.portt`; an unknown variable is warned about.

      A model's name in a key stands as it is when it has letters, digits, `-` and `_` only. Any other goes in brackets: in a
      document with quotes, `models: {"[my.model]": {weight: 2}}`; on the command line `--roundhouse.worker.models[my.model].weight=2`.
      A variable (`ROUNDHOUSE_WORKER_MODELS_RESNET_WEIGHT`) reaches models whose name is one word in lower case; for others,
      `SPRING_APPLICATION_JSON='{"roundhouse.worker.models[my.model].weight": 2}'`. What would reach another model stops the start.

      Ports are Spring's: `server.port` (REST, 8000), `spring.grpc.server.port` (gRPC, 8001),
      `management.server.port` (actuator and metrics, 8002); port 0 takes any free one.

      The worker is ready once no model of the start is still loading. A model that failed to load does not hold back
      readiness, unless `roundhouse.worker.readiness.strict` is true: it is named with its reason in the log, in
      `/actuator/health` and on standard output, ModelReady is false for it, and the others serve. How models are
      found, replaced and unloaded: [models.md](models.md).
      """;

  private static final Path SOURCES = Path.of("src/main/java/dev/roundhouse/worker/config");
  private static final Path PAGE = Path.of("../docs/configuration.md");

  @Test
  void shouldBeCurrent() throws Exception {
    String page = page();
    if (Boolean.getBoolean("update.docs")) {
      Files.createDirectories(PAGE.getParent());
      Files.writeString(PAGE, page);
    }

    assertThat(PAGE).as("run the tests with -Dupdate.docs=true to rewrite it").hasContent(page);
  }

  @Test
  void shouldShowDefaultsAndBounds() {
    assertThat(page())
        .contains("| `roundhouse.worker.shutdown.drain` | `30s` | at least 0s, at most 1h |");
  }

  @Test
  void shouldHaveEveryKey() {
    String page = page();

    for (String key : WorkerKeys.known().all()) {
      assertThat(page).contains("`" + key.replace(KnownKeys.ANY, "NAME") + "`");
    }
  }

  private static String page() {
    return new ConfigurationReference(
            WorkerProperties.PREFIX, WorkerProperties.class, SOURCES, HEAD)
        .page();
  }
}
