package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.worker.transport.shm.SharedObject;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/** Routes that describe models and steer the server, as a client meets them. */
@Timeout(120)
class RestControlTest {
  @TempDir static Path folder;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    Path repository = folder.resolve("models");
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker =
        new RunningWorker(
                repository,
                new Gate(),
                "--roundhouse.worker.shared-memory.enabled=true",
                "--roundhouse.worker.trace.file=" + folder.resolve("trace.json"))
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldTellHowAModelIsServed() throws Exception {
    assertThat(get("/v2/models/double/config"))
        .startsWith("200 ")
        .contains("\"name\":\"double\"", "\"max_batch_size\":4", "\"data_type\":\"TYPE_FP32\"");
    assertThat(get("/v2/models/double/versions/1/config")).startsWith("200 ");
    assertThat(get("/v2/models/double/versions/2/config")).startsWith("404 {\"error\":");
    assertThat(get("/v2/models/nobody/config")).startsWith("404 {\"error\":");
  }

  @Test
  void shouldTellWhatWasCounted() throws Exception {
    String inputs =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";
    assertThat(post("/v2/models/double/infer", inputs)).startsWith("200 ");
    for (String path : new String[] {"", "/double", "/double/versions/1"}) {
      assertThat(get("/v2/models" + path + "/stats"))
          .startsWith("200 {\"model_stats\":[{\"name\":\"double\",\"version\":\"1\"")
          .doesNotContain("\"inference_count\":0");
    }
    assertThat(get("/v2/models/nobody/stats")).startsWith("400 {\"error\":");
  }

  @Test
  void shouldTellWhereTheTimeWentWhenAsked() throws Exception {
    String asks =
        "{\"parameters\":{\"roundhouse_timings\":%s},\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";
    assertThat(post("/v2/models/double/infer", asks.formatted("true")))
        .startsWith("200 ")
        .contains("\"parameters\":{\"roundhouse_total_ns\":", "\"roundhouse_batch_rows\":1");
    assertThat(post("/v2/models/double/infer", asks.formatted("false")))
        .doesNotContain("parameters");
    assertThat(post("/v2/models/double/infer", asks.formatted("1")))
        .startsWith("400 ")
        .contains("invalid value type for 'roundhouse_timings' parameter, expected bool_param");
  }

  @Test
  void shouldGiveAReceiptWhenAsked() throws Exception {
    String asks =
        "{\"parameters\":{\"roundhouse_receipt\":%s},\"inputs\":[{\"name\":\"x\",\"shape\":[1,2],\"datatype\":\"FP32\",\"data\":[1,2]}]}";
    String page = Files.readString(Path.of("../docs/receipt.md"));
    String answer = post("/v2/models/double/infer", asks.formatted("true"));
    assertThat(answer).startsWith("200 ");
    JsonNode told = new ObjectMapper().readTree(answer.substring(4)).at("/parameters");
    assertThat(told.at("/roundhouse_receipt_batch_rows").asInt()).isEqualTo(1);
    assertThat(told.at("/roundhouse_receipt_weights_came").isBoolean()).isTrue();
    assertThat(told.at("/roundhouse_receipt_device").asString()).startsWith("simulated:0 ");
    assertThat(told.at("/roundhouse_receipt_version").asString()).isEqualTo("1");
    told.propertyNames()
        .forEach(
            name ->
                assertThat(page)
                    .as(name)
                    .contains(
                        "`" + name.replaceAll("_\\d+_", "_1_").replaceFirst(".*receipt_", "…")));
    assertThat(post("/v2/models/double/infer", asks.formatted("false")))
        .startsWith("200 ")
        .doesNotContain("parameters");
    assertThat(post("/v2/models/double/infer", asks.formatted("\"yes\"")))
        .startsWith("400 ")
        .contains("invalid value type for 'roundhouse_receipt' parameter, expected bool_param");
  }

  @Test
  void shouldChangeWhatIsLogged() throws Exception {
    assertThat(get("/v2/logging")).startsWith("200 ").contains("\"log_verbose_level\":0");
    assertThat(post("/v2/logging", "{\"log_verbose_level\":1,\"log_info\":null}"))
        .startsWith("200 ")
        .contains("\"log_verbose_level\":1", "\"log_info\":true");
    assertThat(post("/v2/logging", "{\"log_verbose_level\":0}")).startsWith("200 ");
    assertThat(post("/v2/logging", "{\"log_info\":\"no\"}")).startsWith("400 {\"error\":");
    assertThat(post("/v2/logging", "{\"log_nothing\":true}")).startsWith("400 {\"error\":");
    assertThat(post("/v2/logging", "{\"log_file\":\"/tmp/x\"}")).startsWith("501 {\"error\":");
    assertThat(post("/v2/logging", "{\"log_info\":[true]}")).startsWith("400 {\"error\":");
  }

  @Test
  void shouldChangeWhatIsTraced() throws Exception {
    assertThat(get("/v2/trace/setting"))
        .startsWith("200 ")
        .contains("\"trace_level\":[\"OFF\"]", "\"trace_rate\":\"1000\"");
    assertThat(
            post(
                "/v2/models/double/trace/setting",
                "{\"trace_level\":[\"TIMESTAMPS\"],\"trace_rate\":7}"))
        .startsWith("200 ")
        .contains("\"trace_level\":[\"TIMESTAMPS\"]", "\"trace_rate\":\"7\"");
    assertThat(get("/v2/trace/setting")).contains("\"trace_rate\":\"1000\"");
    assertThat(
            post("/v2/models/double/trace/setting", "{\"trace_level\":null,\"trace_rate\":null}"))
        .contains("\"trace_level\":[\"OFF\"]", "\"trace_rate\":\"1000\"");
    assertThat(post("/v2/trace/setting", "{\"trace_file\":\"x\"}")).startsWith("501 {\"error\":");
    assertThat(post("/v2/trace/setting", "{\"trace_rate\":\"often\"}"))
        .startsWith("400 {\"error\":");
    assertThat(get("/v2/models/nobody/trace/setting")).startsWith("400 {\"error\":");
  }

  @Test
  void shouldServeTensorsInSharedMemory() throws Exception {
    try (SharedObject object = new SharedObject(32)) {
      String region = "/v2/systemsharedmemory/region/r/";
      String wanted = "{\"key\":\"" + object.key() + "\",\"offset\":8,\"byte_size\":24}";
      assertThat(post(region + "register", wanted)).isEqualTo("200 ");
      assertThat(post(region + "register", wanted))
          .startsWith("400 ")
          .contains("already in manager");
      String registered =
          "200 [{\"name\":\"r\",\"key\":\"" + object.key() + "\",\"offset\":8,\"byte_size\":24}]";
      assertThat(get(region + "status")).isEqualTo(registered);
      assertThat(get("/v2/systemsharedmemory/status")).isEqualTo(registered);
      object.put(8, 3f, -4f);

      String at = "\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":8";
      assertThat(
              post(
                  "/v2/models/double/infer",
                  """
                  {"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","parameters":{%s}}],
                   "outputs":[{"name":"y","parameters":{%s,"shared_memory_offset":16}}]}
                  """
                      .formatted(at, at)))
          .startsWith("200 ")
          .endsWith("\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1,2]}]}");
      assertThat(object.get(24, 2)).containsExactly(6f, -8f);

      assertThat(post(region + "unregister", "")).isEqualTo("200 ");
      assertThat(get(region + "status"))
          .startsWith("404 ")
          .contains("Unable to find system shared");
      assertThat(post("/v2/systemsharedmemory/unregister", "")).isEqualTo("200 ");
      assertThat(post(region + "register", "{\"kee\":1}"))
          .startsWith("400 ")
          .contains("unrecognized property 'kee'");
    }
  }

  @Test
  void shouldAnswerAboutCudaMemoryWithoutHavingAny() throws Exception {
    assertThat(get("/v2/cudasharedmemory/status")).isEqualTo("200 []");
    assertThat(get("/v2/cudasharedmemory/region/c/status")).startsWith("404 {\"error\":");
    assertThat(post("/v2/cudasharedmemory/region/c/register", "{}")).startsWith("400 {\"error\":");
    assertThat(post("/v2/cudasharedmemory/region/c/unregister", "")).isEqualTo("200 ");
    assertThat(post("/v2/cudasharedmemory/unregister", "")).isEqualTo("200 ");
  }

  private static String get(String path) throws Exception {
    return worker.get("http", path);
  }

  private static String post(String path, String body) throws Exception {
    HttpResponse<byte[]> answer =
        worker.send(worker.http(path).POST(BodyPublishers.ofString(body)));
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }
}
