package dev.roundhouse.worker.page;

import dev.roundhouse.engine.dispatch.DeviceUse;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.dispatch.DispatchState.CacheState;
import dev.roundhouse.engine.dispatch.DispatchState.Latest;
import dev.roundhouse.engine.dispatch.DispatchState.Span;
import dev.roundhouse.platform.page.PageFeed;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonGenerator;

/**
 * What one open page has been told, and so what is news to it. One thread's.
 *
 * <p>An event has at most {@value #MOST_ROWS} models, so that neither it nor the work for it grows
 * with their number: what is left comes with the next ones, and who was left out is first then.
 */
final class View implements PageFeed.Reader {
  static final int MOST_ROWS = 2_000;

  private static final long NEVER = Long.MIN_VALUE;

  private final Supplier<Moment> moments;
  private final Changes changes;
  private final boolean recording;

  private final Map<String, ModelRow> told = new HashMap<>();

  /** Until when, on the engine's clock, runs and loads have been told of. */
  private long toldNanos = NEVER;

  /** Of the models, as they come, how many to pass over first. */
  private int from;

  /** Whether every model has been told of; the first time, that is not spread over seconds. */
  private boolean complete;

  View(Supplier<Moment> moments, Changes changes, boolean recording) {
    this.moments = moments;
    this.changes = changes;
    this.recording = recording;
  }

  /** What later events do not repeat. */
  @Override
  public void begin(JsonGenerator json) {
    json.writeStartObject();
    json.writeArrayPropertyStart("fields");
    ModelRow.FIELDS.forEach(json::writeString);
    json.writeEndArray();
    json.writeArrayPropertyStart("uses");
    Arrays.stream(DeviceUse.values()).map(View::name).forEach(json::writeString);
    json.writeEndArray();
    json.writeObjectPropertyStart("changes");
    json.writeBooleanProperty("weight", changes.weight());
    json.writeBooleanProperty("pinned", changes.pinned());
    json.writeEndObject();
    json.writeBooleanProperty("recording", recording);
    json.writeEndObject();
  }

  @Override
  public boolean next(JsonGenerator json) {
    write(moments.get(), json);
    return complete;
  }

  private void write(Moment moment, JsonGenerator json) {
    json.writeStartObject();
    json.writeNumberProperty("at", moment.atMillis());
    writeText(json, "unknownBecause", moment.unknownBecause());
    json.writeObjectPropertyStart("device");
    moment.device().forEach((use, nanos) -> json.writeNumberProperty(name(use), nanos / 1000));
    json.writeEndObject();
    json.writeNumberProperty("residentBytes", moment.residentBytes());
    DispatchState state = moment.dispatch();
    if (state != null) {
      write(state, json);
    }
    writeModels(moment.models(), json);
    json.writeEndObject();
  }

  private static String name(DeviceUse use) {
    return use.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static void writeText(JsonGenerator json, String name, @Nullable String text) {
    if (text == null) {
      json.writeNullProperty(name);
    } else {
      json.writeStringProperty(name, text);
    }
  }

  private void write(DispatchState state, JsonGenerator json) {
    json.writeStringProperty("discipline", state.discipline());
    writeText(json, "running", state.running());
    writeText(json, "armed", state.armed());
    CacheState weights = state.weights();
    if (weights.poolBytes() == Long.MAX_VALUE) {
      json.writeNullProperty("budgetBytes");
    } else {
      json.writeNumberProperty("budgetBytes", weights.poolBytes());
    }
    json.writeNumberProperty("pinnedBytes", weights.pinnedBytes());
    json.writeNumberProperty("loadingBytes", weights.loadingBytes());
    write("runs", state.runs(), state.atNanos(), json);
    write("loads", state.loads(), state.atNanos(), json);
    toldNanos = state.atNanos();
  }

  private void write(String name, Latest latest, long nowNanos, JsonGenerator json) {
    json.writeObjectPropertyStart(name);
    json.writeNumberProperty("ever", latest.ever());
    json.writeArrayPropertyStart("spans");
    for (Span span : latest.spans()) {
      if (toldNanos == NEVER || span.endedNanos() > toldNanos) {
        json.writeStartArray();
        json.writeString(span.model());
        json.writeNumber((nowNanos - span.endedNanos()) / 1000);
        json.writeNumber(span.tookNanos() / 1000);
        json.writeEndArray();
      }
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private void writeModels(Map<String, ModelRow> models, JsonGenerator json) {
    List<String> gone =
        told.keySet().stream().filter(name -> !models.containsKey(name)).sorted().toList();
    gone.forEach(told::remove);
    json.writeArrayPropertyStart("gone");
    gone.forEach(json::writeString);
    json.writeEndArray();
    List<ModelRow> all = new ArrayList<>(models.values());
    int left = 0;
    int written = 0;
    int begin = all.isEmpty() ? 0 : from % all.size();
    json.writeArrayPropertyStart("models");
    for (int i = 0; i < all.size(); i++) {
      int at = (begin + i) % all.size();
      ModelRow row = all.get(at);
      if (row.equals(told.get(row.name()))) {
        continue;
      }
      if (written == MOST_ROWS) {
        from = left == 0 ? at : from;
        left++;
        continue;
      }
      row.write(json);
      told.put(row.name(), row);
      written++;
    }
    json.writeEndArray();
    json.writeNumberProperty("left", left);
    complete |= told.size() == all.size();
  }
}
