package dev.roundhouse.worker.page;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.dispatch.DeviceUse;
import dev.roundhouse.engine.dispatch.DispatchState;
import dev.roundhouse.engine.dispatch.DispatchState.CacheState;
import dev.roundhouse.engine.dispatch.DispatchState.Latest;
import dev.roundhouse.engine.dispatch.DispatchState.Span;
import dev.roundhouse.engine.observe.Waiting;
import dev.roundhouse.platform.page.Changes;
import dev.roundhouse.platform.rest.Json;
import dev.roundhouse.worker.page.ModelRow.Counts;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What one open page is told, and what is not repeated. */
class ViewTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final int MANY = 2 * View.MOST_ROWS + 500;

  private final Map<String, ModelRow> models = new LinkedHashMap<>();
  private @Nullable DispatchState dispatch;
  private boolean all;
  private final View view =
      new View(this::moment, () -> new Serving(true, false), new Changes(false, false));

  @Test
  void shouldTellOfManyModelsInParts() {
    addMany();
    List<Integer> sizes = new ArrayList<>();
    Set<String> names = new HashSet<>();
    do {
      JsonNode event = next();
      sizes.add(event.at("/models").size());
      names.addAll(names(event));
      assertThat(event.at("/left").asInt()).isEqualTo(MANY - names.size());
    } while (!all);
    assertThat(sizes).containsExactly(View.MOST_ROWS, View.MOST_ROWS, 500);
    assertThat(names).isEqualTo(models.keySet());
  }

  @Test
  void shouldTellOnlyWhatChanged() {
    add("a", 1);
    add("b", 1);
    assertThat(names(next())).containsExactly("a", "b");
    add("b", 2);
    assertThat(names(next())).containsExactly("b");
    assertThat(names(next())).isEmpty();
    models.remove("a");
    JsonNode event = next();
    assertThat(event.at("/gone").toString()).isEqualTo("[\"a\"]");
    assertThat(names(event)).isEmpty();
    assertThat(next().at("/gone")).isEmpty();
  }

  @Test
  void shouldLeaveNobodyOutForLongWhenAllChangeAllTheTime() {
    addMany();
    while (!all) {
      next();
    }
    Set<String> news = new HashSet<>();
    for (int second = 0; second < 3; second++) {
      int runs = second + 2;
      models.keySet().stream().toList().forEach(name -> add(name, runs));
      JsonNode event = next();
      assertThat(all).as("a second may pass").isTrue();
      assertThat(event.at("/models")).hasSize(View.MOST_ROWS);
      assertThat(event.at("/left").asInt()).isEqualTo(MANY - View.MOST_ROWS);
      news.addAll(names(event));
    }
    assertThat(news).isEqualTo(models.keySet());
  }

  @Test
  void shouldTellOfEachRunOnce() {
    dispatch = state(1_000_000, 7, new Span("a", 40_000, 900_000), new Span("b", 5_000, 1_000_000));
    JsonNode first = next();
    assertThat(first.at("/runs/ever").asLong()).isEqualTo(7);
    assertThat(first.at("/runs/spans").toString()).isEqualTo("[[\"a\",100,40],[\"b\",0,5]]");
    dispatch = null; // the thread was silent
    assertThat(next().has("runs")).isFalse();
    dispatch =
        state(2_000_000, 8, new Span("b", 5_000, 1_000_000), new Span("c", 9_000, 1_800_000));
    assertThat(next().at("/runs/spans").toString()).isEqualTo("[[\"c\",200,9]]");
  }

  @Test
  void shouldWriteARowsValuesInTheOrderOfItsFields() {
    Waiting why = new Waiting.Held(5_000, 3_000_000);
    add("a", 3, why);
    JsonNode row = next().at("/models/0");
    assertThat(row).hasSize(ModelRow.FIELDS.size());
    assertThat(field(row, "name").asString()).isEqualTo("a");
    assertThat(field(row, "why").asString()).isEqualTo("held");
    assertThat(field(row, "words").asString()).isEqualTo(why.words());
    assertThat(field(row, "waitedMicros").asDouble()).isEqualTo(5);
    assertThat(field(row, "nextUseSeconds").isNull()).isTrue();
    assertThat(field(row, "runs").asLong()).isEqualTo(3);
    assertThat(field(row, "evictions").asLong()).isEqualTo(10);
  }

  @Test
  void shouldSayWhenAModelIsUsedNextWithOneDigit() {
    assertThat(ModelRow.nextUse(1.44e9)).isEqualTo(1.0);
    assertThat(ModelRow.nextUse(98e9)).isEqualTo(100.0);
    assertThat(ModelRow.nextUse(0)).isZero();
    assertThat(ModelRow.nextUse(Double.POSITIVE_INFINITY)).isNull();
  }

  private void addMany() {
    for (int i = 0; i < MANY; i++) {
      add("m" + i, 1);
    }
  }

  private void add(String name, long runs) {
    add(name, runs, null);
  }

  private void add(String name, long runs, @Nullable Waiting why) {
    Counts counts = new Counts(runs, 1, 2, 3, 4, runs, 6, 7, 8, 9, 10);
    models.put(
        name,
        new ModelRow(name, "1", "ready", "", "device", false, 1.0, null, 0, why, null, 64, counts));
  }

  private Moment moment() {
    Map<DeviceUse, Long> device = Map.of(DeviceUse.RUNNING, 5_000L);
    return new Moment(12, 0, dispatch, null, device, 64, new LinkedHashMap<>(models));
  }

  private static DispatchState state(long atNanos, long ever, Span... runs) {
    CacheState weights = new CacheState("lru", Long.MAX_VALUE, 0, 0, 0, 0);
    Latest loads = new Latest(0, List.of());
    return new DispatchState(
        "fifo",
        null,
        null,
        0,
        weights,
        List.of(),
        atNanos,
        new Latest(ever, List.of(runs)),
        loads,
        0,
        List.of(),
        new long[0]);
  }

  private JsonNode next() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator json = Json.generator(bytes)) {
      all = view.next(json);
    }
    return JSON.readTree(bytes.toByteArray());
  }

  private static List<String> names(JsonNode event) {
    List<String> names = new ArrayList<>();
    event.at("/models").forEach(row -> names.add(field(row, "name").asString()));
    return names;
  }

  private static JsonNode field(JsonNode row, String name) {
    return row.get(ModelRow.FIELDS.indexOf(name));
  }
}
