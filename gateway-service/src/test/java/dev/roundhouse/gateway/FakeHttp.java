package dev.roundhouse.gateway;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsServer;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.platform.access.Access;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/** The REST port of a {@link FakeWorker}. */
final class FakeHttp implements AutoCloseable {
  private final FakeWorker worker;
  private final HttpServer server;

  /**
   * @param keys of its TLS; null for plain text
   * @param port 0 for any that is free
   */
  FakeHttp(FakeWorker worker, @Nullable WorkerKeys keys, int port) throws IOException {
    this.worker = worker;
    if (keys == null) {
      server = HttpServer.create(FakeWorker.loopback(port), 0);
    } else {
      HttpsServer secret = HttpsServer.create(FakeWorker.loopback(port), 0);
      secret.setHttpsConfigurator(keys.http());
      server = secret;
    }
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/", this::answer);
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  @Override
  public void close() {
    server.stop(0);
  }

  /** Answers as it is told to, with the code before the text; unless told, that there is none. */
  private void change(HttpExchange exchange, String path, String json) throws IOException {
    worker.calls.add("POST " + path + " " + json);
    String[] answer = worker.operators.getOrDefault("POST " + path, "404 {}").split(" ", 2);
    byte[] text = answer[1].getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(Integer.parseInt(answer[0]), text.length);
    exchange.getResponseBody().write(text);
  }

  /** Says who it is, what was asked, and what came with it. */
  private void answer(HttpExchange exchange) {
    try (exchange) {
      if (worker.refusesUnread) {
        exchange.sendResponseHeaders(400, -1);
        return;
      }
      worker.noteCaller(
          exchange.getRequestHeaders().getFirst(Access.SEALED_CALLER),
          exchange.getRequestHeaders().getFirst("authorization"));
      byte[] body = exchange.getRequestBody().readAllBytes();
      String path = exchange.getRequestURI().getPath();
      if (exchange.getRequestMethod().equals("POST") && path.startsWith("/actuator/")) {
        change(exchange, path, new String(body, StandardCharsets.UTF_8));
        return;
      }
      String operators = worker.operators.get(path);
      if (operators != null) {
        byte[] text = operators.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, text.length);
        exchange.getResponseBody().write(text);
        return;
      }
      worker.calls.add(exchange.getRequestMethod() + " " + path);
      worker.noteTrace(exchange.getRequestHeaders().getFirst("traceparent"));
      CountDownLatch until = worker.held;
      if (until != null && path.endsWith("/infer")) {
        FakeWorker.await(until);
      }
      int code =
          switch (worker.failure.getCode()) {
            case OK -> 200;
            case FAILED_PRECONDITION -> 400;
            case NOT_FOUND -> 404;
            default -> 503;
          };
      if (worker.began) {
        exchange.getResponseHeaders().add(FakeWorker.BEGAN.name(), "true");
      }
      if (!worker.about.isEmpty()) {
        exchange.getResponseHeaders().add(FakeWorker.ABOUT.name(), worker.about);
      }
      byte[] text =
          (worker.name + " " + path + " " + new String(body, StandardCharsets.UTF_8))
              .getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "text/plain");
      exchange
          .getResponseHeaders()
          .add("X-Echo", String.valueOf(exchange.getRequestHeaders().getFirst("X-Echo")));
      exchange
          .getResponseHeaders()
          .add("X-Callers", String.valueOf(exchange.getRequestHeaders().get(CallerHeader.NAME)));
      exchange
          .getResponseHeaders()
          .add("X-Spent", String.valueOf(exchange.getRequestHeaders().get(SpentHeader.NAME)));
      exchange.sendResponseHeaders(code, text.length);
      exchange.getResponseBody().write(text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
