package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.rest.JsonReply;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.util.ContentCachingResponseWrapper;

/**
 * Puts the metrics of other processes onto the page that Boot makes of this one's, in the format
 * that Boot and the caller agree on.
 */
final class WorkersMetricsFilter extends OncePerRequestFilter {
  private static final Logger log = LoggerFactory.getLogger(WorkersMetricsFilter.class);

  static final String OPEN_METRICS = "application/openmetrics-text";
  private static final String ACCEPT_OPEN_METRICS =
      OPEN_METRICS + ";version=1.0.0, text/plain;version=0.0.4;q=0.5";
  private static final String ACCEPT_TEXT = "text/plain;version=0.0.4";

  /** Boot's, a choice of names. */
  private static final String NAMES = "includedNames";

  private static final String WORKERS = "workers";

  /** Set by Prometheus. */
  private static final String PATIENCE = "X-Prometheus-Scrape-Timeout-Seconds";

  /** Of that, for the workers; the rest is for writing. */
  private static final double WORKERS_PART = 0.75;

  private static final int MOST_AT_ONCE = 4;

  private final AnsweredFor others;
  private final Semaphore atOnce = new Semaphore(MOST_AT_ONCE);
  private final Map<String, String> failures = new ConcurrentHashMap<>();

  WorkersMetricsFilter(AnsweredFor others) {
    this.others = others;
  }

  @Override
  protected void doFilterInternal(
      HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    String asked = request.getParameter(WORKERS);
    if (asked != null && !asked.equals("true") && !asked.equals("false")) {
      JsonReply.error(
          response,
          HttpServletResponse.SC_BAD_REQUEST,
          "workers is neither true nor false: " + asked);
      return;
    }
    boolean all = asked == null ? others.settings().workers() : asked.equals("true");
    List<OperatorsPort> ports = all ? others.ports().now() : List.of();
    if (ports.isEmpty() || !request.getMethod().equals("GET")) {
      chain.doFilter(request, response);
    } else if (!atOnce.tryAcquire()) {
      JsonReply.error(
          response,
          HttpServletResponse.SC_SERVICE_UNAVAILABLE,
          "%d scrapes of all workers are under way, and no more are made at once; ask later or with workers=false"
              .formatted(MOST_AT_ONCE));
    } else {
      try {
        answer(request, response, chain, ports);
      } finally {
        atOnce.release();
      }
    }
  }

  private void answer(
      HttpServletRequest request,
      HttpServletResponse response,
      FilterChain chain,
      List<OperatorsPort> ports)
      throws ServletException, IOException {
    String accepted = request.getHeader(HttpHeaders.ACCEPT);
    boolean openMetrics = accepted != null && accepted.contains(OPEN_METRICS);
    ContentCachingResponseWrapper made = new ContentCachingResponseWrapper(response);
    chain.doFilter(new Accepting(request, openMetrics ? OPEN_METRICS : ACCEPT_TEXT), made);
    if (made.getStatus() != HttpServletResponse.SC_OK) {
      made.copyBodyToResponse();
      return;
    }
    MetricsPage own =
        MetricsPage.read(
            new ByteArrayInputStream(made.getContentAsByteArray()), memory(), null, false);
    try {
      made.resetBuffer();
      List<Answer<MetricsPage>> answers = ask(request, ports, openMetrics);
      try {
        new MergedPage(own, answers).write(response.getOutputStream(), openMetrics);
      } finally {
        answers.stream()
            .flatMap(each -> Stream.ofNullable(each.value()))
            .forEach(MetricsPage::drop);
      }
    } finally {
      own.drop();
    }
  }

  private List<Answer<MetricsPage>> ask(
      HttpServletRequest request, List<OperatorsPort> ports, boolean openMetrics)
      throws IOException {
    List<Answer<MetricsPage>> answers;
    try {
      answers =
          others
              .client()
              .ask(ports, path(request), accept(openMetrics), limit(request), reader(openMetrics));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while workers were asked", e);
    }
    failures.keySet().retainAll(ports.stream().map(OperatorsPort::name).toList());
    answers.forEach(this::tell);
    return answers;
  }

  private SpoolMemory memory() {
    return others.client().memory();
  }

  private static String accept(boolean openMetrics) {
    return openMetrics ? ACCEPT_OPEN_METRICS : ACCEPT_TEXT;
  }

  private OperatorsClient.Reader<MetricsPage> reader(boolean openMetrics) {
    return (from, contentType, body) ->
        MetricsPage.read(
            body,
            memory(),
            Sample.label(from.label(), from.name()),
            openMetrics && !contentType.startsWith(OPEN_METRICS));
  }

  /** Without those that it may answer for itself: they are asked here, or by nobody. */
  private static String path(HttpServletRequest request) {
    StringBuilder path = new StringBuilder("/metrics?" + WORKERS + "=false");
    String[] names = request.getParameterValues(NAMES);
    for (String name : names == null ? new String[0] : names) {
      path.append('&').append(NAMES).append('=');
      path.append(URLEncoder.encode(name, StandardCharsets.UTF_8));
    }
    return path.toString();
  }

  private Duration limit(HttpServletRequest request) {
    String patience = request.getHeader(PATIENCE);
    try {
      double seconds = patience == null ? Double.NaN : Double.parseDouble(patience);
      double millis = seconds * WORKERS_PART * 1e3;
      return millis >= 1 && millis < others.settings().timeout().toMillis()
          ? Duration.ofMillis((long) millis)
          : others.settings().timeout();
    } catch (NumberFormatException e) {
      return others.settings().timeout();
    }
  }

  /** Once, until the reason is another. */
  private void tell(Answer<MetricsPage> answer) {
    String name = answer.port().name();
    if (answer.value() != null) {
      if (failures.remove(name) != null) {
        log.info("metrics of '{}' are there again", name);
      }
    } else if (!answer.failure().equals(failures.put(name, answer.failure()))) {
      log.warn("no metrics of '{}': {}", name, answer.failure());
    }
  }

  /** The request with one media type that is accepted. */
  private static final class Accepting extends HttpServletRequestWrapper {
    private final String type;

    Accepting(HttpServletRequest request, String type) {
      super(request);
      this.type = type;
    }

    @Override
    public @Nullable String getHeader(String name) {
      return HttpHeaders.ACCEPT.equalsIgnoreCase(name) ? type : super.getHeader(name);
    }

    @Override
    public Enumeration<String> getHeaders(String name) {
      return HttpHeaders.ACCEPT.equalsIgnoreCase(name)
          ? Collections.enumeration(List.of(type))
          : super.getHeaders(name);
    }
  }
}
