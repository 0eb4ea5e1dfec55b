package dev.roundhouse.platform.operators;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.roundhouse.platform.access.AccessTest;
import dev.roundhouse.platform.config.WorkersMetricsProperties;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

@Timeout(60)
class WorkersMetricsFilterTest {
  private static final String OWN = "# TYPE own gauge\nown 1.0\n";
  private static final String PAGE = "# TYPE runs gauge\nruns 1.0\n";

  private final List<AutoCloseable> opened = new ArrayList<>();
  private final CountDownLatch never = new CountDownLatch(1);
  private final AtomicReference<String> asked = new AtomicReference<>("");

  @AfterEach
  void close() throws Exception {
    never.countDown();
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  @Test
  void shouldHaveEveryWorkersMetrics() throws Exception {
    MockHttpServletResponse response =
        scrape(settings(5_000), get(), worker("w0", PAGE), worker("w1", PAGE));
    assertThat(response.getStatus()).isEqualTo(200);
    assertThat(response.getContentType()).startsWith("text/plain");
    assertThat(response.getContentAsString(UTF_8))
        .startsWith(
            """
            # TYPE own gauge
            own 1.0
            # TYPE runs gauge
            runs{worker="w0"} 1.0
            runs{worker="w1"} 1.0
            """)
        .contains("roundhouse_worker_scrape_duration_seconds{worker=\"w1\"} 0.");
    assertThat(asked.get()).startsWith("/metrics?workers=false text/plain");
  }

  @Test
  void shouldAnswerInTimeThoughAWorkerIsGoneOneHangsAndOneStopsInTheMiddle() throws Exception {
    OperatorsPort gone;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      gone = port("gone", socket.getLocalPort());
    }
    OperatorsPort hangs = serve("hangs", exchange -> never.await());
    OperatorsPort middle =
        serve(
            "middle",
            exchange -> {
              exchange.sendResponseHeaders(200, 0);
              exchange.getResponseBody().write(PAGE.getBytes(UTF_8));
              exchange.getResponseBody().flush();
              never.await();
            });
    OperatorsPort loading = serve("loading", exchange -> exchange.sendResponseHeaders(503, -1));
    OperatorsPort strange = worker("strange", "<html>");
    long from = System.nanoTime();
    String page =
        scrape(settings(500), get(), gone, hangs, middle, loading, strange, worker("well", PAGE))
            .getContentAsString(UTF_8);
    assertThat(Duration.ofNanos(System.nanoTime() - from)).isLessThan(Duration.ofSeconds(10));
    assertThat(page)
        .contains("runs{worker=\"well\"} 1.0", up("well", 1))
        .contains(up("gone", 0), up("hangs", 0), up("middle", 0), up("loading", 0))
        .contains(up("strange", 0))
        .contains("roundhouse_worker_scrape_duration_seconds{worker=\"hangs\"} 0.5\n")
        .doesNotContain("runs{worker=\"middle\"}");
  }

  @Test
  void shouldWaitNoLongerThanPrometheusDoes() throws Exception {
    MockHttpServletRequest request = get();
    request.addHeader("X-Prometheus-Scrape-Timeout-Seconds", "0.4");
    String page =
        scrape(settings(50_000), request, serve("hangs", exchange -> never.await()))
            .getContentAsString(UTF_8);
    assertThat(page).contains("roundhouse_worker_scrape_duration_seconds{worker=\"hangs\"} 0.3\n");
  }

  @Test
  void shouldAskForTheFormatThatPrometheusWants() throws Exception {
    MockHttpServletRequest request = get();
    request.addHeader(
        "Accept",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;q=0.7,"
            + "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;q=0.4");
    request.addParameter("includedNames", "own", "runs");
    MockHttpServletResponse response = scrape(settings(5_000), request, worker("w0", PAGE));
    assertThat(response.getContentType()).startsWith("application/openmetrics-text");
    assertThat(response.getContentAsString(UTF_8)).endsWith("\n# EOF\n");
    assertThat(asked.get())
        .isEqualTo(
            "/metrics?workers=false&includedNames=own&includedNames=runs"
                + " application/openmetrics-text;version=1.0.0, text/plain;version=0.0.4;q=0.5");
  }

  @Test
  void shouldHaveItsOwnMetricsOnlyWhereThatIsAskedOrSet() throws Exception {
    OperatorsPort worker = worker("w0", PAGE);
    MockHttpServletRequest request = get();
    request.addParameter("workers", "false");
    assertThat(scrape(settings(5_000), request, worker).getContentAsString(UTF_8)).isEqualTo(OWN);

    WorkersMetricsProperties off = new WorkersMetricsProperties(false, Duration.ofSeconds(5));
    assertThat(scrape(off, get(), worker).getContentAsString(UTF_8)).isEqualTo(OWN);
    request = get();
    request.addParameter("workers", "true");
    assertThat(scrape(off, request, worker).getContentAsString(UTF_8)).contains(up("w0", 1));

    request = get();
    request.addParameter("workers", "yes");
    MockHttpServletResponse refused = scrape(off, request, worker);
    assertThat(refused.getStatus()).isEqualTo(400);
    assertThat(refused.getContentAsString(UTF_8))
        .isEqualTo("{\"error\":\"workers is neither true nor false: yes\"}");
  }

  private static String up(String worker, int value) {
    return "roundhouse_worker_scrape_up{worker=\"" + worker + "\"} " + value + ".0\n";
  }

  private static WorkersMetricsProperties settings(int millis) {
    return new WorkersMetricsProperties(true, Duration.ofMillis(millis));
  }

  private static MockHttpServletRequest get() {
    return new MockHttpServletRequest("GET", "/actuator/prometheus");
  }

  private static MockHttpServletResponse scrape(
      WorkersMetricsProperties settings, MockHttpServletRequest request, OperatorsPort... ports)
      throws Exception {
    MockHttpServletResponse response = new MockHttpServletResponse();
    try (OperatorsClient client = new OperatorsClient(AccessTest.access(Map.of()))) {
      new WorkersMetricsFilter(
              new AnsweredFor(AnsweredFor.NODE, client, () -> List.of(ports), settings))
          .doFilter(
              request,
              response,
              (own, page) -> {
                String accept = ((jakarta.servlet.http.HttpServletRequest) own).getHeader("Accept");
                page.setContentType(accept == null ? "text/plain" : accept);
                page.getOutputStream().write(OWN.getBytes(UTF_8));
              });
    }
    return response;
  }

  private OperatorsPort worker(String name, String page) throws IOException {
    return serve(
        name,
        exchange -> {
          asked.set(
              exchange.getRequestURI() + " " + exchange.getRequestHeaders().getFirst("Accept"));
          byte[] bytes = page.getBytes(UTF_8);
          exchange.sendResponseHeaders(200, bytes.length);
          exchange.getResponseBody().write(bytes);
        });
  }

  private interface Handler {
    void answer(HttpExchange exchange) throws Exception;
  }

  private OperatorsPort serve(String name, Handler handler) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    server.setExecutor(threads);
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            handler.answer(exchange);
          } catch (Exception e) {
            throw new IOException(e);
          }
        });
    server.start();
    opened.add(threads::shutdownNow);
    opened.add(() -> server.stop(0));
    return port(name, server.getAddress().getPort());
  }

  private static OperatorsPort port(String name, int port) {
    return OperatorsPort.worker(name, InetSocketAddress.createUnresolved("127.0.0.1", port));
  }
}
