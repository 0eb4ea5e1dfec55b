package dev.roundhouse.benchmarks.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RestClientTest {
  private static final Duration SHORT = Duration.ofMillis(100);

  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final AtomicInteger requests = new AtomicInteger();
  private volatile String json = "";
  private volatile int status = 200;
  private volatile int more;
  private HttpServer server;

  /** Answers with the request's binary part. */
  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext(
        "/v2/models/m/infer",
        exchange -> {
          byte[] body = exchange.getRequestBody().readAllBytes();
          String header = exchange.getRequestHeaders().getFirst("Inference-Header-Content-Length");
          int length = Integer.parseInt(header);
          json = new String(body, 0, length, StandardCharsets.US_ASCII);
          byte[] answer = Arrays.copyOfRange(body, length, body.length + more);
          requests.incrementAndGet();
          exchange.sendResponseHeaders(status, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
    threads.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {64, 3 << 20})
  void shouldCountEveryAnswerOnSomeConnections(int bytes) throws IOException {
    ByteString data = ByteString.copyFrom(new byte[bytes]);
    try (RestClient client = connect(data, data)) {
      int first = requests.get();
      Load load = client.run(4, SHORT);
      Load again = client.run(1, SHORT);
      assertThat(load.requests()).isGreaterThanOrEqualTo(4);
      assertThat(load.requests() + again.requests()).isEqualTo(requests.get() - first);
    }
    assertThat(json)
        .contains("\"shape\":[1,%d]".formatted(bytes / 4))
        .contains("\"binary_data_size\":" + bytes);
  }

  @Test
  void shouldFailWhenTheFirstAnswerHasOtherBytes() {
    ByteString data = ByteString.copyFrom(new byte[64]);
    assertThatThrownBy(() -> connect(data, ByteString.copyFromUtf8("wanted")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("64 bytes that do not end with the 6 wanted");
  }

  @Test
  void shouldFailWhenALaterAnswerHasAnotherSize() throws IOException {
    ByteString data = ByteString.copyFrom(new byte[64]);
    try (RestClient client = connect(data, data)) {
      more = 1;
      assertThatThrownBy(() -> client.run(2, SHORT))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("an answer of 65 bytes where the first had 64");
    }
  }

  @Test
  void shouldTellTheAnswerThatIsNotOk() {
    status = 400;
    ByteString data = ByteString.copyFrom(new byte[64]);
    assertThatThrownBy(() -> connect(data, data))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("not an OK answer that says its length: http/1.1 400");
  }

  private RestClient connect(ByteString data, ByteString wanted) throws IOException {
    return RestClient.connect(
        server.getAddress().getPort(), new RestRequest("m", 1, data.size() / 4, data), wanted);
  }
}
