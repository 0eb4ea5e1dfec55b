package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.rest.InferPath.Operation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class InferPathTest {
  @ParameterizedTest
  @CsvSource({
    "/v2/models/m/infer, m, ''",
    "/v2/models/m/infer?x=1, m, ''",
    "/v2/models/m-1.a/versions/2/infer, m-1.a, 2",
    "/v2/models/a%20b/versions/%32/infer, a b, 2",
    "/v2/models/m;x=1/infer, m, ''",
    "/%762/models/m/infer, m, ''",
    "http://a/v2/models/m/infer, m, ''",
    "/v2/models/../infer, .., ''",
  })
  void shouldNameTheModel(String target, String name, String version) {
    assertThat(InferPath.of("POST", target))
        .isEqualTo(new InferPath(name, version, Operation.INFER));
    assertThat(InferPath.of("GET", target)).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "/v2/models/m/generate, GENERATE",
    "/v2/models/m/versions/2/generate_stream?x=1, GENERATE_STREAM",
    "/v2/models/m/generate%5Fstream, GENERATE_STREAM",
  })
  void shouldNameTheOperation(String target, Operation operation) {
    assertThat(InferPath.of("POST", target)).extracting(InferPath::operation).isEqualTo(operation);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v2/models//infer",
        "/v2/models/m/versions//infer",
        "/v2/models/m/version/2/infer",
        "/v2/models/m/infer/",
        "/v2/models/a%2Fb/infer",
        "/v2/models/m",
        "/v2/models/m/generates",
        "//v2/models/m/infer",
        "v2/models/m/infer",
        "*",
        ""
      })
  void shouldNameNone(String target) {
    assertThat(InferPath.of("POST", target)).isNull();
  }
}
