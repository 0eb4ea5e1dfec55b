package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.servlet.mvc.method.RequestMappingInfo;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What the OpenAPI document says is what there is. */
@Timeout(120)
class OpenApiTest {

  @TempDir static Path repository;
  private static RunningWorker worker;
  private static JsonNode document;

  @BeforeAll
  static void start() throws Exception {
    worker = new RunningWorker(repository, TestBundle.DOUBLE);
    var answer = worker.send(worker.http("/v2/openapi.json"));
    assertThat(answer.headers().firstValue("Content-Type")).contains("application/json");
    document = JsonMapper.shared().readTree(new String(answer.body(), StandardCharsets.UTF_8));
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldNameEveryRouteAndNoOther() {
    assertThat(documented(document)).isEqualTo(routes(worker));
    assertReferencesResolve(document, document);
  }

  /** Tomcat refuses a backslash in a path before any of our code sees it. */
  @Test
  void shouldSayOfEveryPathWithANameThatItMayBeRefused() throws Exception {
    assertThat(worker.get("http", "/v2/systemsharedmemory/region/%5C/status")).startsWith("400 ");
    document
        .get("paths")
        .forEachEntry(
            (path, methods) -> {
              if (path.contains("{")) {
                methods.forEach(
                    operation ->
                        assertThat(operation.get("responses").has("400")).as(path).isTrue());
              }
            });
  }

  private static Set<String> documented(JsonNode document) {
    Set<String> routes = new TreeSet<>();
    document
        .get("paths")
        .forEachEntry(
            (path, methods) ->
                methods.forEachEntry(
                    (method, operation) ->
                        routes.add(method.toUpperCase(Locale.ROOT) + " " + path)));
    return routes;
  }

  private static Set<String> routes(RunningWorker worker) {
    Set<String> routes = new TreeSet<>();
    for (RequestMappingInfo route :
        worker
            .bean("requestMappingHandlerMapping", RequestMappingHandlerMapping.class)
            .getHandlerMethods()
            .keySet()) {
      for (RequestMethod method : route.getMethodsCondition().getMethods()) {
        route.getPatternValues().forEach(path -> routes.add(method + " " + path));
      }
    }
    return routes;
  }

  private static void assertReferencesResolve(JsonNode document, JsonNode part) {
    JsonNode reference = part.get("$ref");
    if (reference != null && reference.isString()) {
      assertThat(document.at(reference.stringValue().substring(1)).isMissingNode())
          .as(reference.stringValue())
          .isFalse();
    }
    part.forEach(child -> assertReferencesResolve(document, child));
  }
}
