package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.engine.ComposedLoading;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.core.json.JsonReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/** Texts in OpenAI's, Cohere's and vLLM's shapes. */
@Timeout(120)
class TextRoutesTest {
  private static final ObjectMapper JSON = // as Python's, which reads NaN
      JsonMapper.builder().enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build();

  @TempDir private static Path repository;
  private static RunningWorker worker;
  private static HttpClient http;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker =
        new RunningWorker(repository, RunningWorker.simulated(TestBundle.DOUBLE)).awaitLoaded();
    Engine engine = worker.bean(Engine.class);
    ComposedLoading.load(engine, new TaskModel("embedder", TextTask.Kind.EMBED));
    ComposedLoading.load(engine, new TaskModel("ranker", TextTask.Kind.RERANK));
    ComposedLoading.load(engine, new TaskModel("classifier", TextTask.Kind.CLASSIFY));
    http = HttpClient.newHttpClient();
  }

  @AfterAll
  static void stop() {
    http.close();
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    worker.assertHoldsNothing();
  }

  private static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private static HttpResponse<String> post(String path, String body) throws Exception {
    return send(worker.http(path).POST(BodyPublishers.ofString(body)));
  }

  private static JsonNode answer(String path, String body) throws Exception {
    HttpResponse<String> answer = post(path, body);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return JSON.readTree(answer.body());
  }

  @Test
  void shouldEmbedInOrderWhenTextsNeedSeveralRequests() throws Exception {
    int count = 5 * TaskModel.ROWS + 3;
    String texts =
        IntStream.range(0, count)
            .mapToObj(i -> "\"" + "x".repeat(i) + "\"")
            .collect(Collectors.joining(","));
    JsonNode answer =
        answer(
            "/v1/embeddings", "{\"input\":[" + texts + "],\"model\":\"embedder\",\"user\":\"u\"}");
    assertThat(answer.get("object").stringValue()).isEqualTo("list");
    assertThat(answer.get("model").stringValue()).isEqualTo("embedder");
    assertThat(answer.get("data")).hasSize(count);
    for (int i = 0; i < count; i++) {
      JsonNode each = answer.get("data").get(i);
      assertThat(each.get("index").intValue()).isEqualTo(i);
      assertThat(each.get("embedding").get(0).floatValue()).isEqualTo(i);
      assertThat(each.get("embedding").get(1).intValue())
          .isEqualTo(i < 5 * TaskModel.ROWS ? TaskModel.ROWS : 3);
      assertThat(each.get("embedding").get(2).floatValue()).isEqualTo(0.1f);
    }
    assertThat(answer.get("usage").get("prompt_tokens").intValue())
        .isEqualTo(count * (count - 1) / 2);
  }

  @Test
  void shouldWriteLittleEndianFloatsWhenBase64IsAsked() throws Exception {
    JsonNode answer =
        answer(
            "/v1/embeddings",
            "{\"model\":\"embedder\",\"input\":\"größe\",\"encoding_format\":\"base64\",\"dimensions\":3,\"parameters\":{\"timeout\":60000000}}");
    byte[] bytes =
        Base64.getDecoder().decode(answer.get("data").get(0).get("embedding").stringValue());
    ByteBuffer floats = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(bytes).hasSize(12);
    assertThat(floats.getFloat(0)).isEqualTo(7);
    assertThat(floats.getFloat(8)).isEqualTo(0.1f);
  }

  @Test
  void shouldRankBestFirstWhenDocumentsAreTextsOrObjects() throws Exception {
    String documents = "[\"a\",{\"text\":\"ccc\"},\"bb\",\"ddd\"]";
    JsonNode all =
        answer(
            "/v1/rerank", "{\"model\":\"ranker\",\"query\":\"q\",\"documents\":" + documents + "}");
    assertThat(all.get("results").valueStream().map(each -> each.get("index").intValue()))
        .containsExactly(1, 3, 2, 0);
    assertThat(all.get("results").get(0).has("document")).isFalse();
    JsonNode best =
        answer(
            "/v1/rerank",
            "{\"model\":\"ranker\",\"query\":\"q\",\"top_n\":2,\"return_documents\":true,\"documents\":"
                + documents
                + "}");
    assertThat(best.get("results")).hasSize(2);
    assertThat(best.get("results").get(0).get("document").get("text").stringValue())
        .isEqualTo("ccc");
    assertThat(best.get("results").get(0).get("relevance_score").floatValue()).isEqualTo(3);
  }

  @Test
  void shouldClassifyWithLabelsOfTheHighestWhenTextsNeedSeveralRequests() throws Exception {
    String texts =
        "[\"\",\"123456789\",\"nan\",\"\",\"\",\"\",\"\",\"\",\"1\",\"\"]"; // 8 and 2 rows
    JsonNode answer =
        answer("/v1/classify", "{\"model\":\"classifier\",\"input\":" + texts + ",\"user\":null}");
    assertThat(answer.get("object").stringValue()).isEqualTo("list");
    assertThat(answer.get("id").stringValue()).startsWith("classify-");
    assertThat(answer.get("created").longValue()).isPositive();
    assertThat(answer.get("model").stringValue()).isEqualTo("classifier");
    List<JsonNode> data = answer.get("data").valueStream().toList();
    assertThat(data).extracting(each -> each.get("index").intValue()).containsExactly(range(10));
    assertThat(data)
        .extracting(each -> each.get("label").isNull() ? "" : each.get("label").stringValue())
        .startsWith("crowded", "long", "", "crowded")
        .endsWith("crowded", "crowded");
    assertThat(data)
        .allSatisfy(each -> assertThat(each.get("num_classes").intValue()).isEqualTo(3));
    assertThat(data.get(1).get("probs").toString()).isEqualTo("[9.0,8.0,0.1]");
    assertThat(data.get(9).get("probs").toString()).isEqualTo("[0.0,2.0,0.1]");
    assertThat(answer.get("usage").toString())
        .isEqualTo("{\"prompt_tokens\":13,\"total_tokens\":13,\"completion_tokens\":0}");
  }

  private static Integer[] range(int end) {
    return IntStream.range(0, end).boxed().toArray(Integer[]::new);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          embeddings | {"input":"a"} | 400 | 'model' is missing
          embeddings | {"model":"embedder"} | 400 | 'input' is missing or empty
          embeddings | {"model":"embedder","input":[]} | 400 | 'input' is missing or empty
          embeddings | {"model":"embedder","input":[1,2]} | 400 | 'input' has tokens
          embeddings | {"model":"embedder","input":[[1]]} | 400 | 'input' has tokens
          embeddings | {"model":"embedder","input":{"a":1}} | 400 | 'input' is no text
          embeddings | {"model":"embedder","input":"\\ud800"} | 400 | half of a surrogate pair
          embeddings | {"model":"embedder","input":"a","dimensions":2} | 400 | 'dimensions' is 2; model 'embedder' makes 3
          embeddings | {"model":"embedder","input":"a","encoding_format":"hex"} | 400 | it is float or base64
          embeddings | {"model":"embedder","input":"a","stream":true} | 400 | 'stream' is not taken
          embeddings | {"model":"embedder","input":"a","parameters":{"id":1}} | 400 | 'parameters' has 'id'
          embeddings | {"model":"embedder","input":"a","parameters":{"timeout":-1}} | 400 | parameter 'timeout' is -1 us
          embeddings | {"model":"embedder","input":"a","parameters":{"timeout":"soon"}} | 400 | 'timeout' parameter
          embeddings | {"model":"embedder","input":"a" | 400 | failed to parse
          embeddings | {"model":"ranker","input":"a"} | 400 | task rerank
          embeddings | {"model":"double","input":"a"} | 400 | no task
          embeddings | {"model":"none","input":"a"} | 404 | unknown model: 'none'
          embeddings | {"model":"embedder","input":["a","a","a","a","a","a","a","a","a","fail"]} | 500 | told to
          classify | {"model":"classifier","input":[1,2]} | 400 | 'input' has tokens
          classify | {"model":"classifier","input":["a"],"labels":["x"]} | 400 | 'labels' is not taken; /v1/classify takes model, input, user and parameters
          classify | {"model":"embedder","input":"a"} | 400 | task embed, and this route is for task classify
          classify | {"model":"classifier","input":["a","fail"]} | 500 | told to
          rerank | {"model":"ranker","documents":["a"]} | 400 | 'query' is missing
          rerank | {"model":"ranker","query":"q","documents":[]} | 400 | 'documents' is missing or empty
          rerank | {"model":"ranker","query":"q","documents":[3]} | 400 | element 0 of 'documents'
          rerank | {"model":"ranker","query":"q","documents":[{"title":"a"}]} | 400 | has 'title'
          rerank | {"model":"ranker","query":"q","documents":["a"],"top_n":0} | 400 | the least is 1
          rerank | {"model":"ranker","query":"q","documents":["a"],"rank_fields":["text"]} | 400 | 'rank_fields' is not taken
          """)
  void shouldRefuseInOpenAisShapeWhenAskedForWhatThereIsNot(
      String route, String body, int code, String text) throws Exception {
    HttpResponse<String> refusal = post("/v1/" + route, body);
    JsonNode error = JSON.readTree(refusal.body()).get("error");
    assertThat(error.get("message").stringValue()).contains(text);
    assertThat(refusal.statusCode()).isEqualTo(code);
    assertThat(error.get("type").stringValue())
        .isEqualTo(code == 500 ? "server_error" : "invalid_request_error");
  }

  @Test
  void shouldListModelsInOpenAisShape() throws Exception {
    JsonNode listed = JSON.readTree(send(worker.http("/v1/models").GET()).body());
    assertThat(listed.get("data").valueStream().map(each -> each.get("id").stringValue()).toList())
        .containsAll(List.of("double", "embedder", "ranker"));
    JsonNode one = JSON.readTree(send(worker.http("/v1/models/embedder").GET()).body());
    assertThat(one.get("object").stringValue()).isEqualTo("model");
    HttpResponse<String> none = send(worker.http("/v1/models/none").GET());
    assertThat(none.statusCode()).isEqualTo(404);
    assertThat(JSON.readTree(none.body()).get("error").get("message").stringValue())
        .contains("'none'");
    assertThat(send(worker.http("/v1/embeddings").GET()).statusCode()).isEqualTo(405);
  }
}
