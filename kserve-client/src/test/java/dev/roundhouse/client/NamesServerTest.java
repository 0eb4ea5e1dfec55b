package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.client.retry.RetryPolicy;
import io.grpc.Status;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class NamesServerTest {
  private static final String BAD_REQUEST =
      "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

  @Test
  void shouldAskWhetherItIsTheGrpcPortThatAnswersInHttp() throws Exception {
    try (ServerSocket http = answering(BAD_REQUEST)) {
      KServeException failure = failure(http.getLocalPort());
      assertThat(failure.text())
          .startsWith(
              "localhost:%d speaks no gRPC: is it the server's gRPC port, and not the one for HTTP?"
                  .formatted(http.getLocalPort()));
    }
  }

  @Test
  void shouldAskWhetherItIsTheGrpcPortThatSaysNothing() throws Exception {
    try (ServerSocket silent = answering("")) {
      assertThat(failure(silent.getLocalPort()).text())
          .startsWith(
              "localhost:%d closes connections without a word: is it the server's gRPC port"
                  .formatted(silent.getLocalPort()));
    }
  }

  @Test
  void shouldNameTheServerThatCannotBeReached() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    KServeException failure = failure(port);
    assertThat(failure.code()).isEqualTo(Status.Code.UNAVAILABLE);
    assertThat(failure.text())
        .startsWith("localhost:" + port + " cannot be reached: ")
        .contains("Connection refused");
  }

  @Test
  void shouldLeaveWhatAServerAnswers() {
    Status answered = Status.UNAVAILABLE.withDescription("the model is loading");
    assertThat(new NamesServer("localhost:1").told(answered)).isSameAs(answered);
  }

  private static KServeException failure(int port) {
    try (KServeClient client =
        KServeClient.to("localhost:" + port)
            .deadline(Duration.ofSeconds(20))
            .retry(RetryPolicy.NONE)
            .build()) {
      return catchThrowableOfType(
          KServeException.class, () -> client.infer(InferTest.doubling(1).build()));
    }
  }

  /** Answers whatever it is sent, and closes the connection. */
  private static ServerSocket answering(String text) throws IOException {
    ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
    Thread.ofVirtual()
        .start(
            () -> {
              while (!server.isClosed()) {
                try (Socket connection = server.accept()) {
                  int unused = connection.getInputStream().read();
                  connection.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
                  connection.shutdownOutput();
                  // what is not read when it closes would take back what was written
                  connection.getInputStream().transferTo(OutputStream.nullOutputStream());
                } catch (IOException e) {
                  // the client has gone, or the test is over
                }
              }
            });
    return server;
  }
}
