package dev.roundhouse.platform.payload;

import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import dev.roundhouse.transport.io.Seldom;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundles;

/**
 * Sends events one by one, in the binary mode of CloudEvents 1.0: attributes in headers, the
 * document as the body. Thread-safe; callers wait for the collector.
 */
final class PayloadSender implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PayloadLog.class);
  private static final Duration CONNECT = Duration.ofSeconds(5);
  private static final long FIRST_PAUSE_MILLIS = 100;
  private static final long MOST_PAUSE_MILLIS = 5_000;
  private static final int TOO_EARLY = 425;
  private static final int TOO_MANY = 429;
  private static final int REQUEST_TIMEOUT = 408;

  private final Supplier<HttpClient> clients;
  private final URI url;
  private final Duration timeout;
  private final int attempts;

  /** Attributes that all events have. */
  private final Map<String, String> attributes = new LinkedHashMap<>();

  private final Seldom warnings = new Seldom();

  /** Guarded by this. */
  private HttpClient client;

  /** Guarded by this. */
  private boolean closed;

  private PayloadSender(
      PayloadLogProperties settings, URI url, String source, Supplier<HttpClient> clients) {
    this.clients = clients;
    this.url = url;
    client = clients.get();
    timeout = settings.timeout();
    attempts = settings.attempts();
    attributes.put("ce-specversion", "1.0");
    put("ce-source", settings.source().isEmpty() ? source : settings.source());
    put("ce-inferenceservicename", settings.inferenceService());
    put("ce-namespace", settings.namespace());
    put("ce-component", settings.component());
    put("ce-endpoint", settings.endpoint());
  }

  private void put(String name, String value) {
    if (!value.isEmpty()) {
      attributes.put(name, headerText(value));
    }
  }

  /**
   * @throws StartRefusedException when the settings cannot work
   */
  static PayloadSender of(
      PayloadLogProperties settings, String key, String source, SslBundles bundles) {
    URI url = url(settings, key);
    HttpClient.Builder client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(
                CONNECT.compareTo(settings.timeout()) < 0 ? CONNECT : settings.timeout())
            .followRedirects(HttpClient.Redirect.NEVER);
    String bundle = settings.sslBundle();
    if (!bundle.isEmpty()) {
      if (!"https".equals(url.getScheme())) {
        throw new StartRefusedException(
            "%s.ssl-bundle is '%s', and %s.url is '%s', where nothing is encrypted."
                .formatted(key, bundle, key, settings.url()),
            "Write https://, or leave the bundle out.");
      }
      try {
        client.sslContext(bundles.getBundle(bundle).createSslContext());
      } catch (NoSuchSslBundleException | IllegalStateException e) {
        throw new StartRefusedException(
            "%s.ssl-bundle is '%s': %s.".formatted(key, bundle, e.getMessage()),
            "See spring.ssl.bundle." + bundle + ".");
      }
    }
    return new PayloadSender(settings, url, source, client::build);
  }

  private static URI url(PayloadLogProperties settings, String key) {
    String why;
    try {
      URI url = new URI(settings.url());
      boolean isHttp = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
      if (isHttp
          && url.getHost() != null
          && url.getRawUserInfo() == null
          && url.getRawFragment() == null) {
        return url;
      }
      why = "it is not http:// or https:// with a host, a port and a path";
    } catch (URISyntaxException e) {
      why = e.getReason();
    }
    throw new StartRefusedException(
        "%s.url is '%s': %s.".formatted(key, settings.url(), why),
        "Name the collector, such as http://collector:8080/; leave it empty to send nothing.");
  }

  /** An attribute as a header has it: CloudEvents' HTTP binding 3.1.3.2. */
  static String headerText(String value) {
    StringBuilder text = new StringBuilder(value.length());
    for (byte each : value.getBytes(StandardCharsets.UTF_8)) {
      boolean isPlain = each > ' ' && each < 0x7f && each != '"' && each != '%';
      if (isPlain) {
        text.append((char) each);
      } else {
        text.append("%%%02X".formatted(each & 0xff));
      }
    }
    return text.toString();
  }

  /**
   * Sends an event, again if that may help.
   *
   * @param again called before each attempt after the first
   * @return null when the collector has taken it
   */
  @Nullable Drop send(PayloadEvent event, Runnable again) throws InterruptedException {
    PayloadBody.Sent body = event.body().sent();
    if (body == null) {
      return Drop.LARGE;
    }
    HttpRequest request = request(event, body);
    String why = "";
    for (int attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) {
        TimeUnit.MILLISECONDS.sleep(pauseMillis(attempt));
        again.run();
      }
      try {
        int status = status(request);
        if (status / 100 == 2) {
          return null;
        }
        why = "it answers with status " + status;
        if (!mayHelp(status)) {
          warn("the collector of payloads refuses events: " + why);
          return Drop.REFUSED;
        }
      } catch (IOException e) {
        why = e.getMessage() == null ? e.toString() : e.getMessage();
      }
    }
    warn("the collector of payloads takes no events: " + why);
    return Drop.UNREACHED;
  }

  /** Before an attempt after the first, which is 1: four times as long each time, to a limit. */
  static long pauseMillis(int attempt) {
    return Math.min(FIRST_PAUSE_MILLIS << 2 * (attempt - 1), MOST_PAUSE_MILLIS);
  }

  /**
   * Sends it, and waits until the answer has come with all of its body: the client's own time for a
   * request ends with the headers.
   *
   * @throws IOException when no whole answer has come in time
   */
  private int status(HttpRequest request) throws IOException, InterruptedException {
    CompletableFuture<HttpResponse<Void>> answer =
        client().sendAsync(request, BodyHandlers.discarding());
    try {
      return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS).statusCode();
    } catch (TimeoutException e) {
      throw new IOException("no whole answer within %d ms".formatted(timeout.toMillis()));
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException lost) {
        throw lost;
      }
      throw new IllegalStateException("the client could not send an event", e.getCause());
    } finally {
      answer.cancel(true); // closes the connection of one that has not ended
    }
  }

  /** Another one when its thread has ended, as it does on any error: it would send no more. */
  private synchronized HttpClient client() {
    if (client.isTerminated() && !closed) {
      client = clients.get();
    }
    return client;
  }

  private static boolean mayHelp(int status) {
    return status / 100 == 5
        || status == TOO_MANY
        || status == REQUEST_TIMEOUT
        || status == TOO_EARLY;
  }

  private HttpRequest request(PayloadEvent event, PayloadBody.Sent body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(url)
            .POST(BodyPublishers.ofByteArray(body.bytes()))
            .header("ce-id", headerText(body.id().isEmpty() ? event.id() : body.id()))
            .header("ce-type", event.type().text())
            .header("ce-time", event.time().toString());
    attributes.forEach(request::header);
    body.headers().forEach(request::header);
    return request.build();
  }

  /** Once a minute. */
  private void warn(String what) {
    if (warnings.isTime()) {
      log.warn("{} ({}://{}{})", what, url.getScheme(), url.getAuthority(), url.getPath());
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    client.shutdownNow();
  }
}
