package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.List;
import java.util.Map;

/**
 * The result of a simulation. Counts calls after the lead-in; only the gap and the hash cover all
 * of it. Times are simulated.
 *
 * @param offered calls that arrived
 * @param ends how many ended in each way; has an entry for every {@link End}
 * @param arrivalNanos from the end of the lead-in to the last arrival
 * @param elapsedNanos from the end of the lead-in to the last outcome
 * @param latency of answered calls, from their arrival
 * @param latestNanos how far past its deadline the latest answer came; 0 when none did
 * @param gap see {@link ServiceGap}; NaN when no two watched models waited side by side
 * @param watched models that were compared pairwise
 * @param device where device time went
 * @param residence what weights did
 * @param hash of every outcome and its time, in order; equal for simulations with the same course
 */
public record Findings(
    String discipline,
    long offered,
    Map<End, Long> ends,
    long arrivalNanos,
    long elapsedNanos,
    Latency latency,
    long latestNanos,
    double gap,
    List<WatchedModel> watched,
    DeviceUse device,
    Residence residence,
    long hash) {

  public Findings {
    ends = Map.copyOf(ends);
    watched = List.copyOf(watched);
  }

  Findings with(Residence other) {
    return new Findings(
        discipline,
        offered,
        ends,
        arrivalNanos,
        elapsedNanos,
        latency,
        latestNanos,
        gap,
        watched,
        device,
        other,
        hash);
  }

  /** Share of runs that found their weights on the device. */
  public double foundShare() {
    return device.runs == 0 ? Double.NaN : 1 - (double) residence.loads / device.runs;
  }

  public long count(End end) {
    return ends.getOrDefault(end, 0L);
  }

  /** Calls per second. */
  public double offeredRate() {
    return offered / seconds(arrivalNanos);
  }

  /** Answers in time, per second. */
  public double goodput() {
    return count(End.IN_TIME) / seconds(elapsedNanos);
  }

  /** Share of calls that were answered in time. */
  public double goodShare() {
    return offered == 0 ? Double.NaN : (double) count(End.IN_TIME) / offered;
  }

  private static double seconds(long nanos) {
    return Math.max(nanos, 1) / 1e9;
  }

  /**
   * Loads and evictions of weights while calls were made.
   *
   * @param loadNanos during which loads used the link, alone or shared
   */
  public record Residence(long loads, long evictions, long loadNanos) {
    static final Residence NONE = new Residence(0, 0, 0);

    Residence minus(Residence before) {
      return new Residence(
          loads - before.loads, evictions - before.evictions, loadNanos - before.loadNanos);
    }
  }

  /** Quantiles, nanoseconds, to three digits; 0 when nothing was answered. */
  public record Latency(long p50, long p99, long p999) {}

  /** What one watched model received. */
  public record WatchedModel(
      FleetModel model, long answeredInTime, Latency latency, long deviceNanos) {}

  /**
   * Device time.
   *
   * @param busyNanos in all runs
   * @param wastedNanos on rows of calls that were not answered in time
   * @param paddingNanos on padding rows
   * @param rows of calls
   */
  public record DeviceUse(
      long busyNanos, long wastedNanos, long paddingNanos, long runs, long rows) {

    public double wasteShare() {
      return busyNanos == 0 ? 0 : (double) wastedNanos / busyNanos;
    }

    public double paddingShare() {
      return busyNanos == 0 ? 0 : (double) paddingNanos / busyNanos;
    }

    public double meanBatch() {
      return runs == 0 ? 0 : (double) rows / runs;
    }
  }
}
