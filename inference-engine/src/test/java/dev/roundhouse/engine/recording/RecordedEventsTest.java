package dev.roundhouse.engine.recording;

import static dev.roundhouse.engine.testing.SmallDevice.BYTES;
import static dev.roundhouse.engine.testing.SmallDevice.SCRATCH;
import static dev.roundhouse.engine.testing.SmallDevice.load;
import static dev.roundhouse.engine.testing.SmallDevice.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.compile.Compilation;
import dev.roundhouse.engine.compile.ExecutableCache;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.testing.SmallDevice;
import dev.roundhouse.engine.testing.TestEngine;
import dev.roundhouse.engine.time.NanoClock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Event;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What Flight Recorder has of an engine: all of the process, so that names are the test's own. */
@Timeout(60)
class RecordedEventsTest {
  private static final String CODE =
      "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }";

  @TempDir private Path folder;
  private final Recording recording = new Recording();

  @AfterEach
  void close() {
    recording.close();
  }

  @Test
  void shouldHaveRunsLoadsEvictionsAndWhatWasShed() throws Exception {
    begin(RunEvent.class, LoadEvent.class, EvictionEvent.class, ShedEvent.class);
    TestEngine engine = SmallDevice.engine(BYTES + SCRATCH, 0, 1_000L * BYTES);
    load(engine, "recorded-a", 2, BYTES);
    load(engine, "recorded-b", 3, BYTES);
    Submission call = engine.submit("recorded-a", row(1));
    engine.run();
    engine.completed(call);
    Submission late =
        engine.submit(
            engine
                .request("recorded-b", row(1))
                .deadlineNanos(engine.clock().nanoTime() + TimeUnit.SECONDS.toNanos(1)));
    engine.clock().advance(TimeUnit.SECONDS.toNanos(2));
    engine.run();
    assertThat(engine.outcome(late)).isInstanceOf(Outcome.Shed.class);

    List<RecordedEvent> events = recorded();
    RecordedEvent run =
        events.stream()
            .filter(each -> is(each, "Run", "recorded-a") && !each.getBoolean("warmUp"))
            .findFirst()
            .orElseThrow();
    assertThat(run.getInt("rows")).isEqualTo(1);
    assertThat(run.getBoolean("failed")).isFalse();
    assertThat(events)
        .as("it was loaded for warm-up, left for b, and came again")
        .filteredOn(each -> is(each, "Load", "recorded-a"))
        .hasSizeGreaterThanOrEqualTo(2)
        .allMatch(each -> !each.getBoolean("failed"))
        .anyMatch(each -> each.getDuration("loadNanos").toNanos() == 1_000_000);
    assertThat(events).anyMatch(each -> is(each, "Eviction", "recorded-b"));
    assertThat(events)
        .filteredOn(each -> is(each, "Shed", "recorded-b"))
        .extracting(each -> each.getString("reason"))
        .containsExactly(((Outcome.Shed) engine.outcome(late)).reason().name());
  }

  @Test
  void shouldSayWhetherAProgramCameFromTheCache() throws Exception {
    begin(CompileEvent.class);
    SimulatedDevice device =
        new SimulatedDevice(
            SimulatedDeviceOptions.instant(ReferenceFunction.ZERO), NanoClock.SYSTEM);
    Compilation compilation =
        new Compilation(
            device,
            Optional.empty(),
            Optional.of(ExecutableCache.open(folder.resolve("cache"), 1 << 20)));
    ProgramSource source =
        new ProgramSource("recorded/program", CODE.getBytes(StandardCharsets.UTF_8));
    compilation.device().compile(source).close();
    compilation.device().compile(source).close();
    assertThat(recorded())
        .filteredOn(each -> each.getString("program").equals("recorded/program"))
        .extracting(each -> each.getBoolean("cached"))
        .containsExactly(false, true);
    compilation.device().close();
  }

  private static boolean is(RecordedEvent event, String name, String model) {
    return event.getEventType().getName().equals("dev.roundhouse." + name)
        && model.equals(event.getString("model"));
  }

  @SafeVarargs
  private void begin(Class<? extends Event>... events) {
    for (Class<? extends Event> event : events) {
      recording.enable(event);
    }
    recording.start();
  }

  private List<RecordedEvent> recorded() throws IOException {
    recording.stop();
    Path file = folder.resolve("recorded.jfr");
    recording.dump(file);
    return RecordingFile.readAllEvents(file);
  }
}
