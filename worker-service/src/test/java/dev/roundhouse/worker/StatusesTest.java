package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.status.WireStatus;
import io.grpc.StatusRuntimeException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** docs/statuses.md, held against a running worker. */
@Timeout(120)
class StatusesTest {
  private static final Path PAGE = Path.of("../docs/statuses.md");
  private static final String FULL = "as many requests wait as may";
  private static final JsonMapper JSON = new JsonMapper();
  private static final Gate GATE = new Gate();
  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.halves().write(repository, "halves");
    Path broken = TestBundle.doubling(2, 1).write(repository, "broken");
    Files.writeString(broken.resolve("weights.safetensors"), "short");
    worker =
        new RunningWorker(repository, GATE, "--roundhouse.worker.scheduler.max-queue-depth=1")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveEndedEveryRequest() {
    GATE.open();
    while (worker.bean(Engine.class).openRequests() > 0) {
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldListEveryStatusWithItsCodes() throws Exception {
    List<List<String>> expected = new ArrayList<>();
    for (WireStatus status : WireStatus.values()) {
      expected.add(
          List.of(
              status.name(),
              Integer.toString(status.grpcCode()),
              Integer.toString(status.httpCode())));
    }
    assertThat(rows("## Codes")).containsExactlyElementsOf(expected);
  }

  @Test
  void shouldKnowHowToProvokeEverySituation() throws Exception {
    assertThat(rows("## Inference").stream().map(List::getFirst))
        .containsExactlyInAnyOrderElementsOf(provocations().keySet());
  }

  static Stream<List<String>> situations() throws Exception {
    return rows("## Inference").stream();
  }

  @ParameterizedTest
  @MethodSource("situations")
  void shouldEndAsThePageSays(List<String> row) throws Exception {
    ModelInferRequest request = Objects.requireNonNull(provocations().get(row.getFirst()));
    WireStatus status = WireStatus.valueOf(row.get(1));
    List<Future<?>> before = row.getFirst().equals(FULL) ? fillTheQueue() : List.of();

    StatusRuntimeException refusal =
        catchThrowableOfType(StatusRuntimeException.class, () -> worker.stub().modelInfer(request));
    assertThat(refusal.getStatus().getDescription()).contains(row.get(2));
    assertThat(refusal.getStatus().getCode().value()).isEqualTo(status.grpcCode());

    String version =
        request.getModelVersion().isEmpty() ? "" : "/versions/" + request.getModelVersion();
    HttpResponse<byte[]> answer =
        worker.send(
            worker
                .http("/v2/models/" + request.getModelName() + version + "/infer")
                .POST(BodyPublishers.ofString(json(request))));
    String body = new String(answer.body(), StandardCharsets.UTF_8);
    assertThat(JSON.readTree(body).get("error").stringValue()).contains(row.get(2));
    assertThat(answer.statusCode()).as(body).isEqualTo(status.httpCode());

    GATE.open();
    for (Future<?> each : before) {
      each.get();
    }
  }

  private static Map<String, ModelInferRequest> provocations() {
    ModelInferRequest good = WorkerTest.request("double", 1, 1, 2);
    InferInputTensor input = good.getInputs(0);
    InferRequestedOutputTensor output =
        InferRequestedOutputTensor.newBuilder().setName("y").build();
    InferParameter text = InferParameter.newBuilder().setStringParam("r").build();
    InferParameter none = InferParameter.newBuilder().setInt64Param(0).build();
    InferParameter one = InferParameter.newBuilder().setInt64Param(1).build();
    InferParameter eight = InferParameter.newBuilder().setInt64Param(8).build();
    Map<String, ModelInferRequest> all = new TreeMap<>();
    all.put("the model is not known", good.toBuilder().setModelName("nobody").build());
    all.put("the version is not served", good.toBuilder().setModelVersion("7").build());
    all.put("the version is no number", good.toBuilder().setModelVersion("latest").build());
    all.put("the model could not be loaded", good.toBuilder().setModelName("broken").build());
    all.put("an input is missing", good.toBuilder().clearInputs().clearRawInputContents().build());
    all.put(
        "an input is not the model's",
        good.toBuilder().setInputs(0, input.toBuilder().setName("w")).build());
    all.put(
        "an input comes twice",
        good.toBuilder().addInputs(input).addRawInputContents(good.getRawInputContents(0)).build());
    all.put(
        "an input has another datatype",
        good.toBuilder().setInputs(0, input.toBuilder().setDatatype("INT32")).build());
    all.put(
        "an input has another shape",
        good.toBuilder().setInputs(0, input.toBuilder().setShape(0, 2).setShape(1, 1)).build());
    all.put(
        "an output is not the model's",
        good.toBuilder().addOutputs(output.toBuilder().setName("w")).build());
    all.put(
        "an output is asked for twice",
        good.toBuilder().addOutputs(output).addOutputs(output).build());
    all.put("a parameter is Triton's own", good.toBuilder().putParameters("triton_x", one).build());
    all.put(
        "a parameter has another type", good.toBuilder().putParameters("timeout", text).build());
    all.put(
        "shared memory is off",
        good.toBuilder()
            .clearRawInputContents()
            .setInputs(
                0,
                input.toBuilder()
                    .putParameters("shared_memory_region", text)
                    .putParameters("shared_memory_byte_size", eight))
            .build());
    all.put(
        "fewer classes than one are asked for",
        good.toBuilder()
            .addOutputs(output.toBuilder().putParameters("classification", none))
            .build());
    all.put(
        "classes are asked for in shared memory",
        good.toBuilder()
            .addOutputs(
                output.toBuilder()
                    .putParameters("classification", one)
                    .putParameters("shared_memory_region", text)
                    .putParameters("shared_memory_byte_size", eight))
            .build());
    all.put(
        "an output has no classes",
        WorkerTest.request("halves", 1, 1, 2).toBuilder()
            .addOutputs(output.toBuilder().putParameters("classification", one))
            .build());
    all.put(FULL, good);
    all.put(
        "too little time is left",
        good.toBuilder().putParameters("reactant_timeout_ns", one).build());
    return all;
  }

  /** One request runs and one waits, which is as many as may. */
  private static List<Future<?>> fillTheQueue() throws Exception {
    GATE.shut();
    var stub = GRPCInferenceServiceGrpc.newFutureStub(worker.channel());
    List<Future<?>> calls = new ArrayList<>();
    calls.add(stub.modelInfer(WorkerTest.request("double", 1, 1, 2)));
    GATE.awaitArrival();
    calls.add(stub.modelInfer(WorkerTest.request("double", 1, 1, 2)));
    while (worker.bean(Engine.class).reports().counters("double").orElseThrow().waiting() < 1) {
      Thread.onSpinWait();
    }
    return calls;
  }

  /** The same request as its client would send it over HTTP. */
  private static String json(ModelInferRequest request) {
    ObjectNode document = JSON.createObjectNode();
    parameters(document, request.getParametersMap());
    ArrayNode inputs = document.putArray("inputs");
    for (int i = 0; i < request.getInputsCount(); i++) {
      InferInputTensor tensor = request.getInputs(i);
      ObjectNode input = inputs.addObject();
      input.put("name", tensor.getName()).put("datatype", tensor.getDatatype());
      ArrayNode shape = input.putArray("shape");
      tensor.getShapeList().forEach(shape::add);
      parameters(input, tensor.getParametersMap());
      if (i < request.getRawInputContentsCount()) {
        ArrayNode data = input.putArray("data");
        var floats =
            request
                .getRawInputContents(i)
                .asReadOnlyByteBuffer()
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer();
        while (floats.hasRemaining()) {
          data.add((int) floats.get());
        }
      }
    }
    if (request.getOutputsCount() > 0) {
      ArrayNode outputs = document.putArray("outputs");
      for (InferRequestedOutputTensor wanted : request.getOutputsList()) {
        parameters(outputs.addObject().put("name", wanted.getName()), wanted.getParametersMap());
      }
    }
    return document.toString();
  }

  private static void parameters(ObjectNode of, Map<String, InferParameter> values) {
    if (!values.isEmpty()) {
      ObjectNode parameters = of.putObject("parameters");
      values.forEach(
          (name, value) -> {
            if (value.hasStringParam()) {
              parameters.put(name, value.getStringParam());
            } else {
              parameters.put(name, value.getInt64Param());
            }
          });
    }
  }

  /** The cells of the table under a heading, without its head. */
  private static List<List<String>> rows(String heading) throws Exception {
    List<List<String>> rows = new ArrayList<>();
    boolean inside = false;
    boolean afterHead = false;
    for (String line : Files.readAllLines(PAGE)) {
      if (line.startsWith("## ")) {
        inside = line.equals(heading);
        afterHead = false;
      } else if (line.startsWith("|---")) {
        afterHead = true;
      } else if (inside && afterHead && line.startsWith("| ")) {
        List<String> cells = new ArrayList<>();
        for (String cell : line.substring(1, line.length() - 1).split("\\|")) {
          cells.add(cell.strip());
        }
        rows.add(cells);
      }
    }
    return rows;
  }
}
