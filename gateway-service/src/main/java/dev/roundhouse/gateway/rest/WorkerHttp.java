package dev.roundhouse.gateway.rest;

import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.kserve.codec.SpentHeader;
import dev.roundhouse.platform.rest.ClientConnection;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
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
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.catalina.connector.ClientAbortException;

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
   * @param asking whose request it is, as the worker is told
   * @param spentNanos for which all of it has been here, as it is told too; not when it is 0
   */
  CompletableFuture<HttpResponse<InputStream>> infer(
      HttpServletRequest request,
      InetSocketAddress worker,
      BodyPublisher body,
      int asking,
      long spentNanos) {
    HttpRequest.Builder asked =
        passedOn(request, worker, body).header(CallerHeader.NAME, Integer.toString(asking));
    if (spentNanos > 0) {
      asked.header(SpentHeader.NAME, Long.toString(spentNanos));
    }
    return send(asked);
  }

  private CompletableFuture<HttpResponse<InputStream>> send(HttpRequest.Builder request) {
    return client.sendAsync(request.build(), BodyHandlers.ofInputStream());
  }

  /**
   * Sends a request and waits for the head of its answer; the body is the caller's to close.
   *
   * @throws IOException when the worker cannot be reached, or has not answered
   * @throws ClientAbortException when the client has gone
   */
  HttpResponse<InputStream> send(
      HttpServletRequest request, InetSocketAddress worker, BodyPublisher body) throws IOException {
    CompletableFuture<HttpResponse<InputStream>> answer = send(passedOn(request, worker, body));
    ClientConnection connection = ClientConnection.of(request);
    boolean bodyIsRead = request.getInputStream().isFinished();
    while (true) {
      try {
        return answer.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        if (bodyIsRead && connection.isGone()) {
          answer.cancel(true);
          throw new ClientAbortException("the client has gone");
        }
      } catch (InterruptedException e) {
        answer.cancel(true);
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", e);
      } catch (ExecutionException e) {
        Throwable cause = e.getCause();
        throw cause instanceof IOException io ? io : new IOException(cause);
      }
    }
  }

  private HttpRequest.Builder passedOn(
      HttpServletRequest request, InetSocketAddress worker, BodyPublisher body) {
    String query = request.getQueryString();
    String host = worker.getHostString();
    HttpRequest.Builder passedOn =
        HttpRequest.newBuilder(
                URI.create(
                    scheme
                        + (host.contains(":") ? "[" + host + "]" : host)
                        + ":"
                        + worker.getPort()
                        + request.getRequestURI()
                        + (query == null ? "" : "?" + query)))
            .method(request.getMethod(), body);
    for (String name : Collections.list(request.getHeaderNames())) {
      if (!NOT_PASSED_ON.contains(name.toLowerCase(Locale.ROOT))) {
        Collections.list(request.getHeaders(name)).forEach(value -> passedOn.header(name, value));
      }
    }
    return passedOn;
  }

  /** Gives the client what a worker has answered. */
  static void answer(HttpResponse<InputStream> answer, HttpServletResponse response)
      throws IOException {
    response.setStatus(answer.statusCode());
    answer
        .headers()
        .map()
        .forEach(
            (name, values) -> {
              if (!NOT_PASSED_ON.contains(name.toLowerCase(Locale.ROOT))) {
                addAll(response, name, values);
              }
            });
    answer.headers().firstValueAsLong("content-length").ifPresent(response::setContentLengthLong);
    try (InputStream body = answer.body()) {
      body.transferTo(response.getOutputStream());
    }
  }

  private static void addAll(HttpServletResponse response, String name, List<String> values) {
    values.forEach(value -> response.addHeader(name, value));
  }

  @Override
  public void close() {
    client.shutdownNow();
  }
}
