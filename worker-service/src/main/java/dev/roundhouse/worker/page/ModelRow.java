package dev.roundhouse.worker.page;

import dev.roundhouse.engine.CountedModel;
import dev.roundhouse.engine.dispatch.DispatchState.LaneState;
import dev.roundhouse.engine.dispatch.DispatchState.Place;
import dev.roundhouse.engine.dispatch.DispatchState.WeightsState;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.engine.schedule.Discipline.Standing;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/**
 * One model at one moment. Two that are equal look the same on the page, so the second is not sent.
 *
 * @param reason why it is in that state; mostly empty
 * @param place of its weights: {@code device}, {@code loading}, {@code host}, {@code file}, or
 *     {@code none}
 * @param weight as the dispatch thread said; null when that does not know the model, or was silent
 * @param due its share of the device by its weight, 0 to 1; null while it wants nothing
 * @param waiting why its requests do not run now; null when none waits, or nobody knows
 * @param nextUseSeconds until it is expected to be used, of one digit; null when nothing tells
 */
record ModelRow(
    String name,
    String version,
    String state,
    String reason,
    String place,
    boolean pinned,
    @Nullable Double weight,
    @Nullable Double due,
    int queued,
    @Nullable Waiting waiting,
    @Nullable Double nextUseSeconds,
    long deviceBytes,
    Counts counts) {

  /** What {@link #write} writes, in this order; {@code docs/ui.md} says what each is. */
  static final List<String> FIELDS =
      List.of(
          "name",
          "version",
          "state",
          "reason",
          "place",
          "pinned",
          "weight",
          "due",
          "queued",
          "why",
          "words",
          "waitedMicros",
          "inMicros",
          "nextUseSeconds",
          "deviceBytes",
          "completed",
          "failed",
          "shed",
          "refused",
          "runs",
          "rows",
          "paddingRows",
          "computeMicros",
          "loads",
          "evictions");

  /**
   * Since the start, of all versions.
   *
   * @param fingerprint of all that is counted: while it is the same, so are the others
   */
  record Counts(
      long fingerprint,
      long completed,
      long failed,
      long shed,
      long refused,
      long runs,
      long rows,
      long paddingRows,
      long computeMicros,
      long loads,
      long evictions) {

    static Counts of(long fingerprint, ModelTotals totals) {
      return new Counts(
          fingerprint,
          totals.get(Metric.COMPLETED),
          totals.get(Metric.FAILED),
          totals.shed(),
          Metric.REFUSED.stream().mapToLong(totals::get).sum(),
          totals.get(Metric.EXECUTIONS),
          totals.get(Metric.ROWS),
          totals.get(Metric.PADDING_ROWS),
          totals.get(Metric.COMPUTE) / 1000,
          totals.get(Metric.WEIGHT_LOADS),
          totals.get(Metric.WEIGHT_EVICTIONS));
    }
  }

  /**
   * @param lane what the dispatch thread says of it; null for nothing
   * @param idles whether it takes no part in what others share
   * @param before what was made of it last, which is returned when nothing has changed; or null
   */
  static ModelRow of(
      CountedModel model, @Nullable LaneState lane, boolean idles, @Nullable ModelRow before) {
    long fingerprint = model.totals().fingerprint(); // before what it is of
    ModelRow counted = before != null && before.counts.fingerprint == fingerprint ? before : null;
    WeightsState weights = lane == null ? null : lane.weights();
    Waiting inLine = lane == null ? null : lane.waiting();
    Standing standing = lane == null || idles ? null : lane.standing();
    ModelRow now =
        new ModelRow(
            model.name(),
            model.status().version(),
            lower(model.status().state()),
            model.status().reason(),
            place(model, weights),
            weights != null && weights.pinned(),
            lane == null ? null : lane.weight(),
            standing == null ? null : standing.share(),
            counted == null ? model.totals().waiting() : counted.queued,
            inLine == null ? model.waitsFor() : inLine,
            weights == null ? null : nextUse(weights.nextUseNanos()),
            model.deviceBytes(),
            counted == null ? Counts.of(fingerprint, model.totals()) : counted.counts);
    return before != null && now.equals(before) ? before : now;
  }

  private static String place(CountedModel model, @Nullable WeightsState weights) {
    boolean loads = weights != null && weights.place() == Place.LOADING;
    return loads ? "loading" : lower(model.place());
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  /** A model that nobody uses comes closer to its next use all the time: that is no news. */
  static @Nullable Double nextUse(double nanos) {
    double seconds = nanos / 1e9;
    if (!Double.isFinite(seconds)) {
      return null;
    }
    if (seconds < 0.001) {
      return 0.0;
    }
    double unit = Math.pow(10, Math.floor(Math.log10(seconds)));
    return Math.round(seconds / unit) * unit;
  }

  void write(JsonGenerator json) {
    json.writeStartArray();
    json.writeString(name);
    json.writeString(version);
    json.writeString(state);
    json.writeString(reason);
    json.writeString(place);
    json.writeBoolean(pinned);
    write(json, weight);
    write(json, due);
    json.writeNumber(queued);
    writeWaiting(json);
    write(json, nextUseSeconds);
    json.writeNumber(deviceBytes);
    json.writeNumber(counts.completed);
    json.writeNumber(counts.failed);
    json.writeNumber(counts.shed);
    json.writeNumber(counts.refused);
    json.writeNumber(counts.runs);
    json.writeNumber(counts.rows);
    json.writeNumber(counts.paddingRows);
    json.writeNumber(counts.computeMicros);
    json.writeNumber(counts.loads);
    json.writeNumber(counts.evictions);
    json.writeEndArray();
  }

  private void writeWaiting(JsonGenerator json) {
    Waiting now = waiting;
    json.writeString(now == null ? "" : now.reason());
    json.writeString(now == null ? "" : now.words());
    write(json, now == null ? null : micros(now.sinceNanos()));
    write(json, now == null ? null : micros(now.inNanos()));
  }

  private static @Nullable Double micros(long nanos) {
    return nanos == Waiting.UNKNOWN ? null : nanos / 1e3;
  }

  private static void write(JsonGenerator json, @Nullable Double value) {
    if (value == null) {
      json.writeNull();
    } else {
      json.writeNumber(value);
    }
  }
}
