package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What the OpenAPI document says is what there is. */
class OpenApiTest {
  private final JsonNode document = JsonMapper.shared().readTree(OpenApi.DOCUMENT.json());

  @Test
  void shouldNameEveryRouteAndNoOther() {
    Set<String> documented = new TreeSet<>();
    document
        .get("paths")
        .forEachEntry(
            (path, methods) ->
                methods.forEachEntry(
                    (method, operation) ->
                        documented.add(method.toUpperCase(Locale.ROOT) + " " + path)));
    Set<String> routes = new TreeSet<>();
    ControlTable.ROUTES.forEach(route -> routes.add(route.method() + " " + route.template()));
    assertThat(documented).isEqualTo(routes);
    assertReferencesResolve(document, document);
  }

  /** A part of a path may be none. */
  @Test
  void shouldSayOfEveryPathWithANameThatItMayBeRefused() {
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
