package dev.roundhouse.simulation.run;

import dev.roundhouse.simulation.fleet.FleetModel;
import java.util.List;
import java.util.Map;

/**
 * What came out of a simulation: of the calls after its lead-in, but for the gap and the hash.
 * Times are simulated.
 *
 * @param offered calls that arrived
 * @param ends how they ended; every way is there
 * @param arrivalNanos from the end of the lead-in to the last arrival
 * @param elapsedNanos from the end of the lead-in to the last outcome
 * @param latency of answered calls, from their arrival
 * @param latestNanos how far past its deadline the latest answer came; 0 when none did
 * @param gap see {@link ServiceGap}; NaN when no two watched models waited side by side
 * @param watched models that were compared, each with each
 * @param device where device time went
 * @param residence what weights did
 * @param hash of every outcome and its time, in order: equal when two simulations went the same way
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

  /** Runs that found their weights on the device, of all. */
  public double foundShare() {
    return device.runs == 0 ? Double.NaN : 1 - (double) residence.loads / device.runs;
  }

  public long count(End end) {
    return ends.getOrDefault(end, 0L);
  }

  /** Calls a second. */
  public double offeredRate() {
    return offered / seconds(arrivalNanos);
  }

  /** Answers in time, a second. */
  public double goodput() {
    return count(End.IN_TIME) / seconds(elapsedNanos);
  }

  /** Calls that were answered in time, of all. */
  public double goodShare() {
    return offered == 0 ? Double.NaN : (double) count(End.IN_TIME) / offered;
  }

  private static double seconds(long nanos) {
    return Math.max(nanos, 1) / 1e9;
  }

  /**
   * Weights that came and went while calls were made.
   *
   * @param loadNanos that loads had the link, or shared it
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

  /** What one of the watched models got. */
  public record WatchedModel(
      FleetModel model, long answeredInTime, Latency latency, long deviceNanos) {}

  /**
   * Nanoseconds of the device.
   *
   * @param busyNanos in all runs
   * @param wastedNanos on rows of calls that were not answered in time
   * @param paddingNanos on rows that were nobody's
   * @param rows that were somebody's
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
