package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The model repository's routes, where callers say what is loaded. */
@Timeout(120)
class RestRepositoryTest {
  private static final String MODELS = "/v2/repository/models/";
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    TestBundle.doubling(2, 1).write(repository, "other");
    worker =
        new RunningWorker(
                repository, TestBundle.DOUBLE, "--roundhouse.worker.repository.mode=explicit")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldLoadAndUnload() throws Exception {
    assertThat(post("/v2/repository/index", "")).contains("{\"name\":\"double\"}");
    assertThat(worker.get("http", "/v2/models/double/ready")).startsWith("404 ");

    assertThat(post(MODELS + "double/load", "{\"parameters\":{}}"))
        .isEqualTo("200 {\"name\":\"double\",\"load\":true}");
    assertThat(worker.get("http", "/v2/models/double/ready"))
        .isEqualTo("200 {\"name\":\"double\",\"ready\":true}");
    assertThat(post("/v2/repository/index", "{\"ready\":true}"))
        .isEqualTo("200 [{\"name\":\"double\",\"version\":\"1\",\"state\":\"READY\"}]");

    assertThat(post(MODELS + "double/unload", "{\"parameters\":{\"unload_dependents\":true}}"))
        .isEqualTo("200 {\"name\":\"double\",\"unload\":true}");
    assertThat(worker.get("http", "/v2/models/double/ready")).startsWith("503 ");
  }

  @Test
  void shouldLoadAndUnloadForAnOperatorByTheSameRules() throws Exception {
    assertThat(worker.get("metrics", "/actuator/repository"))
        .startsWith("200 {\"mode\":\"explicit\",\"models\":[{\"name\":\"double\",")
        .endsWith(
            "{\"name\":\"other\",\"version\":\"\",\"state\":\"UNLOADED\",\"reason\":\"\",\"calledBy\":[]}]}");
    assertThat(operator("other", "{\"loaded\": true}"))
        .isEqualTo("200 {\"name\":\"other\",\"loaded\":true,\"over\":true}");
    assertThat(worker.get("http", "/v2/models/other/ready")).startsWith("200 ");
    assertThat(worker.get("metrics", "/actuator/repository"))
        .contains("{\"name\":\"other\",\"version\":\"1\",\"state\":\"READY\",");
    assertThat(operator("other", "{\"loaded\": false, \"unloadDependents\": true}"))
        .isEqualTo("200 {\"name\":\"other\",\"loaded\":false,\"over\":true}");
    assertThat(worker.get("http", "/v2/models/other/ready")).startsWith("503 ");

    assertThat(operator("other", "{}"))
        .isEqualTo(
            "400 {\"error\":\"nothing is asked of model 'other'; send {\\\"loaded\\\": true}\"}");
    assertThat(operator("other", "{\"loaded\": true, \"unloadDependents\": true}"))
        .startsWith("400 ")
        .contains("unloadDependents of model 'other' goes with");
    assertThat(operator("nobody", "{\"loaded\": true}"))
        .startsWith("404 ")
        .contains("the repository has no model 'nobody'");
    assertThat(operator("..", "{\"loaded\": true}")).startsWith("40");
  }

  private static String operator(String model, String json) throws Exception {
    return worker.post("/actuator/repository/" + model, json);
  }

  @Test
  void shouldUnloadWhatThereIsNot() throws Exception {
    assertThat(post(MODELS + "nobody/unload", "")).startsWith("200 ");
  }

  @Test
  void shouldRefuseByCodeAndText() throws Exception {
    assertThat(post(MODELS + "nobody/load", ""))
        .isEqualTo(
            "500 {\"error\":\"failed to load 'nobody', failed to poll from model repository: there is no folder of that name\"}");
    assertThat(post(MODELS + "other/load", "{\"parameters\":{\"config\":\"{}\"}}"))
        .startsWith("501 ")
        .contains("parameter 'config' is not supported");
    assertThat(post(MODELS + "other/load", "{\"parameters\":{\"x\":1}}"))
        .startsWith("400 ")
        .contains("unrecognized request parameter 'x'");
    assertThat(post(MODELS + "other/unload", "{\"parameters\":{\"unload_dependents\":1}}"))
        .startsWith("400 ")
        .contains("invalid value type for 'unload_dependents' parameter");
    assertThat(post(MODELS + ".hidden/load", "")).startsWith("400 ").contains("path traversal");
    assertThat(post(MODELS + "a%5Cb/load", "")).startsWith("400 ");
    assertThat(post("/v2/repository/mine/models/other/load", "")).startsWith("501 ");
    assertThat(post(MODELS + "other/load", "[]")).startsWith("400 ");
    assertThat(post(MODELS + "other/load", "{")).startsWith("400 ");
    assertThat(post(MODELS + "other/load", "{\"a\":\"" + "a".repeat(1 << 20) + "\"}"))
        .startsWith("400 ")
        .contains("the limit is 1048576");
  }

  private static String post(String path, String json) throws Exception {
    return RestTest.text(worker.send(worker.http(path).POST(BodyPublishers.ofString(json))));
  }
}
