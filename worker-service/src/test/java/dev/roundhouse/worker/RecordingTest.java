package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** A recording of Flight Recorder from the operators' port, of three models of which two fit. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class RecordingTest {
  private static final List<String> MODELS = List.of("kept-a", "kept-b", "kept-c");
  private static final int BYTES = 1 << 20;
  private static final String PATH = "/actuator/recording";

  /** Events of the JDK's that are asked for: none tells of arguments or the environment. */
  private static final Set<String> OF_THE_JDK =
      Set.of("jdk.CPULoad", "jdk.ExecutionSample", "jdk.GarbageCollection", "jdk.ThreadCPULoad");

  @TempDir Path repository;

  @Test
  void shouldHaveWhatModelsDidUntilTheWorkerStops(@TempDir Path folder, CapturedOutput output)
      throws Exception {
    Path file = folder.resolve("downloaded.jfr");
    CompletableFuture<HttpResponse<Path>> asked;
    try (RunningWorker worker = worker()) {
      asked = HttpClient.newHttpClient().sendAsync(record(worker, 60), BodyHandlers.ofFile(file));
      while (!output.getOut().contains(PATH + ": recording of 60 s has begun")) {
        Thread.onSpinWait();
      }
      assertThat(worker.post(PATH, "{}")).startsWith("409 ").contains("is under way");
      for (int i = 0; i < 2 * MODELS.size(); i++) {
        worker.stub().modelInfer(WorkerTest.request(MODELS.get(i % MODELS.size()), 1, 1, 2));
      }
    }
    HttpResponse<Path> answer = asked.get();
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/octet-stream");
    List<RecordedEvent> events = RecordingFile.readAllEvents(file);
    assertThat(models(events, "Run")).containsAll(MODELS);
    assertThat(models(events, "Load")).as("one had no room").isNotEmpty().isSubsetOf(MODELS);
    assertThat(models(events, "Eviction")).isNotEmpty().isSubsetOf(MODELS);
    assertThat(events)
        .extracting(event -> event.getEventType().getName())
        .allMatch(name -> name.startsWith("dev.roundhouse.") || OF_THE_JDK.contains(name));
  }

  private RunningWorker worker() throws Exception {
    for (String model : MODELS) {
      TestBundle.weighted(BYTES).write(repository, model);
    }
    return new RunningWorker(
            repository,
            TestBundle.DOUBLE,
            "--roundhouse.worker.device.cpu.weights=copy",
            "--roundhouse.worker.residency.device-memory=2200KB",
            "--roundhouse.worker.residency.wiggle=0")
        .awaitLoaded();
  }

  private static Set<String> models(List<RecordedEvent> events, String kind) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("dev.roundhouse." + kind))
        .map(event -> event.getString("model"))
        .collect(Collectors.toSet());
  }

  private static HttpRequest record(RunningWorker worker, int seconds) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + worker.port("metrics") + PATH))
        .header("Content-Type", "application/json")
        .POST(BodyPublishers.ofString("{\"seconds\": %d}".formatted(seconds)))
        .build();
  }
}
