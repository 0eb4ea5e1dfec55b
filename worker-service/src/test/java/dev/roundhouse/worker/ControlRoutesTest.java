package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.platform.rest.ControlRoutesContract;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The protocol's routes, as every application has them. */
@Timeout(120)
class ControlRoutesTest extends ControlRoutesContract {
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    worker = new RunningWorker(repository, TestBundle.DOUBLE).awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Override
  protected int port() {
    return worker.port("http");
  }

  @Test
  void shouldCountRequestsByTheirRoutes() throws Exception {
    exchange("GET /v2/models/nobody/ready", "");
    exchange("GET /v2/nothing", "");
    exchange("DELETE /v2", "");
    for (String counted :
        new String[] {
          "method=\"GET\",outcome=\"CLIENT_ERROR\",status=\"404\",uri=\"/v2/models/{name}/ready\"",
          "method=\"GET\",outcome=\"CLIENT_ERROR\",status=\"404\",uri=\"NOT_FOUND\"",
          "method=\"DELETE\",outcome=\"CLIENT_ERROR\",status=\"405\",uri=\"UNKNOWN\""
        }) {
      LiveEngine.await(
          counted,
          () ->
              metrics()
                  .contains(
                      "http_server_requests_seconds_count{error=\"none\",exception=\"none\","
                          + counted));
    }
    assertThat(metrics()).contains("http_server_requests_active_seconds");
  }

  private static String metrics() {
    try {
      return worker.get("metrics", "/metrics");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
