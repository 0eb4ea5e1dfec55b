package dev.roundhouse.benchmarks.serving;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;

/** A collector that takes spans by OTLP over HTTP and throws them away. Safe for use by threads. */
public final class SpanSink implements AutoCloseable {
  private static final int OK = 200;

  private final ExecutorService readers = Executors.newSingleThreadExecutor();
  private final LongAdder bytes = new LongAdder();
  private final HttpServer server;

  private SpanSink() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/v1/traces", this::take);
    server.setExecutor(readers);
    server.start();
  }

  /** On a free port of loopback. */
  public static SpanSink start() throws IOException {
    return new SpanSink();
  }

  /** For {@code telemetry.endpoint}. */
  public String endpoint() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** What it has been sent, after the sender's compression. */
  public long bytes() {
    return bytes.sum();
  }

  private void take(HttpExchange exchange) throws IOException {
    try (exchange) {
      bytes.add(exchange.getRequestBody().readAllBytes().length);
      exchange.getResponseHeaders().add("Content-Type", "application/x-protobuf");
      exchange.sendResponseHeaders(OK, -1);
    }
  }

  @Override
  public void close() {
    server.stop(0);
    readers.shutdownNow();
  }
}
