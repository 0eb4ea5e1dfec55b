package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.audit.Caller;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Asks the operators' ports of other processes. Thread-safe. */
public final class OperatorsClient implements AutoCloseable {
  private static final Duration CONNECT = Duration.ofSeconds(1);
  private static final int OK = 200;

  /** Bytes of an answer to a change; a worker says less. */
  private static final int MOST_SAID = 64 << 10;

  private final Access access;
  private final SpoolMemory memory = new SpoolMemory();
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .followRedirects(HttpClient.Redirect.NEVER)
          .proxy(HttpClient.Builder.NO_PROXY)
          .connectTimeout(CONNECT)
          .build();
  private final ExecutorService askers =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("ask-", 0).factory());

  /**
   * @param access signs for whom something is asked, if there is a key for that
   */
  public OperatorsClient(Access access) {
    this.access = access;
  }

  /** What is kept of answers counts there. */
  SpoolMemory memory() {
    return memory;
  }

  /** Reads a body as it arrives. */
  @FunctionalInterface
  interface Reader<T> {
    /**
     * @param contentType empty when it was not given
     */
    T read(OperatorsPort from, String contentType, InputStream body) throws IOException;
  }

  /**
   * Asks all at once, and returns when they have answered or the limit has passed: then those that
   * have not are given up. Never fails because one of them does.
   *
   * @param path with its query
   * @param accept the media types
   */
  <T> List<Answer<T>> ask(
      List<OperatorsPort> ports, String path, String accept, Duration limit, Reader<T> reader)
      throws InterruptedException {
    return all(ports, limit, port -> ask(port, path, accept, reader));
  }

  /**
   * Tells all at once to make a change, bounded in time as {@link #ask} is. An answer has what the
   * process said, whatever its status was.
   *
   * @param json that says what to change; telling it twice must not be more than telling it once
   */
  List<Answer<byte[]>> tell(List<OperatorsPort> ports, String path, byte[] json, Duration limit)
      throws InterruptedException {
    HttpRequest.Builder said = told(json).header("Accept", "application/json");
    return all(ports, limit, port -> tell(port, path, said));
  }

  private interface Question<T> {
    Answer<T> to(OperatorsPort port) throws IOException, InterruptedException;
  }

  private <T> List<Answer<T>> all(List<OperatorsPort> ports, Duration limit, Question<T> question)
      throws InterruptedException {
    List<Callable<Answer<T>>> questions = new ArrayList<>();
    for (OperatorsPort port : ports) {
      questions.add(() -> question.to(port));
    }
    List<Future<Answer<T>>> asked =
        askers.invokeAll(questions, limit.toNanos(), TimeUnit.NANOSECONDS);
    List<Answer<T>> answers = new ArrayList<>();
    for (int i = 0; i < asked.size(); i++) {
      answers.add(result(ports.get(i), asked.get(i), limit));
    }
    return answers;
  }

  private <T> Answer<T> ask(OperatorsPort port, String path, String accept, Reader<T> reader)
      throws IOException, InterruptedException {
    long from = System.nanoTime();
    HttpRequest request =
        HttpRequest.newBuilder(uri(port.address(), path)).header("Accept", accept).build();
    HttpResponse<InputStream> response = http.send(request, BodyHandlers.ofInputStream());
    try (InputStream body = response.body()) {
      int status = response.statusCode();
      T value =
          status == OK
              ? reader.read(port, response.headers().firstValue("Content-Type").orElse(""), body)
              : null;
      String failure = value == null ? "it answered " + status : "";
      return new Answer<>(port, value, status, failure, secondsSince(from));
    } catch (IOException | RuntimeException e) {
      // here and not from its future, so that the time is its own
      return new Answer<>(port, null, 0, text(e, port), secondsSince(from));
    }
  }

  /** On the thread that is at the caller. */
  private HttpRequest.Builder told(byte[] json) {
    return sealed()
        .header("Content-Type", "application/json")
        .POST(BodyPublishers.ofByteArray(json));
  }

  /** Says for whom, which is the process itself where nobody asks. */
  private HttpRequest.Builder sealed() {
    String ofCaller = Caller.current().sealed();
    String sealed = ofCaller == null ? access.sealedSelf() : ofCaller;
    HttpRequest.Builder request = HttpRequest.newBuilder();
    return sealed == null ? request : request.header(Access.SEALED_CALLER, sealed);
  }

  private Answer<byte[]> tell(OperatorsPort port, String path, HttpRequest.Builder told)
      throws IOException, InterruptedException {
    long from = System.nanoTime();
    HttpRequest request = told.copy().uri(uri(port.address(), path)).build();
    try {
      HttpResponse<InputStream> response = post(request);
      try (InputStream body = response.body()) {
        byte[] said = body.readNBytes(MOST_SAID);
        return new Answer<>(port, said, response.statusCode(), "", secondsSince(from));
      }
    } catch (IOException | RuntimeException e) {
      return new Answer<>(port, null, 0, text(e, port), secondsSince(from));
    }
  }

  /** Once more when a kept connection had been closed at the other end, as no POST is by itself. */
  private HttpResponse<InputStream> post(HttpRequest request)
      throws IOException, InterruptedException {
    try {
      return http.send(request, BodyHandlers.ofInputStream());
    } catch (ConnectException | HttpTimeoutException e) {
      throw e;
    } catch (IOException e) {
      return http.send(request, BodyHandlers.ofInputStream());
    }
  }

  /**
   * Opens an answer that goes on, which the caller closes.
   *
   * @param limit until it begins
   * @throws IOException whose message says why there is none
   */
  InputStream open(OperatorsPort port, String path, Duration limit) throws IOException {
    HttpResponse<InputStream> response =
        opened(port, sealed().uri(uri(port.address(), path)).build(), limit);
    if (response.statusCode() != OK) {
      response.body().close();
      throw new IOException("it answered " + response.statusCode());
    }
    return response.body();
  }

  /**
   * Tells to do something whose answer is long, whatever its status is; the caller closes its body.
   *
   * @param limit until the answer begins
   * @throws IOException whose message says why there is none
   */
  HttpResponse<InputStream> openTold(OperatorsPort port, String path, byte[] json, Duration limit)
      throws IOException {
    HttpRequest request = told(json).uri(uri(port.address(), path)).build();
    return opened(port, request, limit);
  }

  private HttpResponse<InputStream> opened(OperatorsPort port, HttpRequest request, Duration limit)
      throws IOException {
    CompletableFuture<HttpResponse<InputStream>> asked =
        http.sendAsync(request, BodyHandlers.ofInputStream());
    try {
      return asked.get(limit.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      throw new IOException(text(cause == null ? e : cause, port), e);
    } catch (TimeoutException e) {
      asked.cancel(true);
      throw new IOException("it has not answered within " + seconds(limit) + " s", e);
    } catch (InterruptedException e) {
      asked.cancel(true);
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while it was asked", e);
    }
  }

  /** By its address, because a URI takes no host name with an underscore. */
  private static URI uri(InetSocketAddress address, String path) throws UnknownHostException {
    String host = InetAddress.getByName(address.getHostString()).getHostAddress();
    String bracketed = host.contains(":") ? "[" + host + "]" : host;
    return URI.create("http://" + bracketed + ":" + address.getPort() + path);
  }

  private static <T> Answer<T> result(OperatorsPort port, Future<Answer<T>> asked, Duration limit)
      throws InterruptedException {
    if (asked.isCancelled()) {
      String late = "it has not answered within " + seconds(limit) + " s";
      return new Answer<>(port, null, 0, late, limit.toNanos() / 1e9);
    }
    try {
      return asked.get();
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      return new Answer<>(port, null, 0, text(cause == null ? e : cause, port), 0);
    }
  }

  private static String text(Throwable failure, OperatorsPort port) {
    String at = port.address().getHostString() + ":" + port.address().getPort();
    return switch (failure) {
      case UnknownHostException e -> "there is no address of " + at;
      case HttpConnectTimeoutException e ->
          "%s has not accepted a connection within %s s".formatted(at, seconds(CONNECT));
      case ConnectException e -> at + " cannot be reached";
      default -> {
        String why = failure.getMessage();
        yield at + ": " + (why == null || why.isBlank() ? failure.toString() : why);
      }
    };
  }

  private static String seconds(Duration time) {
    return String.valueOf(time.toMillis() / 1e3);
  }

  private static double secondsSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e9;
  }

  /** Gives up what is under way. */
  @Override
  public void close() {
    askers.shutdownNow();
    http.shutdownNow();
  }
}
