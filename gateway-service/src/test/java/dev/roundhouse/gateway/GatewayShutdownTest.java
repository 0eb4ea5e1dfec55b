package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.core.env.Environment;

/** Clients over HTTP that keep their connections, while a gateway stops. */
@Timeout(120)
class GatewayShutdownTest {
  private static final int CLIENTS = 4;

  private final AtomicInteger answered = new AtomicInteger();

  @Test
  void shouldLoseNoRequestOfBusyClientsWhenItStops() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      gateway.awaitReady(1);
      int port =
          gateway.bean(Environment.class).getRequiredProperty("local.server.port", Integer.class);
      List<CompletableFuture<String>> clients =
          IntStream.range(0, CLIENTS)
              .mapToObj(
                  i ->
                      CompletableFuture.supplyAsync(
                          () -> lastHead(port), Thread::startVirtualThread))
              .toList();
      RunningGateway.await("all are busy", () -> answered.get() > 10 * CLIENTS);
      gateway.close();
      for (CompletableFuture<String> client : clients) {
        assertThat(client.get(60, TimeUnit.SECONDS)).startsWith("HTTP/1.1 200");
      }
    }
  }

  /** One request after the other, until an answer says that it is the last. */
  private String lastHead(int port) {
    String body = "{\"inputs\":[]}";
    String request =
        "POST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(body.length(), body);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(60_000);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      String head = "";
      while (!head.contains("Connection: close")) {
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        head = head(in);
        in.readNBytes(Integer.parseInt(head.replaceAll("(?s).*Content-Length: (\\d+).*", "$1")));
        answered.incrementAndGet();
      }
      return head;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static String head(InputStream in) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = in.read();
      assertThat(next).as("the connection ended after '%s'", head).isNotNegative();
      head.append((char) next);
    }
    return head.toString();
  }
}
