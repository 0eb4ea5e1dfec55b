package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.engine.ComposedLoading;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TextModel;
import dev.roundhouse.kserve.proto.DataType;
import dev.roundhouse.kserve.v1.HeaderText;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc;
import dev.roundhouse.kserve.v1.proto.GRPCServiceGrpc.GRPCServiceBlockingStub;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.InferRequest;
import dev.roundhouse.kserve.v1.proto.InferResponse;
import dev.roundhouse.kserve.v1.proto.InferResponseHeader.Output;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.ModelReadyState;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.ModelStatus;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.ServerReadyState;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Unregister;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.UnregisterAll;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryRegion;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.worker.transport.shm.SharedObject;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The v1 protocol over gRPC, asked by a client that is made of its messages. */
@Timeout(120)
class V1Test {
  /** The device runs every model by one function. */
  static final ReferenceFunction EITHER =
      (program, arguments, results) ->
          (arguments.size() > 1 ? TestBundle.ADD : TestBundle.DOUBLE)
              .apply(program, arguments, results);

  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(4, 1, 4).labels("cat\ndog\n\n").write(repository, "animals");
    TestBundle.doublingOne(3).write(repository, "one");
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.adding(1).write(repository, "adding");
    TestBundle.doubling(1 << 16, 1).write(repository, "wide");
    worker =
        new RunningWorker(
                repository,
                EITHER,
                "--roundhouse.worker.v1.enabled=true",
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=animals,one,adding,wide",
                "--roundhouse.worker.shared-memory.enabled=true")
            .awaitLoaded();
    ComposedLoading.load(worker.bean(Engine.class), new TextModel("text"));
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHoldNothing() {
    worker.assertHoldsNothing();
  }

  private static GRPCServiceBlockingStub stub() {
    return GRPCServiceGrpc.newBlockingStub(worker.channel());
  }

  // --- inference

  @Test
  void shouldAnswerRawOutputs() {
    InferResponse answer =
        stub()
            .infer(
                request(
                    "animals",
                    "id: 7 batch_size: 2 input { name: \"x\" } output { name: \"y\" }",
                    WorkerTest.floats(1, 2, 3, 4, 5, 6, 7, 8)));

    assertThat(answer.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    assertThat(answer.getRequestStatus().getServerId()).isEqualTo("roundhouse");
    assertThat(HeaderText.of(answer.getMetaData()))
        .isEqualTo(
            "model_name: \"animals\" model_version: 1 batch_size: 2"
                + " output { name: \"y\" raw { dims: 4 batch_byte_size: 32 } data_type: TYPE_FP32 }"
                + " id: 7");
    assertThat(answer.getRawOutputList())
        .containsExactly(WorkerTest.floats(2, 4, 6, 8, 10, 12, 14, 16));
  }

  @Test
  void shouldAnswerAllOutputsOfAModelThatDoesNotBatch() {
    InferResponse answer =
        stub()
            .infer(
                request(
                    "one",
                    "batch_size: 1 input { name: \"x\" dims: 3 batch_byte_size: 12 }",
                    WorkerTest.floats(1, 2, 3)));
    assertThat(answer.getMetaData().getOutput(0).getRaw().getDimsList()).containsExactly(3L);
    assertThat(answer.getRawOutput(0)).isEqualTo(WorkerTest.floats(2, 4, 6));
  }

  @Test
  void shouldAnswerAnOutputThatIsLarge() {
    float[] values = new float[1 << 16];
    values[values.length - 1] = 4;
    InferResponse answer =
        stub()
            .infer(
                request("wide", "batch_size: 1 input { name: \"x\" }", WorkerTest.floats(values)));
    values[values.length - 1] = 8;
    assertThat(answer.getRawOutput(0)).isEqualTo(WorkerTest.floats(values));
  }

  @Test
  void shouldAnswerClassesWithTheirLabels() {
    InferResponse answer =
        stub()
            .infer(
                request(
                    "animals",
                    "batch_size: 2 input { name: \"x\" } output { name: \"y\" cls { count: 2 } }",
                    WorkerTest.floats(1, 2, 3, 4, 8, 7, 6, 5)));

    Output output = answer.getMetaData().getOutput(0);
    assertThat(output.getDataType()).isEqualTo(DataType.TYPE_FP32);
    assertThat(HeaderText.of(output.getBatchClasses(0)))
        .isEqualTo("cls { idx: 3 value: 8.0 } cls { idx: 2 value: 6.0 }");
    assertThat(HeaderText.of(output.getBatchClasses(1)))
        .isEqualTo("cls { value: 16.0 label: \"cat\" } cls { idx: 1 value: 14.0 label: \"dog\" }");
    assertThat(answer.getRawOutputList())
        .as("clients count entries by outputs")
        .containsExactly(ByteString.EMPTY);
  }

  @Test
  void shouldAnswerClassesBesideRawOutputs() {
    InferResponse answer =
        stub()
            .infer(
                request(
                    "adding",
                    "batch_size: 1 correlation_id: 5 flags: 3 input { name: \"x\" }"
                        + " output { name: \"seen\" cls { count: 1 } } output { name: \"total\" }",
                    WorkerTest.floats(4)));
    assertThat(HeaderText.of(answer.getMetaData().getOutput(0).getBatchClasses(0)))
        .isEqualTo("cls { idx: 3 value: 5.0 }");
    assertThat(answer.getRawOutputList()).containsExactly(ByteString.EMPTY, WorkerTest.floats(4));
  }

  @Test
  void shouldCarryStrings() {
    ByteString texts = bytes(BytesLayout.ofStrings(List.of("a", "größer")));
    InferResponse answer =
        stub()
            .infer(
                request(
                    "text",
                    "batch_size: 2 input { name: \"text\" dims: 1 batch_byte_size: %d } output { name: \"length\" } output { name: \"upper\" }"
                        .formatted(texts.size()),
                    texts));

    assertThat(answer.getMetaData().getOutputList())
        .as("in the order of the request")
        .extracting(Output::getName)
        .containsExactly("length", "upper");
    assertThat(answer.getMetaData().getOutput(1).getDataType()).isEqualTo(DataType.TYPE_STRING);
    assertThat(BytesLayout.strings(MemorySegment.ofArray(answer.getRawOutput(1).toByteArray())))
        .containsExactly("A", "GRÖSSER");
    assertThat(answer.getRawOutput(0).toByteArray()).containsExactly(1, 0, 0, 0, 8, 0, 0, 0);
  }

  @Test
  void shouldKeepSequencesByTheirCorrelationId() {
    assertThat(add("correlation_id: 9 flags: 1", 1)).containsExactly(1, 1, 0, 1, 9);
    assertThat(add("correlation_id: 8 flags: 1", 5)).containsExactly(5, 1, 0, 1, 8);
    assertThat(add("correlation_id: 9", 2)).containsExactly(3, 0, 0, 1, 9);
    assertThat(add("correlation_id: 9 flags: 2", 3)).containsExactly(6, 0, 1, 1, 9);
    assertThat(add("correlation_id: 8 flags: 2", 5)).containsExactly(10, 0, 1, 1, 8);
  }

  /** The sum, and what the model has seen of start, end, ready and the id. */
  private static float[] add(String sequence, float value) {
    InferResponse answer =
        stub()
            .infer(
                request(
                    "adding",
                    "batch_size: 1 input { name: \"x\" } output { name: \"total\" } output { name: \"seen\" } "
                        + sequence,
                    WorkerTest.floats(value)));
    assertThat(answer.getRequestStatus().getMsg()).isEmpty();
    MemorySegment told =
        MemorySegment.ofArray(answer.getRawOutput(0).concat(answer.getRawOutput(1)).toByteArray());
    return told.toArray(ValueLayout.JAVA_FLOAT_UNALIGNED);
  }

  @Test
  void shouldTellAFailureInItsStatus() {
    InferResponse answer =
        stub().infer(request("nobody", "id: 3 batch_size: 1", WorkerTest.floats(1)));
    assertThat(answer.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.NOT_FOUND);
    assertThat(answer.getRequestStatus().getMsg()).contains("'nobody' is not found");
    assertThat(answer.getMetaData().getId()).isEqualTo(3);

    answer =
        stub()
            .infer(request("animals", "batch_size: 1 input { name: \"x\" }", WorkerTest.floats(1)));
    assertThat(answer.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.INVALID_ARG);
    assertThat(answer.getRequestStatus().getMsg())
        .contains("input 'x' has 4 bytes in raw_input", "make 16");

    answer =
        stub()
            .infer(
                request(
                    "animals",
                    "batch_size: 1 input { name: \"x\" dims: 5 }",
                    WorkerTest.floats(new float[5])));
    assertThat(answer.getRequestStatus().getCode())
        .as("what the engine refuses: %s", answer.getRequestStatus().getMsg())
        .isEqualTo(RequestStatusCode.INVALID_ARG);

    answer =
        stub()
            .infer(
                request("one", "batch_size: 1 input { name: \"x\" }", WorkerTest.floats(1, 2, 3))
                    .toBuilder()
                    .setModelVersion(0)
                    .build());
    assertThat(answer.getRequestStatus().getMsg()).contains("versions are decimal numbers above 0");
  }

  @Test
  void shouldRefuseAHeaderThatIsTooLarge() {
    StatusRuntimeException refused =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () ->
                stub()
                    .infer(
                        request("one", "output { name: \"%s\" }".formatted("x".repeat(1 << 20)))));
    assertThat(refused.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(refused.getStatus().getDescription())
        .contains("meta_data has", "the limit is 1048576");
  }

  // --- streams

  @Test
  void shouldAnswerAStreamInOrder() throws Exception {
    BlockingQueue<Object> received = new LinkedBlockingQueue<>();
    StreamObserver<InferRequest> stream =
        GRPCServiceGrpc.newStub(worker.channel()).streamInfer(into(received));
    for (int i = 0; i < 100; i++) {
      stream.onNext(
          request(
              i == 50 ? "nobody" : i % 2 == 0 ? "wide" : "one",
              "id: %d batch_size: 1 input { name: \"x\" }".formatted(i + 1),
              WorkerTest.floats(i % 2 == 0 ? new float[1 << 16] : new float[] {i, 1, 2})));
    }
    stream.onCompleted();

    for (int i = 0; i < 100; i++) {
      Object next = received.poll(60, TimeUnit.SECONDS);
      assertThat(next).isInstanceOf(InferResponse.class);
      InferResponse answer = (InferResponse) next;
      assertThat(answer.getMetaData().getId()).isEqualTo(i + 1);
      assertThat(answer.getRequestStatus().getCode())
          .isEqualTo(i == 50 ? RequestStatusCode.NOT_FOUND : RequestStatusCode.SUCCESS);
      if (i % 2 == 1) {
        assertThat(answer.getRawOutput(0)).isEqualTo(WorkerTest.floats(2 * i, 2, 4));
      }
    }
    assertThat(received.poll(60, TimeUnit.SECONDS)).isEqualTo("completed");
  }

  private static StreamObserver<InferResponse> into(BlockingQueue<Object> received) {
    return new StreamObserver<>() {
      @Override
      public void onNext(InferResponse answer) {
        received.add(answer);
      }

      @Override
      public void onError(Throwable failure) {
        received.add(failure);
      }

      @Override
      public void onCompleted() {
        received.add("completed");
      }
    };
  }

  // --- control

  @Test
  void shouldTellItsHealth() {
    for (String mode : List.of("live", "ready")) {
      HealthResponse answer = stub().health(HealthRequest.newBuilder().setMode(mode).build());
      assertThat(answer.getHealth()).as(mode).isTrue();
      assertThat(answer.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    }
    HealthResponse answer = stub().health(HealthRequest.newBuilder().setMode("fine").build());
    assertThat(answer.getHealth()).isFalse();
    assertThat(answer.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.INVALID_ARG);
    assertThat(answer.getRequestStatus().getMsg())
        .isEqualTo("mode is 'fine'; it may be 'live' or 'ready'");
  }

  @Test
  void shouldTellWhatAModelIs() {
    StatusResponse answer =
        stub().status(StatusRequest.newBuilder().setModelName("animals").build());
    assertThat(answer.getServerStatus().getReadyState()).isEqualTo(ServerReadyState.SERVER_READY);
    assertThat(answer.getServerStatus().getId()).isEqualTo("roundhouse");
    assertThat(answer.getServerStatus().getUptimeNs()).isPositive();
    assertThat(answer.getServerStatus().getModelStatusMap()).containsOnlyKeys("animals");
    ModelStatus model = answer.getServerStatus().getModelStatusOrThrow("animals");
    assertThat(model.getVersionStatusOrThrow(1).getReadyState())
        .isEqualTo(ModelReadyState.MODEL_READY);
    assertThat(model.getConfig().getMaxBatchSize()).isEqualTo(4);
    assertThat(model.getConfig().getInput(0).getDataType()).isEqualTo(DataType.TYPE_FP32);
    assertThat(model.getConfig().getInput(0).getDimsList()).containsExactly(4L);

    answer = stub().status(StatusRequest.newBuilder().setModelName("nobody").build());
    assertThat(answer.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.NOT_FOUND);
    assertThat(answer.hasServerStatus()).isFalse();
  }

  @Test
  void shouldLoadAndUnload() {
    assertThat(
            stub().status(StatusRequest.getDefaultInstance()).getServerStatus().getModelStatusMap())
        .containsKeys("animals", "one", "double");
    InferRequest request =
        request("double", "batch_size: 1 input { name: \"x\" }", WorkerTest.floats(1, 2));
    assertThat(stub().infer(request).getRequestStatus().getCode())
        .isEqualTo(RequestStatusCode.NOT_FOUND);

    assertThat(control("double", ModelControlRequest.Type.LOAD)).isEqualTo("SUCCESS ");
    assertThat(stub().infer(request).getRawOutput(0)).isEqualTo(WorkerTest.floats(2, 4));
    assertThat(control("double", ModelControlRequest.Type.UNLOAD)).isEqualTo("SUCCESS ");
    assertThat(stub().infer(request).getRequestStatus().getCode())
        .isEqualTo(RequestStatusCode.NOT_FOUND);

    assertThat(control("nobody", ModelControlRequest.Type.LOAD))
        .startsWith("INTERNAL failed to load 'nobody'");
    assertThat(control("", ModelControlRequest.Type.LOAD))
        .isEqualTo("INVALID_ARG Model name cannot be empty");
  }

  private static String control(String model, ModelControlRequest.Type type) {
    var status =
        stub()
            .modelControl(
                ModelControlRequest.newBuilder().setModelName(model).setType(type).build())
            .getRequestStatus();
    return status.getCode() + " " + status.getMsg();
  }

  @Test
  void shouldTellWhatIsInTheRepository() {
    assertThat(
            stub()
                .repository(RepositoryRequest.newBuilder().setIndex(true).build())
                .getIndex()
                .getModelsList())
        .extracting(ModelEntry::getName)
        .contains("adding", "animals", "double", "one", "wide");
    assertThat(
            stub().repository(RepositoryRequest.getDefaultInstance()).getRequestStatus().getMsg())
        .contains("set index to true");
  }

  @Test
  void shouldUseSharedMemory() throws Exception {
    try (SharedObject object = new SharedObject(64)) {
      SharedMemoryControlRequest.Builder register = SharedMemoryControlRequest.newBuilder();
      register.setRegister(Register.newBuilder().setName("r").setByteSize(56));
      register
          .getRegisterBuilder()
          .getSystemSharedMemoryBuilder()
          .setSharedMemoryKey(object.key())
          .setOffset(8);
      assertThat(memory(register).getRequestStatus().getMsg()).isEmpty();
      assertThat(memory(register).getRequestStatus().getCode())
          .isEqualTo(RequestStatusCode.ALREADY_EXISTS);
      assertThat(regions()).extracting(SharedMemoryRegion::getName).containsExactly("r");
      assertThat(regions().getFirst().getByteSize()).isEqualTo(56);
      assertThat(regions().getFirst().getSystemSharedMemory().getOffset()).isEqualTo(8);

      object.put(8, 1, 2, 3);
      InferResponse answer =
          stub()
              .infer(
                  request(
                      "one",
                      "batch_size: 1 input { name: \"x\" shared_memory { name: \"r\" byte_size: 12 } }"
                          + " output { name: \"y\" shared_memory { name: \"r\" offset: 16 byte_size: 16 } }"));
      assertThat(answer.getRequestStatus().getMsg()).isEmpty();
      assertThat(object.get(24, 3)).containsExactly(2, 4, 6);
      assertThat(answer.getMetaData().getOutput(0).getRaw().getBatchByteSize()).isEqualTo(12);
      assertThat(answer.getRawOutputList()).containsExactly(ByteString.EMPTY);

      assertThat(unregister("").getRequestStatus().getMsg()).contains("unregister.name is empty");
      assertThat(regions()).hasSize(1);
      assertThat(unregister("r").getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
      assertThat(regions()).isEmpty();
      memory(register);
      memory(
          SharedMemoryControlRequest.newBuilder()
              .setUnregisterAll(UnregisterAll.getDefaultInstance()));
      assertThat(regions()).isEmpty();
      assertThat(memory(SharedMemoryControlRequest.newBuilder()).getRequestStatus().getMsg())
          .contains("the request asks for nothing");
    }
  }

  private static SharedMemoryControlResponse memory(SharedMemoryControlRequest.Builder request) {
    return stub().sharedMemoryControl(request.build());
  }

  private static SharedMemoryControlResponse unregister(String region) {
    return memory(
        SharedMemoryControlRequest.newBuilder()
            .setUnregister(Unregister.newBuilder().setName(region)));
  }

  private static List<SharedMemoryRegion> regions() {
    return memory(
            SharedMemoryControlRequest.newBuilder()
                .setStatus(SharedMemoryControlRequest.Status.getDefaultInstance()))
        .getSharedMemoryStatus()
        .getSharedMemoryRegionList();
  }

  @Test
  void shouldHaveACategoryForEveryMethod() {
    assertThat(GRPCServiceGrpc.getServiceDescriptor().getMethods())
        .hasSize(7)
        .allMatch(method -> ApiMethod.isKnown(method.getFullMethodName()));
  }

  private static ByteString bytes(MemorySegment segment) {
    return ByteString.copyFrom(segment.asByteBuffer());
  }

  /** Of the version that answers. */
  static InferRequest request(String model, String header, ByteString... raw) {
    return InferRequest.newBuilder()
        .setModelName(model)
        .setModelVersion(-1)
        .setMetaData(HeaderText.request(header))
        .addAllRawInput(List.of(raw))
        .build();
  }
}
