package dev.roundhouse.simulation.run;

import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.simulation.fleet.Fleet;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.Promises;
import dev.roundhouse.simulation.fleet.RowTag;
import dev.roundhouse.simulation.fleet.Run;
import dev.roundhouse.simulation.run.Findings.WatchedModel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Follows every call and every run, and records violations. */
final class Ledger {
  private final NanoClock clock;
  private final Promises promises;
  private final List<FleetModel> watched;
  private long startNanos; // of what counts
  private int firstCounted = 1; // call
  private final ServiceGap gap;
  private final List<@Nullable Call> calls = new ArrayList<>();
  private final long[][] ends; // by model, by end
  private long[][] counted; // the same, of calls that count
  private final int[] waiting; // by model: calls with rows that no run has taken
  private DeviceTime device;
  private Latencies latencies = new Latencies();
  private final @Nullable Latencies[] latenciesOf; // by model; of the watched
  private long latestNanos; // how late the latest answer was
  private long lastArrivalNanos;
  private long lastEndNanos;
  private long hash;

  /**
   * @param watched models that are compared with each other
   */
  Ledger(Fleet fleet, List<FleetModel> watched, NanoClock clock, Promises promises) {
    this.clock = clock;
    this.promises = promises;
    this.watched = watched;
    startNanos = clock.nanoTime();
    lastArrivalNanos = startNanos;
    lastEndNanos = startNanos;
    gap = new ServiceGap(watched, fleet.size());
    ends = new long[fleet.size()][End.values().length];
    counted = new long[fleet.size()][End.values().length];
    waiting = new int[fleet.size()];
    device = new DeviceTime(fleet.size());
    latenciesOf = new @Nullable Latencies[fleet.size()];
    watched.forEach(model -> latenciesOf[model.index()] = new Latencies());
    calls.add(null); // ids begin at 1
  }

  /** Starts counting device time and new calls; nothing earlier counts. */
  void startCounting() {
    startNanos = clock.nanoTime();
    firstCounted = calls.size();
    counted = new long[waiting.length][End.values().length];
    device = new DeviceTime(waiting.length);
    latencies = new Latencies();
    watched.forEach(model -> latenciesOf[model.index()] = new Latencies());
    latestNanos = 0;
  }

  private boolean counts(Call call) {
    return call.id >= firstCounted;
  }

  /** A call arrives now and is about to be submitted. */
  Call onArrival(FleetModel model, int rows, long deadlineNanos) {
    Call call = new Call(calls.size(), model, rows, clock.nanoTime(), deadlineNanos, this);
    calls.add(call);
    waiting[model.index()]++;
    lastArrivalNanos = call.arrivalNanos;
    return call;
  }

  /** The device has taken a run. */
  void onRun(Run run) {
    gap.onRun(run.model().index(), run.nanos(), waiting);
    long rowNanos = device.onRun(run);
    for (int i = 0; i < run.rows(); i++) {
      Call call = open(RowTag.call(run.tag(i)));
      if (call == null || call.model != run.model()) {
        promises.broken(
            "a run of model '%s' got a row of call %d, which is over or another model's",
            run.model().name(), RowTag.call(run.tag(i)));
        return;
      }
      call.deviceNanos += rowNanos;
      call.rowsRun++;
      if (call.rowsRun == call.rows) {
        waiting[call.model.index()]--;
      }
    }
  }

  void onOutcome(Call call, Outcome outcome) {
    int id = (int) call.id;
    if (calls.set(id, null) == null) {
      promises.broken("call %d ended twice, now with %s", id, outcome);
      return;
    }
    long now = clock.nanoTime();
    End end = end(call, outcome, now);
    ends[call.model.index()][end.ordinal()]++;
    if (counts(call)) {
      counted[call.model.index()][end.ordinal()]++;
      if (end != End.IN_TIME) {
        device.onWasted(call.deviceNanos);
      }
    }
    if (call.rowsRun < call.rows) {
      withdraw(call);
    }
    lastEndNanos = now;
    hash = mix(hash ^ call.id) + now;
    hash = mix(hash ^ end.ordinal());
  }

  /** The open call with that id; null when there is none. */
  private @Nullable Call open(long id) {
    return id > 0 && id < calls.size() ? calls.get((int) id) : null;
  }

  /** Calls that have neither been answered nor dropped. */
  long open() {
    return calls.stream().filter(call -> call != null).count();
  }

  /** Calls that ended in this way, including those before counting began. */
  long count(int model, End end) {
    return ends[model][end.ordinal()];
  }

  Findings findings(String discipline) {
    Map<End, Long> counts = new EnumMap<>(End.class);
    for (End end : End.values()) {
      counts.put(end, Arrays.stream(counted).mapToLong(each -> each[end.ordinal()]).sum());
    }
    return new Findings(
        discipline,
        calls.size() - firstCounted,
        counts,
        lastArrivalNanos - startNanos,
        lastEndNanos - startNanos,
        latencies.quantiles(),
        latestNanos,
        gap.ratio(),
        watched.stream().map(this::findings).toList(),
        device.use(),
        Findings.Residence.NONE,
        hash);
  }

  private WatchedModel findings(FleetModel model) {
    Latencies own = latenciesOf[model.index()];
    return new WatchedModel(
        model,
        counted[model.index()][End.IN_TIME.ordinal()],
        own == null ? new Latencies().quantiles() : own.quantiles(),
        device.ofModel(model.index()));
  }

  private End end(Call call, Outcome outcome, long now) {
    return switch (outcome) {
      case Outcome.Completed completed -> {
        if (call.rowsRun != call.rows || !call.answered) {
          promises.broken(
              "call %d of model '%s' got an answer that was not made from its %d rows",
              call.id, call.model.name(), call.rows);
        }
        yield answered(call, now);
      }
      case Outcome.Shed shed -> End.SHED;
      case Outcome.Refused refused -> End.REFUSED;
      case Outcome.Failed failed -> End.FAILED;
      case Outcome.Cancelled cancelled -> End.CANCELLED;
    };
  }

  private End answered(Call call, long now) {
    if (counts(call)) {
      latencies.add(now - call.arrivalNanos);
      Latencies own = latenciesOf[call.model.index()];
      if (own != null) {
        own.add(now - call.arrivalNanos);
      }
    }
    if (call.deadlineNanos == InferenceRequest.NO_DEADLINE || now <= call.deadlineNanos) {
      return End.IN_TIME;
    }
    if (counts(call)) {
      latestNanos = Math.max(latestNanos, now - call.deadlineNanos);
    }
    return End.LATE;
  }

  /** A call ends with rows that never ran. */
  private void withdraw(Call call) {
    int model = call.model.index();
    waiting[model]--;
    if (waiting[model] == 0) {
      gap.onEmptied(model);
    }
  }

  private static long mix(long value) {
    return RowTag.answer(value, 0);
  }
}
