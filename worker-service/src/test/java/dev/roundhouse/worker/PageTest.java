package dev.roundhouse.worker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.util.concurrent.ListenableFuture;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The live page on the management port: its files, and what its events tell. */
@Timeout(120)
class PageTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Gate GATE = new Gate();
  private static final int MOST_PAGES = 8;
  private static final Pattern FILES =
      Pattern.compile("(?:src|href|from)=?\\s*\"\\.?/?([\\w.]+)\"");
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  @TempDir static Path repository;
  private static RunningWorker worker;
  private static ListenableFuture<ModelInferResponse> held;

  /** A model that holds a request for its batch, one that idles, one that failed to load. */
  @BeforeAll
  static void start() throws Exception {
    Path broken = TestBundle.doubling(2, 1).write(repository, "broken");
    Files.writeString(broken.resolve("weights.safetensors"), "short");
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(2, 1).write(repository, "other");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.models.double.max-queue-delay=1m")
            .awaitLoaded();
    held =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(WorkerTest.request("double", 3, new float[6]));
    while (!worker.get("metrics", "/actuator/models/double").contains("\"held\":true")) {
      Thread.onSpinWait();
    }
  }

  @AfterAll
  static void stop() {
    GATE.open();
    held.cancel(true);
    while (worker.bean(Engine.class).openRequests() > 0) {
      Thread.onSpinWait();
    }
    worker.close();
  }

  @Test
  void shouldServeEveryFileThatThePageAsksForAndLetItAskNobodyElse() throws Exception {
    assertThat(get("/ui").headers().firstValue("Location")).hasValue("ui/");
    Set<String> left = new LinkedHashSet<>(Set.of(""));
    Map<String, String> files = new HashMap<>();
    while (!left.isEmpty()) {
      String name = left.iterator().next();
      left.remove(name);
      HttpResponse<String> file = get("/ui/" + name);
      assertThat(file.statusCode()).as(name).isEqualTo(200);
      assertThat(file.headers().firstValue("Content-Security-Policy").orElseThrow())
          .contains("default-src 'none'; script-src 'self'; style-src 'self'")
          .doesNotContain("unsafe");
      assertThat(file.headers().firstValue("X-Content-Type-Options")).hasValue("nosniff");
      files.put(name, file.body());
      FILES
          .matcher(file.body())
          .results()
          .map((MatchResult found) -> found.group(1))
          .filter(found -> !files.containsKey(found))
          .forEach(left::add);
    }
    assertThat(files).containsKeys("page.css", "page.js", "feed.js", "table.js", "timeline.js");
    assertThat(files.get("")).doesNotContainPattern("<script(?![^>]* src=)| on\\w+=| style=");
    assertThat(files.values())
        .as("what a model is called is text, never HTML")
        .allSatisfy(text -> assertThat(text).doesNotContain("innerHTML", "insertAdjacent"));
    assertThat(get("/ui/feed.js").headers().firstValue("Content-Type").orElseThrow())
        .startsWith("text/javascript");
    assertThat(get("/ui/nothing.js").statusCode()).isEqualTo(404);
  }

  @Test
  void shouldTellOfEveryModelFirstAndOfWhatChangedLater() throws Exception {
    try (Page page = new Page()) {
      JsonNode begin = page.next("begin");
      List<String> fields = strings(begin.at("/fields"));
      assertThat(begin.at("/changes").toString())
          .as("of the machine itself")
          .isEqualTo("{\"control\":true,\"loaded\":true}");
      JsonNode first = page.next("moment");
      Map<String, JsonNode> models = byName(first);
      assertThat(models).containsOnlyKeys("broken", "double", "other");
      assertThat(value(models, "double", fields.indexOf("why"))).isEqualTo("held");
      assertThat(value(models, "double", fields.indexOf("words")))
          .startsWith("held for its batch until ");
      assertThat(value(models, "double", fields.indexOf("queued"))).isEqualTo("1");
      assertThat(value(models, "broken", fields.indexOf("state"))).isEqualTo("failed");
      assertThat(value(models, "broken", fields.indexOf("words")))
          .startsWith("requests are refused, as the model is failed: ");
      assertThat(value(models, "other", fields.indexOf("why"))).isEmpty();
      assertThat(first.at("/left").asInt()).isZero();
      assertThat(first.at("/ready").asBoolean()).isTrue();
      assertThat(first.at("/draining").asBoolean()).isFalse();
      assertThat(first.at("/unknownBecause").isNull()).isTrue();

      worker.stub().modelInfer(WorkerTest.request("other", 1, 1, 2));
      Set<String> changed = new HashSet<>();
      List<JsonNode> runs = new ArrayList<>();
      while (runs.isEmpty() || !changed.contains("other")) {
        JsonNode later = page.next("moment");
        changed.addAll(byName(later).keySet());
        later.at("/runs/spans").forEach(runs::add);
      }
      assertThat(changed).doesNotContain("broken");
      assertThat(runs).extracting(run -> run.get(0).asString()).containsExactly("other");
    }
  }

  @Test
  void shouldDescribeEveryFieldInTheDocumentation() throws Exception {
    String text = Files.readString(Path.of("../docs/ui.md"));
    try (Page page = new Page()) {
      JsonNode begin = page.next("begin");
      List<String> names = new ArrayList<>(strings(begin.at("/fields")));
      names.addAll(strings(begin.at("/uses")));
      names.addAll(begin.propertyNames());
      names.addAll(page.next("moment").propertyNames());
      assertThat(names).hasSizeGreaterThan(40);
      assertThat(names).allSatisfy(name -> assertThat(text).contains("`" + name + "`"));
    }
  }

  @Test
  void shouldGoOnWithoutTheDispatchThreadWhenThatIsHeldUp() throws Exception {
    GATE.shut();
    var running =
        GRPCInferenceServiceGrpc.newFutureStub(worker.channel())
            .modelInfer(WorkerTest.request("other", 1, 1, 2));
    GATE.awaitArrival();
    try (Page page = new Page()) {
      page.next("begin");
      JsonNode moment = page.next("moment");
      while (moment.at("/unknownBecause").isNull()) {
        moment = page.next("moment");
      }
      assertThat(moment.at("/unknownBecause").asString()).contains("did not answer within 300 ms");
      assertThat(moment.has("runs")).isFalse();
      assertThat(moment.at("/device").size()).isEqualTo(6);
      GATE.open();
      while (!moment.at("/unknownBecause").isNull()) {
        moment = page.next("moment");
      }
      assertThat(moment.at("/runs/ever").asLong()).isPositive();
    } finally {
      GATE.open();
    }
    assertThat(running.get(30, TimeUnit.SECONDS).getOutputsCount()).isOne();
  }

  @Test
  void shouldRefuseMorePagesThanItServes() throws Exception {
    List<Page> open = new ArrayList<>();
    try {
      for (int i = 0; i < MOST_PAGES; i++) {
        Page page = new Page();
        open.add(page);
        page.next("begin");
      }
      HttpResponse<String> refused = get("/ui/events");
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.body()).contains("8 pages are open").contains("close one");
    } finally {
      for (Page page : open) {
        page.close();
      }
    }
    new Page().close();
  }

  @Test
  void shouldRefuseAPageOfAnotherSiteAndOtherMethods() throws Exception {
    HttpRequest.Builder other = request("/ui/events").header("Sec-Fetch-Site", "cross-site");
    HttpResponse<String> refused = HTTP.send(other.build(), BodyHandlers.ofString());
    assertThat(refused.statusCode()).isEqualTo(403);
    assertThat(refused.body()).contains("Sec-Fetch-Site is 'cross-site'");
    assertThat(code(request("/ui/events").HEAD())).isEqualTo(405);
    assertThat(code(request("/ui/events").POST(BodyPublishers.noBody()))).isEqualTo(405);
    assertThat(code(request("/ui/").POST(BodyPublishers.noBody()))).isEqualTo(405);
  }

  @Test
  void shouldEndPagesWhenTheWorkerStops(@TempDir Path folder) throws Exception {
    TestBundle.doubling(2, 1).write(folder, "double");
    RunningWorker stopping = new RunningWorker(folder, TestBundle.DOUBLE).awaitLoaded();
    try (Page page = new Page(stopping)) {
      page.next("moment");
      long began = System.nanoTime();
      stopping.close();
      assertThat(System.nanoTime() - began)
          .as("less than the drain, for which an open page would be waited for")
          .isLessThan(TimeUnit.SECONDS.toNanos(20));
      assertThat(page.next("end").isNull()).isTrue();
    }
  }

  private static HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + worker.port("metrics") + path));
  }

  private static HttpResponse<String> get(String path) throws Exception {
    return HTTP.send(request(path).build(), BodyHandlers.ofString());
  }

  private static HttpResponse<InputStream> open(RunningWorker of) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + of.port("metrics") + "/ui/events");
    return HTTP.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofInputStream());
  }

  private static int code(HttpRequest.Builder request) throws Exception {
    return HTTP.send(request.build(), BodyHandlers.ofString()).statusCode();
  }

  private static List<String> strings(JsonNode array) {
    List<String> strings = new ArrayList<>();
    array.forEach(each -> strings.add(each.asString()));
    return strings;
  }

  private static Map<String, JsonNode> byName(JsonNode moment) {
    Map<String, JsonNode> byName = new HashMap<>();
    moment.at("/models").forEach(row -> byName.put(row.get(0).asString(), row));
    return byName;
  }

  private static String value(Map<String, JsonNode> models, String model, int field) {
    return Objects.requireNonNull(models.get(model)).get(field).asString();
  }

  /** An open page's stream of events. */
  private static final class Page implements AutoCloseable {
    private final BufferedReader lines;

    Page() throws Exception {
      this(worker);
    }

    Page(RunningWorker of) throws Exception {
      HttpResponse<InputStream> response = open(of);
      while (response.statusCode() == 503) { // that a page was closed is noticed an event later
        response.body().close();
        response = open(of);
      }
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.headers().firstValue("Content-Type").orElseThrow())
          .startsWith("text/event-stream");
      lines = new BufferedReader(new InputStreamReader(response.body(), UTF_8));
    }

    /** The data of the next event of that name. */
    JsonNode next(String event) throws Exception {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.equals("event: " + event)) {
          String data = lines.readLine();
          assertThat(data).startsWith("data: ");
          return JSON.readTree(data.substring("data: ".length()));
        }
      }
      throw new AssertionError("the events ended without '" + event + "'");
    }

    @Override
    public void close() throws IOException {
      lines.close();
    }
  }
}
