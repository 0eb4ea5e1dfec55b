package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.transport.http1.Reply;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;

/** Passes requests on to workers' REST ports, and their answers back, as they are. Thread-safe. */
public final class WorkerHttp implements AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /** Between two looks whether the client is still there. */
  static final long LOOK_MILLIS = 100;

  /** Of one connection, not of a request or an answer; and what the HTTP client writes itself. */
  private static final Set<String> NOT_PASSED_ON =
      Set.of(
          "connection",
          "content-length",
          "date",
          "expect",
          "host",
          "http2-settings",
          "keep-alive",
          "origin", // looked at here; what the worker is asked as is another Host
          "proxy-connection",
          CallerHeader.NAME, // said here
          SpentHeader.NAME,
          "sec-fetch-site",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  private final HttpClient client;
  private final String scheme;

  public WorkerHttp(WorkerTls tls) {
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT_TIMEOUT)
            .followRedirects(HttpClient.Redirect.NEVER)
            .executor(Executors.newVirtualThreadPerTaskExecutor());
    if (tls.http() != null) {
      builder.sslContext(tls.http());
    }
    client = builder.build();
    scheme = tls.http() == null ? "http://" : "https://";
  }

  /**
   * Sends a request for inference; the body of its answer is the caller's to close.
   *
   * @param spentNanos for which all of it has been here, as it is told too; not when it is 0
   */
  CompletableFuture<HttpResponse<InputStream>> infer(
      ProxiedRequest request, InetSocketAddress worker, BodyPublisher body, long spentNanos) {
    HttpRequest.Builder asked =
        passedOn(request, worker, body)
            .header(CallerHeader.NAME, Integer.toString(request.caller()));
    if (spentNanos > 0) {
      asked.header(SpentHeader.NAME, Long.toString(spentNanos));
    }
    return client.sendAsync(asked.build(), BodyHandlers.ofInputStream());
  }

  private HttpRequest.Builder passedOn(
      ProxiedRequest request, InetSocketAddress worker, BodyPublisher body) {
    String host = worker.getHostString();
    HttpRequest.Builder passedOn =
        HttpRequest.newBuilder(
                URI.create(
                    scheme
                        + (host.contains(":") ? "[" + host + "]" : host)
                        + ":"
                        + worker.getPort()
                        + request.target()))
            .POST(body);
    for (Map.Entry<String, String> header : request.headers()) {
      if (!NOT_PASSED_ON.contains(header.getKey().toLowerCase(Locale.ROOT))) {
        passedOn.header(header.getKey(), header.getValue());
      }
    }
    return passedOn;
  }

  /** Gives the client what a worker has answered. */
  static void answer(HttpResponse<InputStream> answer, Reply reply) throws IOException {
    reply.status(answer.statusCode());
    answer
        .headers()
        .map()
        .forEach(
            (name, values) -> {
              if (!NOT_PASSED_ON.contains(name.toLowerCase(Locale.ROOT))) {
                reply.header(name, String.join(", ", values));
              }
            });
    answer.headers().firstValueAsLong("content-length").ifPresent(reply::length);
    try (InputStream body = answer.body()) {
      body.transferTo(reply.body());
    }
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
