package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.LogSettingsRequest;
import dev.roundhouse.kserve.proto.LogSettingsResponse;
import dev.roundhouse.kserve.proto.ServerMetadataRequest;
import dev.roundhouse.kserve.proto.TraceSettingRequest;
import dev.roundhouse.kserve.proto.TraceSettingRequest.SettingValue;
import dev.roundhouse.kserve.proto.TraceSettingResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What clients change of a running worker over gRPC: what is logged, what is traced. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class ServerSettingsTest {
  private static final Logger OWN = LoggerFactory.getLogger("dev.roundhouse.worker.Test");

  @TempDir static Path folder;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    Path repository = Files.createDirectory(folder.resolve("models"));
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(2, 1).write(repository, "other");
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.trace.file=" + folder.resolve("trace.json"))
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @Test
  void shouldNameWhatWorks() {
    assertThat(
            worker
                .stub()
                .serverMetadata(ServerMetadataRequest.getDefaultInstance())
                .getExtensionsList())
        .containsExactly(
            "classification",
            "sequence",
            "sequence(string_id)",
            "model_repository",
            "model_repository(unload_dependents)",
            "schedule_policy",
            "model_configuration",
            "binary_tensor_data",
            "parameters",
            "statistics",
            "trace",
            "logging");
  }

  @Test
  void shouldLogWhatIsAskedFor(CapturedOutput output) {
    assertThat(logs(Map.of()))
        .containsEntry("log_file", text(""))
        .containsEntry("log_info", flag(true))
        .containsEntry("log_warning", flag(true))
        .containsEntry("log_error", flag(true))
        .containsEntry("log_format", text("default"))
        .containsEntry(
            "log_verbose_level",
            LogSettingsResponse.SettingValue.newBuilder().setUint32Param(0).build())
        .hasSize(6);
    OWN.debug("first");
    assertThat(logs(Map.of("log_verbose_level", number(1), "log_info", wanted(false))))
        .containsEntry("log_info", flag(false));
    OWN.debug("second");
    OWN.info("third");
    logs(Map.of("log_verbose_level", number(0), "log_info", wanted(true)));
    OWN.debug("fourth");
    OWN.info("fifth");
    assertThat(output.getAll()).contains("second", "fifth");
    assertThat(output.getAll()).doesNotContain("first", "third", "fourth");
  }

  @Test
  void shouldRefuseLogSettingsOfAnotherType() {
    assertRefused(
        () -> logs(Map.of("log_info", number(1))),
        Status.Code.INVALID_ARGUMENT,
        "expect boolean for 'log_info'");
    var file = LogSettingsRequest.SettingValue.newBuilder().setStringParam("x").build();
    assertRefused(
        () -> logs(Map.of("log_file", file)),
        Status.Code.UNIMPLEMENTED,
        "log file location can not be updated through network protocol");
  }

  @Test
  void shouldTraceTheRequestsThatAreAskedFor() throws Exception {
    assertThat(traces("", Map.of()))
        .containsEntry("trace_level", List.of("OFF"))
        .containsEntry("trace_file", List.of("trace.json"));
    traces(
        "double",
        Map.of(
            "trace_level", List.of("TIMESTAMPS"),
            "trace_rate", List.of("2"),
            "trace_count", List.of("2")));
    for (int i = 1; i <= 6; i++) {
      infer("double", "r" + i);
      infer("other", "o" + i);
    }
    assertThat(traces("double", Map.of())).containsEntry("trace_count", List.of("0"));
    JsonNode elements = awaitElements("trace.json", 4);
    assertThat(worker.get("metrics", "/metrics")).contains("roundhouse_traces_dropped_total 0.0");
    assertThat(elements.get(0).get("request_id").asString()).isEqualTo("r2");
    assertThat(elements.get(2).get("request_id").asString()).isEqualTo("r4");
    assertThat(elements.get(0).get("model_name").asString()).isEqualTo("double");
    assertThat(elements.get(0).get("model_version").asInt()).isEqualTo(1);
    assertThat(elements.get(1).get("id")).isEqualTo(elements.get(0).get("id"));
    long before = Long.MIN_VALUE;
    StringBuilder names = new StringBuilder();
    for (JsonNode stage : elements.get(1).get("timestamps")) {
      assertThat(stage.get("ns").asLong()).isGreaterThanOrEqualTo(before);
      before = stage.get("ns").asLong();
      names.append(stage.get("name").asString()).append(' ');
    }
    assertThat(names)
        .hasToString(
            "REQUEST_START QUEUE_START COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END REQUEST_END ");

    traces(
        "double",
        Map.of("trace_level", List.of(), "trace_rate", List.of(), "trace_count", List.of()));
    assertThat(traces("double", Map.of())).isEqualTo(traces("", Map.of()));
  }

  @Test
  void shouldTraceTensorsAndHoldNothingAfterwards() throws Exception {
    traces(
        "other",
        Map.of(
            "trace_level", List.of("TENSORS"),
            "trace_rate", List.of("1"),
            "trace_count", List.of("1"),
            "log_frequency", List.of("1")));
    infer("other", "t");
    JsonNode elements = awaitElements("trace.json.0", 3);
    while (!worker.holdsNothing()) {
      Thread.sleep(10);
    }
    assertThat(elements.get(0).get("request_id").asString()).isEqualTo("t");
    assertThat(elements.get(1).get("activity").asString()).isEqualTo("TENSOR_QUEUE_INPUT");
    assertThat(elements.get(1).get("tensor"))
        .hasToString("{\"name\":\"x\",\"data\":\"1.0,2.0\",\"shape\":\"1,2\",\"dtype\":\"FP32\"}");
    assertThat(elements.get(2).get("activity").asString()).isEqualTo("TENSOR_BACKEND_OUTPUT");
    assertThat(elements.get(2).get("tensor").get("data").asString()).isEqualTo("2.0,4.0");
    traces(
        "other",
        Map.of(
            "trace_level", List.of(),
            "trace_rate", List.of(),
            "trace_count", List.of(),
            "log_frequency", List.of()));
  }

  @Test
  void shouldRefuseTraceSettingsByName() {
    assertRefused(
        () -> traces("nobody", Map.of()),
        Status.Code.INVALID_ARGUMENT,
        "Request for unknown model : nobody");
    assertRefused(
        () -> traces("", Map.of("trace_level", List.of("ALL"))),
        Status.Code.INVALID_ARGUMENT,
        "unknown trace level 'ALL'; there are OFF, TIMESTAMPS and TENSORS");
    assertRefused(
        () -> traces("", Map.of("trace_file", List.of("/x"))),
        Status.Code.UNIMPLEMENTED,
        "trace file location can not be updated through network protocol");
  }

  @Test
  void shouldTellWhetherItSeesTheClientsSharedMemory() throws Exception {
    Path object = Files.createTempFile(Path.of("/dev/shm"), "roundhouse-test", "");
    try {
      assertThat(isSame("/" + object.getFileName())).isTrue();
    } finally {
      Files.delete(object);
    }
    assertThat(isSame(object.getFileName().toString())).isFalse();
    assertRefused(() -> isSame(""), Status.Code.INVALID_ARGUMENT, "invalid shared memory key");
  }

  private static boolean isSame(String name) {
    return worker
        .stub()
        .isSameIPCNamespace(IsSameIPCNamespaceRequest.newBuilder().setName(name).build())
        .getSame();
  }

  private static void infer(String model, String id) {
    var response =
        worker.stub().modelInfer(WorkerTest.request(model, 1, 1, 2).toBuilder().setId(id).build());
    assertThat(response.getRawOutputContents(0)).isEqualTo(WorkerTest.floats(2, 4));
  }

  /** What a file has when it has so much; it is whole after every write. */
  private static JsonNode awaitElements(String file, int count) throws Exception {
    while (true) {
      try {
        JsonNode elements = JsonMapper.shared().readTree(Files.readString(folder.resolve(file)));
        if (elements.size() == count) {
          return elements;
        }
      } catch (NoSuchFileException | JacksonException beingWritten) {
        Thread.sleep(10);
      }
    }
  }

  private static Map<String, LogSettingsResponse.SettingValue> logs(
      Map<String, LogSettingsRequest.SettingValue> settings) {
    var request = LogSettingsRequest.newBuilder().putAllSettings(settings).build();
    return worker.stub().logSettings(request).getSettingsMap();
  }

  private static Map<String, List<String>> traces(
      String model, Map<String, List<String>> settings) {
    TraceSettingRequest.Builder request = TraceSettingRequest.newBuilder().setModelName(model);
    settings.forEach(
        (name, values) ->
            request.putSettings(name, SettingValue.newBuilder().addAllValue(values).build()));
    TraceSettingResponse response = worker.stub().traceSetting(request.build());
    return response.getSettingsMap().entrySet().stream()
        .collect(
            Collectors.toMap(
                Map.Entry::getKey, each -> List.copyOf(each.getValue().getValueList())));
  }

  private static LogSettingsRequest.SettingValue wanted(boolean flag) {
    return LogSettingsRequest.SettingValue.newBuilder().setBoolParam(flag).build();
  }

  private static LogSettingsRequest.SettingValue number(int number) {
    return LogSettingsRequest.SettingValue.newBuilder().setUint32Param(number).build();
  }

  private static LogSettingsResponse.SettingValue flag(boolean flag) {
    return LogSettingsResponse.SettingValue.newBuilder().setBoolParam(flag).build();
  }

  private static LogSettingsResponse.SettingValue text(String text) {
    return LogSettingsResponse.SettingValue.newBuilder().setStringParam(text).build();
  }

  private static void assertRefused(ThrowingCallable call, Status.Code code, String text) {
    StatusRuntimeException refusal = catchThrowableOfType(StatusRuntimeException.class, call);
    assertThat(refusal).as(text).isNotNull();
    assertThat(refusal.getStatus().getCode()).as(text).isEqualTo(code);
    assertThat(refusal.getStatus().getDescription()).contains(text);
  }
}
