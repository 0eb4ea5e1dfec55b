package dev.roundhouse.worker.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class TraceSettingsTest {
  private static final TraceSetting OFF =
      new TraceSetting(TraceLevels.OFF, 1000, -1, 0, TraceMode.TRITON);

  @TempDir static Path folder;

  private final TensorCopies copies = new TensorCopies(64, bytes -> true, bytes -> {});
  private final TraceWriter writer =
      new TraceWriter(folder.resolve("trace.json"), copies, 100, 1L << 30);
  private final Tracer tracer = new Tracer(writer, copies, System::nanoTime);
  private final TraceSettings settings = settings("trace.json");

  @AfterEach
  void stop() {
    writer.close();
  }

  @Test
  void shouldTellWhatIsConfigured() {
    assertThat(settings.current(""))
        .isEqualTo(
            Map.of(
                "trace_level", List.of("OFF"),
                "trace_rate", List.of("1000"),
                "trace_count", List.of("-1"),
                "log_frequency", List.of("0"),
                "trace_file", List.of("trace.json"),
                "trace_mode", List.of("triton")));
    assertThat(settings.current("m")).isEqualTo(settings.current(""));
  }

  @Test
  void shouldTakeTheLevelsThatTheDescriptionOfTheProtocolHas() throws Exception {
    JsonNode described;
    try (InputStream in =
        getClass().getResourceAsStream("/dev/roundhouse/platform/rest/openapi.json")) {
      described =
          new JsonMapper()
              .readTree(in)
              .at("/components/schemas/TraceSettingsChange/properties/trace_level/items/enum");
    }
    List<String> levels = new ArrayList<>(TraceLevels.OFF.names());
    levels.addAll(new TraceLevels(true, true).names());
    assertThat(described.valueStream().map(JsonNode::asString)).containsExactlyElementsOf(levels);
  }

  @Test
  void shouldHaveAModelFollowWhatHoldsForAllButForItsOwn() {
    settings.change("m", Map.of("trace_rate", List.of("12"), "log_frequency", List.of("34")));
    settings.change("", Map.of("trace_rate", List.of("56"), "trace_count", List.of("78")));
    assertThat(settings.current("m"))
        .containsEntry("trace_rate", List.of("12"))
        .containsEntry("trace_count", List.of("78"))
        .containsEntry("log_frequency", List.of("34"));
    assertThat(settings.current("other")).isEqualTo(settings.current(""));

    settings.change("", Map.of("trace_rate", List.of(), "trace_count", List.of()));
    assertThat(settings.current(""))
        .containsEntry("trace_rate", List.of("1000"))
        .containsEntry("trace_count", List.of("-1"));
    assertThat(settings.current("m"))
        .containsEntry("trace_rate", List.of("12"))
        .containsEntry("trace_count", List.of("-1"));

    settings.change("m", Map.of("trace_rate", List.of(), "trace_level", List.of()));
    assertThat(settings.current("m"))
        .containsEntry("trace_rate", List.of("1000"))
        .containsEntry("log_frequency", List.of("34"));
  }

  @Test
  void shouldTakeOneRequestOfSoManyUntilTheCountIsReached() {
    settings.change(
        "",
        Map.of(
            "trace_level", List.of("TIMESTAMPS"),
            "trace_rate", List.of("3"),
            "trace_count", List.of("2")));
    assertThat(taken("m", 12)).isEqualTo(2);
    assertThat(settings.current("")).containsEntry("trace_count", List.of("0"));
    settings.change("", Map.of("trace_count", List.of("1")));
    assertThat(taken("other", 12)).isEqualTo(1);
    settings.change("", Map.of("trace_count", List.of()));
    assertThat(taken("m", 12)).isEqualTo(4);
    settings.change("", Map.of("trace_level", List.of("OFF")));
    assertThat(taken("m", 12)).isZero();
  }

  @Test
  void shouldGoOnCountingWhenSomethingElseChanges() {
    settings.change("", Map.of("trace_level", List.of("TIMESTAMPS"), "trace_count", List.of("5")));
    settings.change("m", Map.of("trace_rate", List.of("1")));
    assertThat(taken("m", 2)).isEqualTo(2);
    settings.change("m", Map.of("log_frequency", List.of("7")));
    settings.change("", Map.of("trace_rate", List.of("10")));
    assertThat(settings.current("m")).containsEntry("trace_count", List.of("3"));
    assertThat(settings.current("")).containsEntry("trace_count", List.of("5"));
  }

  @Test
  void shouldTraceOneModelOnly() {
    settings.change("m", Map.of("trace_level", List.of("TIMESTAMPS"), "trace_rate", List.of("1")));
    assertThat(taken("m", 4)).isEqualTo(4);
    assertThat(taken("other", 4)).isZero();
    settings.change("m", Map.of("trace_level", List.of("OFF")));
    settings.change("", Map.of("trace_level", List.of("TIMESTAMPS"), "trace_rate", List.of("1")));
    assertThat(taken("m", 4)).isZero();
    assertThat(taken("other", 4)).isEqualTo(4);
  }

  @Test
  void shouldTellEveryLevelThatIsOn() {
    for (List<String> levels : List.of(List.of("TENSORS"), List.of("TIMESTAMPS", "TENSORS"))) {
      settings.change("", Map.of("trace_level", levels, "trace_rate", List.of("1")));
      assertThat(settings.current("")).containsEntry("trace_level", levels);
      assertThat(taken("m", 2)).isEqualTo(2);
    }
    settings.change("", Map.of("trace_level", List.of("TENSORS", "TIMESTAMPS")));
    assertThat(settings.current("")).containsEntry("trace_level", List.of("TIMESTAMPS", "TENSORS"));
  }

  @Test
  void shouldHandTheAnswerOnAndCostNothingWhenNothingIsTraced() {
    ReplySink sink = new ReplySink();
    assertThat(tracer.traced("m", "", List.of(), sink)).isSameAs(sink);
    settings.change("", Map.of("trace_level", List.of("TIMESTAMPS"), "trace_rate", List.of("1")));
    AnswerSink traced = tracer.traced("m", "", List.of(), sink);
    assertThat(traced).isNotSameAs(sink);
    traced.onEnd(Outcome.Cancelled.BY_CALLER);
    assertThat(sink.reply().join().outcome()).isEqualTo(Outcome.Cancelled.BY_CALLER);
  }

  @Test
  void shouldRefuseWhatItCannotDoByNameAndChangeNothing() {
    refuse("nobody", "trace_rate", "1", "Request for unknown model : nobody");
    refuse("", "trace_rate", "x", "Unable to parse 'trace_rate', got: x");
    refuse("", "trace_rate", "0", "Unable to parse 'trace_rate', value is out of range [ 1, ");
    refuse("", "trace_count", "-2", "Unable to parse 'trace_count', value is out of range [ -1, ");
    refuse("", "log_frequency", "99999999999", "value is out of range [ 0, 2147483647 ]");
    refuse("", "trace_level", "ALL", "unknown trace level 'ALL'");
    refuse("", "trace_depth", "1", "unknown trace setting 'trace_depth'");
    assertRefused(
        settings,
        "",
        Map.of("trace_level", List.of("TIMESTAMPS", "OFF")),
        WireStatus.INVALID_ARGUMENT,
        "Expect only one trace level 'OFF' is specified");
    assertRefused(
        settings,
        "",
        Map.of("trace_rate", List.of("1", "2")),
        WireStatus.INVALID_ARGUMENT,
        "expect only 1 value for 'trace_rate'");
    assertRefused(
        settings,
        "",
        Map.of("trace_file", List.of("x")),
        WireStatus.UNIMPLEMENTED,
        "trace file location can not be updated through network protocol");
    refuse("", "trace_mode", "jaeger", "unknown trace mode 'jaeger'; there are triton and open");
    refuse("", "trace_mode", "opentelemetry", "set roundhouse.worker.telemetry.endpoint");
    settings.change("", Map.of("trace_mode", List.of("triton"), "trace_file", List.of()));
    assertThat(settings.current("")).containsEntry("trace_rate", List.of("1000"));
  }

  @Test
  void shouldTraceNothingWithoutAFile() {
    TraceSettings without = settings("");
    assertRefused(
        without,
        "",
        Map.of("trace_level", List.of("TIMESTAMPS")),
        WireStatus.INVALID_ARGUMENT,
        "trace file name is not given");
    without.change("", Map.of("trace_rate", List.of("7")));
    assertThat(without.current("")).containsEntry("trace_rate", List.of("7"));
  }

  @Test
  void shouldDecideWhichRequestsHaveSpansWhereThatIsTheMode() {
    TraceSettings sending =
        new TraceSettings(OFF, "", true, Set.of("m", "other")::contains, tracer);
    assertThat(tracer.ofSpans("m")).as("the ratio does").isNull();
    sending.change(
        "m",
        Map.of(
            "trace_mode", List.of("opentelemetry"),
            "trace_level", List.of("TIMESTAMPS"),
            "trace_rate", List.of("2"),
            "trace_count", List.of("3")));
    assertThat(sending.current("m")).containsEntry("trace_mode", List.of("opentelemetry"));
    assertThat(sending.current("other")).containsEntry("trace_mode", List.of("triton"));
    assertThat(tracer.ofSpans("other")).isNull();
    assertThat(withSpans("m", 10)).isEqualTo(3);
    assertThat(taken("m", 10)).as("in no file").isZero();
    sending.change("m", Map.of("trace_level", List.of("OFF"), "trace_count", List.of("-1")));
    assertThat(withSpans("m", 10)).as("and not by the ratio either").isZero();
    assertRefused(
        sending,
        "m",
        Map.of("trace_level", List.of("TENSORS")),
        WireStatus.INVALID_ARGUMENT,
        "trace_level 'TENSORS' is of trace_mode 'triton'");
    sending.change("m", Map.of("trace_mode", List.of()));
    assertThat(tracer.ofSpans("m")).isNull();
  }

  private int withSpans(String model, int requests) {
    Sampler sampler = tracer.ofSpans(model);
    return (int)
        IntStream.range(0, requests).filter(i -> sampler != null && sampler.takes()).count();
  }

  private TraceSettings settings(String file) {
    return new TraceSettings(OFF, file, false, Set.of("m", "other")::contains, tracer);
  }

  private int taken(String model, int requests) {
    ReplySink sink = new ReplySink();
    int taken = 0;
    for (int i = 0; i < requests; i++) {
      taken += tracer.traced(model, "", List.of(), sink) == sink ? 0 : 1;
    }
    return taken;
  }

  private void refuse(String model, String name, String value, String text) {
    assertRefused(settings, model, Map.of(name, List.of(value)), WireStatus.INVALID_ARGUMENT, text);
  }

  private static void assertRefused(
      TraceSettings of,
      String model,
      Map<String, List<String>> wanted,
      WireStatus status,
      String text) {
    Map<String, List<String>> before = of.current("");
    WireException refusal =
        catchThrowableOfType(WireException.class, () -> of.change(model, wanted));
    assertThat(refusal).as(text).isNotNull();
    assertThat(refusal.status()).as(text).isEqualTo(status);
    assertThat(refusal.text()).contains(text);
    assertThat(of.current("")).isEqualTo(before);
  }
}
