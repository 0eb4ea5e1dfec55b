package dev.roundhouse.platform.telemetry;

import io.opentelemetry.api.trace.SpanContext;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Which requests ran together, of the sampled ones that are sent at one time. For the thread that
 * sends them.
 */
public final class SharedRuns {
  /** Links of one span; a run may have hundreds of requests. */
  static final int MOST_LINKS = 32;

  private final Map<Object, List<SpanContext>> requests = new HashMap<>();

  SharedRuns() {}

  /**
   * A request had a part in a run. Told again of the same run, before any other request is, it
   * counts once.
   *
   * @param run equal for all its requests
   * @param request its span
   */
  public void add(Object run, SpanContext request) {
    List<SpanContext> all = requests.computeIfAbsent(run, unused -> new ArrayList<>(4));
    if (all.isEmpty() || all.getLast() != request) {
      all.add(request);
    }
  }

  /**
   * Others of the run: all of them, or those that follow the request where they are too many, and
   * the first ones behind the last, so that each of a run is linked to.
   */
  public List<SpanContext> others(Object run, SpanContext request) {
    List<SpanContext> all = requests.getOrDefault(run, List.of());
    int own = all.indexOf(request);
    if (own < 0 || all.size() == 1) {
      return List.of();
    }
    int count = Math.min(MOST_LINKS, all.size() - 1);
    List<SpanContext> others = new ArrayList<>(count);
    for (int i = 1; i <= count; i++) {
      others.add(all.get((own + i) % all.size()));
    }
    return others;
  }

  void clear() {
    requests.clear();
  }
}
