package dev.roundhouse.platform.access;

import com.nimbusds.jose.jwk.JWKSet;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The keys of an issuer, read again by a thread of their own: whoever asks for them never waits.
 * Thread-safe.
 */
final class JwtKeys implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(JwtKeys.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final Duration SOONEST = Duration.ofSeconds(10);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);
  private static final int MOST_BYTES = 1 << 20;
  private static final int OK = 200;
  private static final String DISCOVERY = "/.well-known/openid-configuration";

  private final JwtProperties settings;
  private final HttpClient http =
      HttpClient.newBuilder()
          .connectTimeout(TIMEOUT)
          .followRedirects(HttpClient.Redirect.NEVER)
          .build();
  private final Semaphore wanted = new Semaphore(0);
  private final Thread reading;
  private volatile JWKSet keys = new JWKSet();
  private volatile String failure = "they have not been read yet";
  private volatile long readNanos = System.nanoTime() - SOONEST.toNanos();
  private volatile boolean isRead;

  JwtKeys(JwtProperties settings) {
    this.settings = settings;
    reading = Thread.ofVirtual().name("access-keys").start(this::run);
  }

  /** Those that were read last; none before. */
  JWKSet current() {
    return keys;
  }

  /** Why there are none; null when there are. */
  @Nullable String missingBecause() {
    return isRead ? null : failure;
  }

  /** Has them read again soon: a token is signed by one that is not among them. */
  void readAgain() {
    if (System.nanoTime() - readNanos > SOONEST.toNanos() && wanted.availablePermits() == 0) {
      wanted.release();
    }
  }

  private void run() {
    try {
      while (true) {
        boolean read = read();
        Duration until = read ? settings.refresh() : AFTER_FAILURE;
        if (wanted.tryAcquire(until.toNanos(), TimeUnit.NANOSECONDS)) {
          wanted.drainPermits();
        }
      }
    } catch (InterruptedException e) {
      // closed
    } catch (Throwable e) {
      failure = "reading them has failed: " + e;
      log.error("the keys of issuer {} are not read again from now on", settings.issuer(), e);
    }
  }

  private boolean read() throws InterruptedException {
    readNanos = System.nanoTime(); // or it would be asked for again meanwhile
    try {
      String from = settings.keys().isEmpty() ? discovered() : settings.keys();
      JWKSet found = JWKSet.parse(text(from)).toPublicJWKSet();
      if (!isRead) {
        log.info("{} keys of issuer {} are read", found.getKeys().size(), settings.issuer());
      }
      keys = found;
      isRead = true;
      return true;
    } catch (IOException | ParseException | JacksonException | IllegalArgumentException e) {
      String now = String.valueOf(e.getMessage());
      if (!now.equals(failure)) {
        log.warn(
            "the keys of issuer {} cannot be read: {}{}",
            settings.issuer(),
            now,
            isRead ? "; those read before hold on" : "");
      }
      failure = now;
      return false;
    } finally {
      readNanos = System.nanoTime();
    }
  }

  private String discovered() throws IOException, InterruptedException {
    String at = settings.issuer().replaceAll("/+$", "") + DISCOVERY;
    JsonNode document = new JsonMapper().readTree(text(at));
    String keysAt = document.at("/jwks_uri").asString("");
    if (!settings.issuer().equals(document.at("/issuer").asString(""))) {
      throw new IOException(at + " is of another issuer");
    }
    if (keysAt.isEmpty()) {
      throw new IOException(at + " has no jwks_uri");
    }
    return keysAt;
  }

  private String text(String from) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(from)).timeout(TIMEOUT).build();
    HttpResponse<InputStream> answer = http.send(request, BodyHandlers.ofInputStream());
    try (InputStream body = answer.body()) {
      if (answer.statusCode() != OK) {
        throw new IOException(from + " answered " + answer.statusCode());
      }
      byte[] bytes = body.readNBytes(MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) {
        throw new IOException(from + " answered with more than " + MOST_BYTES + " bytes");
      }
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  @Override
  public void close() {
    reading.interrupt();
    http.shutdownNow();
  }
}
