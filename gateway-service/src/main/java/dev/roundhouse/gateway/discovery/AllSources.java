package dev.roundhouse.gateway.discovery;

import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The workers of several sources together. A source that does not answer is taken to say what it
 * said last: its workers do not go because a name server does. A name that two sources give belongs
 * to the first. For one thread.
 */
public final class AllSources implements WorkerSource {
  private static final Logger log = LoggerFactory.getLogger(AllSources.class);

  private final List<WorkerSource> sources;
  private final Map<WorkerSource, List<WorkerAddress>> last = new HashMap<>();
  private final Map<WorkerSource, String> failures = new HashMap<>();

  public AllSources(List<WorkerSource> sources) {
    this.sources = List.copyOf(sources);
  }

  @Override
  public List<WorkerAddress> workers() {
    Map<String, WorkerAddress> all = new LinkedHashMap<>();
    for (WorkerSource source : sources) {
      for (WorkerAddress worker : ask(source)) {
        all.putIfAbsent(worker.name(), worker);
      }
    }
    return new ArrayList<>(all.values());
  }

  private List<WorkerAddress> ask(WorkerSource source) {
    try {
      List<WorkerAddress> workers = List.copyOf(source.workers());
      last.put(source, workers);
      if (failures.remove(source) != null) {
        log.info("workers can be found again: {}", workers.size());
      }
    } catch (IOException e) {
      String why = String.valueOf(e.getMessage());
      if (!why.equals(failures.put(source, why))) {
        log.warn("{}; the workers that were found before are kept", why);
      }
    }
    return last.getOrDefault(source, List.of());
  }
}
