package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.net.URLEncoder;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What clients put into texts forges no record and reaches no terminal. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class HostileRecordsTest {
  private static final String TEXT =
      "x\n2026-11-23T13:05:54.072Z ERROR Engine: forged\r\u001b[2J\u2028\u202e\u0085";
  private static final String SHOWN =
      "x\\n2026-11-23T13:05:54.072Z ERROR Engine: forged\\r\\u001b[2J\\u2028\\u202e\\u0085";

  /** A model's name by gRPC; one with control characters is refused before it is audited. */
  private static final String NAME = "y\u2028forged\u202e";

  @TempDir Path repository;
  private @Nullable RunningWorker worker;

  /** Or the form of an earlier application's records would stay, also in Boot's own property. */
  @BeforeEach
  void forgetHowRecordsWereWritten() {
    System.clearProperty("CONSOLE_LOG_STRUCTURED_FORMAT");
    LoggingSystem.get(getClass().getClassLoader()).cleanUp();
  }

  @AfterEach
  void stop() {
    if (worker != null) {
      worker.close();
    }
    forgetHowRecordsWereWritten();
  }

  @Test
  void shouldWriteOneLineOfWhatIsAskedFor(CapturedOutput output) throws Exception {
    RunningWorker running = start("--logging.level.dev.roundhouse=debug");
    ask(running);
    LiveEngine.await("the last", () -> output.getOut().contains("/unload: answered with"));
    assertThat(output.getOut())
        .contains("RepositoryModelUnload: {model_name=y\\u2028forged\\u202e}")
        .contains("POST /v2/repository/models/" + SHOWN + "/unload: answered with ");
    assertThat(output.getOut().lines().toList())
        .allMatch(line -> line.matches("(\\d{4}-|\\t|ready |Caused by: |java\\.).*"))
        .noneMatch(line -> line.startsWith("2026-11-23T13:05:54.072Z"));
    assertThat(output.getOut()).doesNotContain("\u001b", "\u2028", "\u202e", "\u0085", "\r");
  }

  @Test
  void shouldWriteOneLineOfJsonForMachines(CapturedOutput output) throws Exception {
    RunningWorker running = start("--logging.structured.format.console=ecs");
    ask(running);
    LiveEngine.await("the last", () -> output.getOut().contains("answered with"));
    List<String> lines = output.getOut().lines().toList();
    assertThat(lines).allMatch(line -> line.startsWith("{\"@timestamp\":") && line.endsWith("}"));
    assertThat(output.getOut())
        .contains(
            "\"event\":{\"action\":\"inference.GRPCInferenceService/RepositoryModelUnload\","
                + "\"outcome\":\"UNAVAILABLE (explicit model load")
        .contains("\"client\":{\"address\":\"127.0.0.1:")
        .doesNotContain("\u001b", "\u2028", "\u202e", "\u0085", "\r");
  }

  private RunningWorker start(String setting) throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    RunningWorker started = new RunningWorker(repository, TestBundle.DOUBLE, setting).awaitLoaded();
    worker = started;
    return started;
  }

  private static void ask(RunningWorker worker) throws Exception {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER), "00-forged-01");
    var stub = worker.stub().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    assertThat(
            catchThrowableOfType(
                StatusRuntimeException.class,
                () -> stub.modelInfer(WorkerTest.request(NAME, 1).toBuilder().setId(TEXT).build())))
        .isNotNull();
    assertThat(
            catchThrowableOfType(
                StatusRuntimeException.class,
                () ->
                    stub.repositoryModelUnload(
                        RepositoryModelUnloadRequest.newBuilder().setModelName(NAME).build())))
        .isNotNull();
    String path = URLEncoder.encode(TEXT, StandardCharsets.UTF_8).replace("+", "%20");
    worker.send(
        worker.http("/v2/repository/models/" + path + "/unload").POST(BodyPublishers.noBody()));
  }
}
