package dev.roundhouse.gateway.schedule;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.placement.ModelTotals;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What all workers together say of a model.
 *
 * @param hosts ready workers that have it ready
 */
record ModelKnown(
    ModelTotals totals, long weightBytes, long maxBatch, boolean rowsAreItems, Set<String> hosts) {

  /** Of every model that a ready worker has ready. */
  static Map<String, ModelKnown> of(List<WorkerLook> looks) {
    Map<String, Sum> sums = new HashMap<>();
    for (int worker = 0; worker < looks.size(); worker++) {
      WorkerLook look = looks.get(worker);
      if (look.ready()) {
        add(look, worker, sums);
      }
    }
    Map<BitSet, Set<String>> hosts = new HashMap<>(); // most models have the same
    Map<String, ModelKnown> known = HashMap.newHashMap(sums.size());
    sums.forEach(
        (name, sum) ->
            known.put(
                name, sum.known(hosts.computeIfAbsent(sum.hosts, which -> names(which, looks)))));
    return known;
  }

  private static void add(WorkerLook look, int worker, Map<String, Sum> sums) {
    Map<String, ModelStatus> statuses = look.statuses();
    look.models()
        .forEach(
            (name, ready) -> {
              if (ready) {
                sums.computeIfAbsent(name, unknown -> new Sum())
                    .add(worker, statuses.getOrDefault(name, ModelStatus.getDefaultInstance()));
              }
            });
  }

  private static Set<String> names(BitSet which, List<WorkerLook> looks) {
    return which.stream()
        .mapToObj(worker -> looks.get(worker).link().name())
        .collect(Collectors.toUnmodifiableSet());
  }

  private static final class Sum {
    private final BitSet hosts = new BitSet();
    private double computeSeconds;
    private long items;
    private long requests;
    private long weightBytes;
    private long maxBatch;
    private boolean rowsAreItems;

    void add(int worker, ModelStatus status) {
      hosts.set(worker);
      computeSeconds += status.getTotalComputeSeconds();
      items += status.getRowsServed();
      requests += status.getRequestsServed();
      weightBytes = Math.max(weightBytes, status.getWeightNbytes());
      maxBatch = Math.max(maxBatch, status.getMaxBatchSize());
      rowsAreItems |= status.getBatchAxis() == 1;
    }

    ModelKnown known(Set<String> names) {
      return new ModelKnown(
          new ModelTotals(computeSeconds, items, requests),
          weightBytes,
          maxBatch,
          rowsAreItems,
          names);
    }
  }
}
