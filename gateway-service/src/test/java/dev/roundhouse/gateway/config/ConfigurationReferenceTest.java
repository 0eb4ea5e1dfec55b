package dev.roundhouse.gateway.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.config.ConfigurationReference;
import dev.roundhouse.platform.config.KnownKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigurationReferenceTest {
  private static final String HEAD =
      """
      # Configuration of the gateway

      Generated from the records of `dev.roundhouse.gateway.config`; a test fails when this page is stale, and
      `-Dupdate.docs=true` rewrites it. Keys are written as those of the worker are ([configuration.md](configuration.md)); one
      document may hold those of both. An unknown key stops the start and names the nearest known one, and so does a near miss of a key of Spring's.

      Ports are Spring's: `server.port` (REST, 8000), `spring.grpc.server.port` (gRPC, 8001),
      `management.server.port` (actuator and metrics, 8002); port 0 takes any free one.

      The gateway is ready while one worker takes requests. What it does with each call: [compatibility.md](compatibility.md#gateway).
      """;

  private static final Path SOURCES = Path.of("src/main/java/dev/roundhouse/gateway/config");
  private static final Path PAGE = Path.of("../docs/configuration-gateway.md");

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
    for (String key : GatewayKeys.known().all()) {
      assertThat(page).contains("`" + key.replace(KnownKeys.ANY, "NAME") + "`");
    }
  }

  private static String page() {
    return new ConfigurationReference(
            GatewayProperties.PREFIX, GatewayProperties.class, SOURCES, HEAD)
        .page();
  }
}
