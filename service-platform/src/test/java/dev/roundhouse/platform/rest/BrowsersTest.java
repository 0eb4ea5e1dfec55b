package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BrowsersTest {
  private static final String INFER = "/v2/models/m/infer";
  private static final String CONTROL = "/v2/logging";

  private final Browsers browsers = new Browsers(List.of("Models.Example"), "a.key");

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Content-Type: application/json",
        "Content-Type: application/octet-stream",
        "Content-Type: application/x-www-form-urlencoded",
        "Sec-Fetch-Site: none",
        "Sec-Fetch-Site: same-origin"
      })
  void shouldTakeWhatProgramsSend(String field) {
    assertThat(code("POST", INFER, true, "Host: localhost:8000", field)).isZero();
    assertThat(code("POST", CONTROL, true, "Host: localhost:8000", field)).isZero();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "localhost:8000|http://localhost:8000|0",
        "localhost|http://localhost|0",
        "localhost|http://localhost:80|0",
        "LOCALHOST:8000|HTTP://localhost:8000|0",
        "[::1]:8000|http://[::1]:8000|0",
        "[::1]|https://[::1]:443|0",
        "models.example|https://models.example|0",
        "localhost:8000|http://localhost:3000|403",
        "localhost:8000|http://evil.example|403",
        "localhost:8000|null|403",
        "localhost:8000|file://|403",
        "localhost:8000|http://localhost:8000.evil.example|403",
        "localhost:8000|http://a@localhost:8000|403",
        "evil.example:8000|http://evil.example:8000|403",
      })
  void shouldRefuseAPageOfAnotherSite(String host, String origin, int code) {
    for (String path : List.of(INFER, CONTROL)) {
      assertThat(code("POST", path, true, "Host: " + host, "Origin: " + origin)).isEqualTo(code);
      assertThat(code("POST", path, false, "Host: " + host, "Origin: " + origin)).isEqualTo(code);
    }
  }

  @ParameterizedTest
  @CsvSource({"cross-site,403", "same-site,403", "Cross-Site,403"})
  void shouldBelieveWhatABrowserSaysOfThePage(String site, int code) {
    assertThat(code("DELETE", CONTROL, false, "Host: a", "Sec-Fetch-Site: " + site))
        .isEqualTo(code);
  }

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:8000,0",
    "127.0.0.1,0",
    "[::1]:8000,0",
    "10.1.2.3:8000,0",
    "localhost:8000,0",
    "localhost.,0",
    "worker.localhost:8000,0",
    "MODELS.example:8000,0",
    "evil.example:8000,403",
    "127.0.0.1.evil.example,403",
    "localhost.evil.example,403",
    "worker_1:8000,403"
  })
  void shouldChangeNothingAtLoopbackForANameThatIsNotItsOwn(String host, int code) {
    assertThat(code("POST", CONTROL, true, "Host: " + host)).isEqualTo(code);
    assertThat(code("POST", INFER, true, "Host: " + host)).as("inference").isZero();
    assertThat(code("POST", CONTROL, false, "Host: " + host)).as("elsewhere").isZero();
  }

  @Test
  void shouldNotBelieveHttpWhereItIsAskedByTls() {
    assertThat(refusal("POST", CONTROL, true, true, "Host: localhost", "Origin: http://localhost"))
        .isNotNull();
    assertThat(refusal("POST", CONTROL, true, true, "Host: localhost", "Origin: https://localhost"))
        .isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"text/plain", "Text/Plain; charset=utf-8", "multipart/form-data; boundary=a"})
  void shouldRefuseWhatFormsSend(String type) {
    assertThat(code("POST", INFER, false, "Host: a", "Content-Type: " + type)).isEqualTo(415);
    assertThat(code("GET", INFER, false, "Host: a", "Content-Type: " + type)).isZero();
  }

  @Test
  void shouldLeaveReadingAlone() {
    assertThat(code("GET", CONTROL, true, "Host: evil.example", "Origin: http://other")).isZero();
  }

  @Test
  void shouldNameTheFieldItsValueAndTheFix() {
    assertThat(text("Host: localhost:8000", "Origin: http://" + "x".repeat(300)))
        .contains("Origin 'http://xxx", "...'", "'localhost:8000'")
        .hasSizeLessThan(500);
    assertThat(text("Host: evil.example"))
        .contains("Host 'evil.example'", "ask it by its address or as localhost", "a.key");
  }

  private String text(String... fields) {
    Browsers.Refusal refusal = refusal("POST", CONTROL, true, false, fields);
    return refusal == null ? "" : refusal.text();
  }

  private int code(String method, String path, boolean loopback, String... fields) {
    Browsers.Refusal refusal = refusal(method, path, loopback, false, fields);
    return refusal == null ? 0 : refusal.code();
  }

  private Browsers.@Nullable Refusal refusal(
      String method, String path, boolean loopback, boolean secure, String... fields) {
    Map<String, String> head = new HashMap<>();
    for (String field : fields) {
      int colon = field.indexOf(':');
      if (colon > 0) {
        head.put(field.substring(0, colon).toLowerCase(Locale.ROOT), field.substring(colon + 2));
      }
    }
    return browsers.refusal(new Browsers.Head(method, path, loopback, secure, head::get));
  }
}
