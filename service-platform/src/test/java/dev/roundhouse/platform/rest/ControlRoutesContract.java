package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What worker and gateway answer byte for byte alike: every path and method, and every body that is
 * refused before anybody is asked.
 */
public abstract class ControlRoutesContract {

  /** Of the protocol over HTTP, at loopback. */
  protected abstract int port();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "GET|/|404",
        "GET|/v2/|404",
        "GET|//v2|404",
        "GET|/v2//models|404",
        "GET|/v2/./models|404",
        "GET|/v2/x/../models|404",
        "GET|/v2/..|404",
        "GET|/v2/models//ready|404",
        "GET|/v2/health/other|404",
        "GET|/v2/openapi.json/x|404",
        "GET|/error|404",
        "GET|/favicon.ico|404",
        "GET|/V2|404",
        "POST|/v2/nothing|404",
        "OPTIONS|/nothing|404",
        "FOO|/nothing|404",
        "GET|/v2/../../x|400",
        "GET|v2/health/live|400",
        "GET|/v2%2Fmodels|400",
        "GET|/v2/models/a%2Fb|400",
        "GET|/v2/models/a%5Cb|400",
        "GET|/v2/models/a\\b|400",
        "GET|/v2/models/a%zz|400",
        "GET|/v2/models/a%|400",
        "GET|/v2/models/a%00b|400",
        "GET|/v2/models/%ff%fe|400",
        "GET|/v2/models/a{b}|400",
        "POST|/v2/models/a%2Fb/infer|400",
      })
  void shouldSayThatThereIsNoSuchPath(String method, String path, int code) throws Exception {
    String text = code == 404 ? "Not Found" : "Bad Request";
    assertThat(exchange(method + " " + path, ""))
        .isEqualTo(
            "HTTP/1.1 %d %s\nContent-Type: application/json\nContent-Length: %d\nConnection: close\n\n{\"error\":\"%s\"}"
                .formatted(code, text, 12 + text.length(), text));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "DELETE /v2|GET",
        "FOO /v2|GET",
        "TRACE /v2|GET",
        "PUT /v2/logging|GET, POST",
        "PATCH /v2/models/double|GET",
        "POST /v2/models/double|GET",
        "GET /v2/repository/index|POST",
        "HEAD /v2/repository/index|POST",
        "GET /v2/models/double/infer|POST",
        "HEAD /v2/models/double/infer|POST",
        "GET /v2/models/double/versions/1/infer|POST",
        "DELETE /v2/systemsharedmemory/unregister|POST",
      })
  void shouldNameTheMethodsThatThereAre(String request, String allowed) throws Exception {
    String body = request.startsWith("HEAD") ? "" : "{\"error\":\"Method Not Allowed\"}";
    assertThat(exchange(request, ""))
        .isEqualTo(
            "HTTP/1.1 405 Method Not Allowed\nAllow: %s\nContent-Type: application/json\nContent-Length: 30\nConnection: close\n\n%s"
                .formatted(allowed, body));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "*|GET,HEAD,POST,OPTIONS",
        "/v2|GET,HEAD,OPTIONS",
        "/v2/repository/index|POST,OPTIONS",
        "/v2/logging|GET,HEAD,POST,OPTIONS",
        "/v2/models/double/infer|POST,OPTIONS",
      })
  void shouldTellTheMethodsOfAPath(String path, String allowed) throws Exception {
    assertThat(exchange("OPTIONS " + path, ""))
        .isEqualTo(
            "HTTP/1.1 200 OK\nAllow: %s\nContent-Length: 0\nConnection: close\n\n"
                .formatted(allowed));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "/v2/repository/index|{\"ready\":1}|Unable to parse 'ready': it must be true or false and is 1",
        "/v2/repository/index|{\"ready\":null}|Unable to parse 'ready': it must be true or false and is null",
        "/v2/repository/index|[]|Unable to parse 'request': it must be an object and is an array",
        "/v2/repository/index|{|failed to parse the request JSON buffer: Unexpected end-of-input: expected close marker for Object at byte 1",
        "/v2/repository/index|{\"ready\":true,\"ready\":false}|failed to parse the request JSON buffer: Duplicate Object property \\\"ready\\\" at byte 21",
        "/v2/repository/models/m/load|{\"parameters\":1}|Unable to parse 'parameters': it must be an object and is 1",
        "/v2/systemsharedmemory/region/r/register|{\"kee\":1}|unrecognized property 'kee'; a region has 'key', 'offset' and 'byte_size'",
        "/v2/systemsharedmemory/region/r/register|{\"key\":1}|Unable to parse 'key': it must be a string and is 1",
        "/v2/systemsharedmemory/region/r/register|{\"byte_size\":1.5}|Unable to parse 'byte_size': it must be a whole number and is 1.5",
        "/v2/systemsharedmemory/region/r/register|{\"byte_size\":99999999999999999999}|Unable to parse 'byte_size': it must be a whole number of 64 bits and is 99999999999999999999",
        "/v2/cudasharedmemory/region/r/register|{\"x\":1}|unrecognized property 'x'; a region of CUDA's memory has 'raw_handle', 'device_id' and 'byte_size'",
        "/v2/cudasharedmemory/region/r/register|{\"raw_handle\":\"*\"}|Unable to parse 'raw_handle': it must be an object and is a string",
        "/v2/cudasharedmemory/region/r/register|{\"raw_handle\":{\"x\":\"*\"}}|unrecognized property 'x' of 'raw_handle'; it has 'b64'",
        "/v2/cudasharedmemory/region/r/register|{\"raw_handle\":{\"b64\":\"*\"}}|'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t: Input byte[] should at least have 2 bytes for base64 bytes",
        "/v2/logging|{\"log_info\":[true]}|Unable to parse 'request.log_info': it must be true, false, a number or a string and is an array",
        "/v2/trace/setting|{\"trace_rate\":{}}|Unable to parse 'request.trace_rate': it must be true, false, a number or a string and is an object",
        "/v2/models/m/trace/setting|[1]|Unable to parse 'request': it must be an object and is an array",
      })
  void shouldRefuseABodyByWhatIsWrongWithIt(String path, String body, String text)
      throws Exception {
    assertThat(exchange("POST " + path, body))
        .startsWith("HTTP/1.1 400 Bad Request\nContent-Type: application/json\n")
        .endsWith("\n\n{\"error\":\"" + text + "\"}");
  }

  @Test
  void shouldRefuseABodyThatIsTooLarge() throws Exception {
    String body = "{\"a\":\"" + "a".repeat(1 << 20) + "\"}";
    for (String path : new String[] {"/v2/logging", "/v2/repository/models/m/load"}) {
      assertThat(exchange("POST " + path, body))
          .startsWith("HTTP/1.1 400 ")
          .contains("has 1048584 bytes, the limit is 1048576; send less");
    }
  }

  @Test
  void shouldDescribeItself() throws Exception {
    String document = new String(OpenApi.DOCUMENT.json(), StandardCharsets.UTF_8);
    assertThat(exchange("GET /v2/openapi.json", ""))
        .startsWith("HTTP/1.1 200 OK\nContent-Type: application/json\n")
        .endsWith("\n\n" + document.replace("\r\n", "\n"));
  }

  @Test
  void shouldFindPathsThatAreWrittenInOtherWays() throws Exception {
    String live = "\n\n{\"live\":true}";
    for (String path :
        new String[] {
          "/v2/health/live",
          "/v2/health/live?x=1",
          "/v2;a=b/health/live;c",
          "/%76%32/health/l%69ve",
          "http://localhost/v2/health/live"
        }) {
      assertThat(exchange("GET " + path, "")).startsWith("HTTP/1.1 200 OK\n").endsWith(live);
    }
    assertThat(exchange("HEAD /v2/health/live", ""))
        .isEqualTo(
            "HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 13\nConnection: close\n\n");
  }

  /** The answer without its date, its lines ended as here. */
  protected final String exchange(String request, String body) throws IOException {
    String head =
        "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n"
            .formatted(request, body.isEmpty() ? "" : "Content-Length: " + body.length() + "\r\n");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port())) {
      socket.setSoTimeout(60_000);
      socket.getOutputStream().write((head + body).getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
          .replaceAll("(?m)^[Dd]ate: .*\r\n", "")
          .replace("\r\n", "\n");
    }
  }
}
