package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.lane.Lanes;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.ReceiptNotes;
import dev.roundhouse.engine.request.Receipt;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The latest runs on the device, for receipts, who ran while a request waited, and for whoever
 * looks on; or likewise the latest loads of weights. Keeping them costs a run three stores, whether
 * or not somebody asks. Owned by the dispatch thread.
 */
final class RecentRuns {
  static final int KEPT = 256;

  /** Models that a receipt names. */
  private static final int NAMED = 5;

  /** In place of the index of a model that is gone. */
  private static final int GONE = -1;

  private final int[] models = new int[KEPT];
  private final long[] endedNanos = new long[KEPT];
  private final long[] tookNanos = new long[KEPT];
  private long count;

  /** A run has ended. */
  void add(int modelIndex, long took, long ended) {
    int at = (int) (count++ % KEPT);
    models[at] = modelIndex;
    tookNanos[at] = took;
    endedNanos[at] = ended;
  }

  /** A model is gone; another may have its index next. */
  void forget(int modelIndex) {
    for (int at = 0; at < KEPT; at++) {
      if (models[at] == modelIndex) {
        models[at] = GONE;
      }
    }
  }

  /** What is kept of models that are there. */
  DispatchState.Latest latest(Lanes lanes) {
    List<DispatchState.Span> spans = new ArrayList<>();
    for (long run = Math.max(0, count - KEPT); run < count; run++) {
      int at = (int) (run % KEPT);
      ModelLane lane = models[at] == GONE ? null : lanes.in(models[at]);
      if (lane != null) {
        String name = lane.model().name();
        spans.add(new DispatchState.Span(name, tookNanos[at], endedNanos[at]));
      }
    }
    return new DispatchState.Latest(count, List.copyOf(spans));
  }

  /** Notes for the members of a batch that is to run who was ahead, and whether weights came. */
  void note(BatchSlot slot, Lanes lanes) {
    ModelLane lane = slot.lane();
    for (int member = 0; member < slot.size(); member++) {
      QueuedRequest request = slot.request(member);
      ReceiptNotes notes = request == null ? null : request.notes();
      if (request == null || notes == null || slot.firstRow(member) > 0) {
        continue;
      }
      notes.ranAhead(since(request.arrivalNanos(), lanes));
      if (lane.hasArrivedSince(request.arrivalNanos())) {
        notes.weightsCame(lane.loadNanos());
      }
    }
  }

  private List<Receipt.Ahead> since(long arrivalNanos, Lanes lanes) {
    Map<Integer, Receipt.Ahead> byModel = new HashMap<>();
    for (long run = count - 1; run >= Math.max(0, count - KEPT); run--) {
      int at = (int) (run % KEPT);
      if (endedNanos[at] <= arrivalNanos) {
        break;
      }
      ModelLane lane = models[at] == GONE ? null : lanes.in(models[at]);
      if (lane != null) {
        Receipt.Ahead one = new Receipt.Ahead(lane.model().name(), 1, tookNanos[at]);
        byModel.merge(models[at], one, RecentRuns::sum);
      }
    }
    List<Receipt.Ahead> all = new ArrayList<>(byModel.values());
    all.sort(
        Comparator.comparingLong(Receipt.Ahead::nanos)
            .reversed()
            .thenComparing(Receipt.Ahead::model));
    return List.copyOf(all.subList(0, Math.min(NAMED, all.size())));
  }

  private static Receipt.Ahead sum(Receipt.Ahead a, Receipt.Ahead b) {
    return new Receipt.Ahead(a.model(), a.runs() + b.runs(), a.nanos() + b.nanos());
  }
}
