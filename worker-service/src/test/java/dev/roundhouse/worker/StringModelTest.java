package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.bundle.tensor.BytesLayout;
import dev.roundhouse.client.InferRequest;
import dev.roundhouse.client.InferResult;
import dev.roundhouse.client.KServeClient;
import dev.roundhouse.client.SharedMemory;
import dev.roundhouse.client.tensor.Tensor;
import dev.roundhouse.cuda.FakeCudaMemory;
import dev.roundhouse.cuda.FakeCudaMemory.Call;
import dev.roundhouse.engine.ComposedLoading;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TextModel;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.DataType;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelStatistics;
import dev.roundhouse.kserve.proto.ModelStatisticsRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.worker.transport.shm.CudaAccess;
import dev.roundhouse.worker.transport.shm.SharedObject;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A model of texts, by every way in and out. */
@Timeout(120)
class StringModelTest {
  private static final String JSON_LENGTH = "Inference-Header-Content-Length";

  /** Strings are read by the thread that runs the model's code: an event loop may not wait. */
  private static final FakeCudaMemory GPU =
      new FakeCudaMemory(
          0,
          (call, thread) ->
              call == Call.READ
                  ? thread.getName().startsWith("hook-")
                  : thread.getName().equals("cuda-memory"));

  @TempDir private static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker =
        new RunningWorker(
                repository,
                RunningWorker.simulated(TestBundle.DOUBLE),
                new CudaAccess.Through(GPU),
                "--roundhouse.worker.shared-memory.enabled=true",
                "--roundhouse.worker.scheduler.max-queued-bytes=64MB")
            .awaitLoaded();
    ComposedLoading.load(worker.bean(Engine.class), new TextModel("text"));
  }

  @AfterAll
  static void stop() {
    worker.close();
    assertThat(GPU.mistakes()).isEmpty();
  }

  @AfterEach
  void shouldHoldNothing() {
    worker
        .stub()
        .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    worker
        .stub()
        .cudaSharedMemoryUnregister(CudaSharedMemoryUnregisterRequest.getDefaultInstance());
    worker.assertHoldsNothing();
  }

  // --- gRPC

  @Test
  void shouldTakeRawAndTypedContents() {
    for (ModelInferRequest request :
        List.of(raw(2, 2, "a", "größer", "", "\0z"), typed(2, 2, "a", "größer", "", "\0z"))) {
      ModelInferResponse answer = worker.stub().modelInfer(request);
      assertThat(answer.getOutputsList())
          .extracting(output -> output.getName() + output.getDatatype() + output.getShapeList())
          .containsExactly("upperBYTES[2, 2]", "lengthINT32[2, 2]", "saidBYTES[2, 0]");
      assertThat(texts(answer, 0)).containsExactly("A", "GRÖSSER", "", "\0Z");
      assertThat(answer.getRawOutputContents(1).toByteArray())
          .containsExactly(1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0);
      assertThat(answer.getRawOutputContents(2).isEmpty()).isTrue();
    }
    assertThat(worker.stub().modelInfer(raw(3, 0)).getOutputs(0).getShapeList())
        .containsExactly(3L, 0L);
  }

  @Test
  void shouldPassParametersOnByTheirTypes() throws Exception {
    ModelInferRequest request =
        raw(1, 1, "a").toBuilder()
            .addOutputs(output("said"))
            .putParameters("style", InferParameter.newBuilder().setStringParam("short").build())
            .putParameters("top", number(3))
            .putParameters("heat", InferParameter.newBuilder().setDoubleParam(0.5).build())
            .putParameters("loud", InferParameter.newBuilder().setBoolParam(true).build())
            .putParameters("priority", number(1))
            .build();
    List<String> said =
        List.of("heat=Double 0.5", "loud=Boolean true", "style=String short", "top=Long 3");
    // Three times and more: later ones are read by a template.
    for (int i = 0; i < 30; i++) {
      assertThat(texts(worker.stub().modelInfer(request), 0)).isEqualTo(said);
    }
    assertThat(
            post(
                """
                {"inputs":[{"name":"text","datatype":"BYTES","shape":[1,1],"data":["a"]}],
                 "outputs":[{"name":"said"}],
                 "parameters":{"style":"short","top":3,"heat":0.5,"loud":true,"priority":1}}"""))
        .startsWith("200 ")
        .contains(
            "\"data\":[\"heat=Double 0.5\",\"loud=Boolean true\",\"style=String short\",\"top=Long 3\"]");
  }

  @Test
  void shouldAnswerStreams() throws Exception {
    BlockingQueue<ModelStreamInferResponse> answers = new LinkedBlockingQueue<>();
    StreamObserver<ModelInferRequest> stream =
        GRPCInferenceServiceGrpc.newStub(worker.channel()).modelStreamInfer(into(answers));
    for (int i = 0; i < 20; i++) {
      stream.onNext(raw(1, 1, "a" + i).toBuilder().setId("" + i).build());
    }
    stream.onCompleted();
    for (int i = 0; i < 20; i++) {
      ModelStreamInferResponse answer = answers.poll(60, TimeUnit.SECONDS);
      assertThat(answer).isNotNull();
      assertThat(answer.getErrorMessage()).isEmpty();
      assertThat(answer.getInferResponse().getId()).isEqualTo("" + i);
      assertThat(texts(answer.getInferResponse(), 0)).containsExactly("A" + i);
    }
  }

  @Test
  void shouldRefuseWhatIsNotAsManyWholeStringsAsTheShapeSays() {
    ModelInferRequest one = raw(1, 1, "a");
    for (Map.Entry<String, String> each :
        Map.of(
                "ffffffff", "expecting string of length 4294967295 but only 0 bytes available",
                "00000080", "expecting string of length 2147483648 but only 0 bytes available",
                "010000", "incomplete string length indicator",
                "", "expected 1 string elements for inference input 'text' for model 'text', got 0",
                "0000000000000000", "unexpected number of string elements 2")
            .entrySet()) {
      assertStatus(
          () ->
              worker
                  .stub()
                  .modelInfer(
                      one.toBuilder()
                          .setRawInputContents(0, ByteString.fromHex(each.getKey()))
                          .build()),
          Status.Code.INVALID_ARGUMENT,
          each.getValue());
    }
    assertStatus(
        () -> worker.stub().modelInfer(raw(1 << 20, 1 << 11)),
        Status.Code.INVALID_ARGUMENT,
        "expected 2147483648 string elements");
    assertStatus(
        () -> worker.stub().modelInfer(typed(1, 1, "a", "b")),
        Status.Code.INVALID_ARGUMENT,
        "expected 1 string elements for inference input 'text' for model 'text', got 2");
    assertStatus(
        () ->
            worker
                .stub()
                .modelInfer(
                    WorkerTest.request("double", 1, 1, 2).toBuilder().setModelName("text").build()),
        Status.Code.INVALID_ARGUMENT,
        "unexpected inference input 'x' for model 'text'");
  }

  @Test
  void shouldNameAnAnswerThatBreaksTheContract() throws Exception {
    ModelInferRequest request =
        raw(1, 1, "a").toBuilder()
            .putParameters("answer", InferParameter.newBuilder().setStringParam("dtype").build())
            .build();
    String text = "model 'text' answered output 'length' as 'FP32', but its contract says 'INT32'";
    assertStatus(() -> worker.stub().modelInfer(request), Status.Code.INTERNAL, text);
    assertThat(post(json("[1,1]", "[\"a\"]", ",\"parameters\":{\"answer\":\"dtype\"}")))
        .isEqualTo("500 {\"error\":\"" + text + "\"}");
  }

  @Test
  void shouldRefuseClassesOfStringsAndOfWhatHasNoSizeYet() {
    assertStatus(
        () ->
            worker
                .stub()
                .modelInfer(
                    raw(1, 1, "a").toBuilder()
                        .addOutputs(output("upper").putParameters("classification", number(1)))
                        .build()),
        Status.Code.INVALID_ARGUMENT,
        "output 'upper': class result not available for output due to unsupported type 'BYTES'");
    assertStatus(
        () ->
            worker
                .stub()
                .modelInfer(
                    raw(1, 1, "a").toBuilder()
                        .addOutputs(output("length").putParameters("classification", number(1)))
                        .build()),
        Status.Code.INVALID_ARGUMENT,
        "output 'length' has shape [-1,-1], whose size is known only when it is made");
  }

  // --- REST

  @Test
  void shouldTakeAndAnswerStringsOfJson() throws Exception {
    String answer =
        """
        200 {"model_name":"text","model_version":"1","outputs":[\
        {"name":"upper","datatype":"BYTES","shape":[2,2],"data":["A","GRÖSSER","","\\"\\u0000"]},\
        {"name":"length","datatype":"INT32","shape":[2,2],"data":[1,8,0,2]},\
        {"name":"said","datatype":"BYTES","shape":[2,0],"data":[]}]}""";
    for (String data :
        List.of(
            "[[\"a\",\"größer\"],[\"\",\"\\\"\\u0000\"]]",
            "[\"a\",\"gr\\u00f6\\u00dfer\",\"\",\"\\\"\\u0000\"]")) {
      assertThat(post(json("[2,2]", data, ""))).isEqualTo(answer);
    }
    assertThat(
            post(
                """
                {"inputs":[{"data":["b"],"shape":[1,1],"datatype":"BYTES","name":"text"}],
                 "outputs":[{"name":"upper"}]}"""))
        .as("data before what it is read by")
        .endsWith("\"data\":[\"B\"]}]}");
    assertThat(post(json("[1,3]", "[\"a\",\"b\"]", ""))).startsWith("400 ").contains("3 elements");
    assertThat(post(json("[1,1]", "[\"a\",\"b\"]", ""))).startsWith("400 ").contains("1 elements");
    assertThat(post(json("[1,1]", "[7]", ""))).startsWith("400 ").contains("BYTES takes a string");
    assertThat(post(json("[1,4611686018427387904]", "[]", ""))).startsWith("400 ");
  }

  @Test
  void shouldTakeAndAnswerBinaryTensors() throws Exception {
    byte[] strings = wire("a", "größer");
    String head =
        """
        {"inputs":[{"name":"text","datatype":"BYTES","shape":[1,2],
        "parameters":{"binary_data_size":%d}}],"outputs":[
        {"name":"upper","parameters":{"binary_data":true}},{"name":"length"}]}"""
            .formatted(strings.length);
    HttpResponse<byte[]> answer = send(head, strings);
    assertThat(answer.statusCode()).isEqualTo(200);
    int json = Integer.parseInt(answer.headers().firstValue(JSON_LENGTH).orElseThrow());
    byte[] upper = Arrays.copyOfRange(answer.body(), json, answer.body().length);
    assertThat(upper).isEqualTo(wire("A", "GRÖSSER"));
    assertThat(new String(answer.body(), 0, json, StandardCharsets.UTF_8))
        .contains("\"binary_data_size\":%d".formatted(upper.length), "\"data\":[1,8]");

    byte[] broken = strings.clone();
    broken[3] = (byte) 0x80;
    HttpResponse<byte[]> refused = send(head, broken);
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(new String(refused.body(), StandardCharsets.UTF_8))
        .contains("expecting string of length 2147483649");

    HttpResponse<byte[]> whole = send("", "one text".getBytes(StandardCharsets.UTF_8));
    assertThat(whole.statusCode()).isEqualTo(200);
    assertThat(new String(whole.body(), StandardCharsets.UTF_8)).contains("ONE TEXT");
  }

  @Test
  void shouldRefuseToWriteAsJsonWhatIsNoUtf8() throws Exception {
    byte[] strings = {1, 0, 0, 0, (byte) 0xff};
    String head =
        """
        {"inputs":[{"name":"text","datatype":"BYTES","shape":[1,1],
        "parameters":{"binary_data_size":5}}],"parameters":{"answer":"raw"},
        "outputs":[{"name":"upper","parameters":{"binary_data":%s}}]}""";
    HttpResponse<byte[]> refused = send(head.formatted(false), strings);
    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(new String(refused.body(), StandardCharsets.UTF_8))
        .contains("output 'upper' has bytes that are no UTF-8", "'binary_data'");
    HttpResponse<byte[]> binary = send(head.formatted(true), strings);
    assertThat(Arrays.copyOfRange(binary.body(), binary.body().length - 5, binary.body().length))
        .isEqualTo(strings);
  }

  // --- shared memory

  @Test
  void shouldReadAndWriteSystemSharedMemory() throws Exception {
    byte[] in = wire("abc", "d");
    try (SharedObject object = new SharedObject(256)) {
      register(object, 256);
      object.put(8, in);
      ModelInferResponse answer =
          worker.stub().modelInfer(shared(2, range(8, in.length), range(128, 100)));
      assertThat(object.bytes(128, in.length)).isEqualTo(wire("ABC", "D"));
      assertThat(answer.getRawOutputContents(0).isEmpty()).isTrue();
      assertThat(answer.getOutputs(0).getParametersMap())
          .containsEntry("shared_memory_byte_size", number(in.length));

      assertStatus(
          () -> worker.stub().modelInfer(shared(2, range(8, in.length), range(128, 11))),
          Status.Code.INTERNAL,
          "shared memory size specified with the request for output 'upper' (11 bytes) should be at least 12 bytes to hold the results");
      assertStatus(
          () -> worker.stub().modelInfer(shared(1, range(8, in.length), range(128, 100))),
          Status.Code.INVALID_ARGUMENT,
          "unexpected number of string elements 2 for inference input 'text' for model 'text'");
      object.put(8, new byte[] {-1, -1, -1, -1});
      assertStatus(
          () -> worker.stub().modelInfer(shared(2, range(8, in.length), range(128, 100))),
          Status.Code.INVALID_ARGUMENT,
          "expecting string of length 4294967295 but only 8 bytes available");
      assertStatus(
          () -> worker.stub().modelInfer(shared(1 << 20, range(8, 16), range(128, 100))),
          Status.Code.INVALID_ARGUMENT,
          "expected 1048576 string elements");
      object.put(8, in);
      assertThat(
              post(
                  """
                  {"inputs":[{"name":"text","datatype":"BYTES","shape":[2,1],"parameters":{
                   "shared_memory_region":"r","shared_memory_offset":8,"shared_memory_byte_size":%d}}],
                   "outputs":[{"name":"upper","parameters":{
                   "shared_memory_region":"r","shared_memory_offset":200,"shared_memory_byte_size":40}}]}"""
                      .formatted(in.length)))
          .startsWith("200 ");
      assertThat(object.bytes(200, in.length)).isEqualTo(wire("ABC", "D"));
    }
  }

  @Test
  void shouldFailOneRequestWhoseSharedMemoryIsGone() throws Exception {
    byte[] in = wire("abc", "d");
    try (SharedObject object = new SharedObject(8192)) {
      register(object, 8192);
      object.put(4096, in);
      object.truncate(4);
      assertStatus(
          () -> worker.stub().modelInfer(shared(2, range(4096, in.length), range(0, 4))),
          Status.Code.INVALID_ARGUMENT,
          "which has 4 bytes by now");
    }
    assertThat(texts(worker.stub().modelInfer(raw(1, 1, "a")), 0)).containsExactly("A");
  }

  @Test
  void shouldReadAndWriteMemoryOnTheDevice() {
    byte[] handle = GPU.allocate(256);
    var unused =
        worker
            .stub()
            .cudaSharedMemoryRegister(
                CudaSharedMemoryRegisterRequest.newBuilder()
                    .setName("r")
                    .setRawHandle(ByteString.copyFrom(handle))
                    .setByteSize(256)
                    .build());
    byte[] in = wire("abc", "d");
    MemorySegment memory = GPU.memory(handle);
    memory.asSlice(8, in.length).copyFrom(MemorySegment.ofArray(in));
    ModelInferRequest request = shared(2, range(8, in.length), range(128, 100));
    worker.stub().modelInfer(request);
    assertThat(memory.asSlice(128, in.length).toArray(ValueLayout.JAVA_BYTE))
        .isEqualTo(wire("ABC", "D"));
    GPU.failCopies("cudaMemcpyAsync: cudaErrorUnknown (999): unknown error");
    try {
      assertStatus(
          () -> worker.stub().modelInfer(request),
          Status.Code.INTERNAL,
          "inference input 'text' for model 'text' could not be read: CUDA shared memory region 'r' cannot be read");
    } finally {
      GPU.failCopies(null);
    }
  }

  // --- what is said of it

  @Test
  void shouldDescribeItself() throws Exception {
    ModelMetadataResponse metadata =
        worker.stub().modelMetadata(ModelMetadataRequest.newBuilder().setName("text").build());
    assertThat(metadata.getInputs(0).getDatatype()).isEqualTo("BYTES");
    assertThat(metadata.getInputs(0).getShapeList()).containsExactly(-1L, -1L);
    assertThat(metadata.getOutputsList())
        .extracting(output -> output.getName() + output.getDatatype() + output.getShapeList())
        .containsExactly("upperBYTES[-1, -1]", "lengthINT32[-1, -1]", "saidBYTES[-1, -1]");
    ModelConfig config =
        worker
            .stub()
            .modelConfig(ModelConfigRequest.newBuilder().setName("text").build())
            .getConfig();
    assertThat(config.getMaxBatchSize()).isEqualTo(8);
    assertThat(config.getInput(0).getDataType()).isEqualTo(DataType.TYPE_STRING);
    assertThat(config.getInput(0).getDimsList()).containsExactly(-1L);
    assertThat(config.getOutput(1).getDataType()).isEqualTo(DataType.TYPE_INT32);
    assertThat(config.getModelWarmupCount()).isZero();
    assertThat(config.getDefaultModelFilename()).isEmpty();
    assertThat(worker.get("http", "/v2/models/text/config"))
        .startsWith("200 ")
        .contains("\"data_type\":\"TYPE_STRING\"");

    long before = statistics().getInferenceCount();
    worker.stub().modelInfer(raw(3, 1, "a", "b", "c"));
    ModelStatistics after = statistics();
    assertThat(after.getInferenceCount()).isEqualTo(before + 3);
  }

  private static ModelStatistics statistics() {
    return worker
        .stub()
        .modelStatistics(ModelStatisticsRequest.newBuilder().setName("text").build())
        .getModelStats(0);
  }

  @Test
  void shouldServeTheClientForTheJvm() {
    List<String> many = Collections.nCopies(5000, "some twenty characters");
    try (KServeClient client =
        KServeClient.to("127.0.0.1:" + worker.port("grpc"))
            .deadline(Duration.ofMinutes(1))
            .sharedMemory(SharedMemory.ON)
            .build()) {
      InferResult few =
          client.infer(
              InferRequest.to("text")
                  .input("text", Tensor.ofStrings(List.of("a", "größer"), 1, 2))
                  .parameter("top", 3)
                  .build());
      assertThat(few.output("upper").strings()).containsExactly("A", "GRÖSSER");
      assertThat(few.output("length").ints()).containsExactly(1, 8);
      assertThat(few.output("said").strings()).containsExactly("top=Long 3");
      InferResult shared =
          client.infer(
              InferRequest.to("text").input("text", Tensor.ofStrings(many, 1, 5000)).build());
      assertThat(shared.output("upper").strings())
          .hasSize(5000)
          .containsOnly("SOME TWENTY CHARACTERS");
      assertThat(shared.stats().orElseThrow().sharedBytes()).as("of inputs").isPositive();
    }
  }

  // --- requests

  private static ModelInferRequest raw(long rows, long columns, String... texts) {
    return ModelInferRequest.newBuilder()
        .setModelName("text")
        .addInputs(input(rows, columns))
        .addRawInputContents(ByteString.copyFrom(wire(texts)))
        .build();
  }

  private static ModelInferRequest typed(long rows, long columns, String... texts) {
    InferTensorContents.Builder contents = InferTensorContents.newBuilder();
    for (String text : texts) {
      contents.addBytesContents(ByteString.copyFromUtf8(text));
    }
    return ModelInferRequest.newBuilder()
        .setModelName("text")
        .addInputs(input(rows, columns).setContents(contents))
        .build();
  }

  private static ModelInferRequest shared(
      long rows, Map<String, InferParameter> from, Map<String, InferParameter> to) {
    return ModelInferRequest.newBuilder()
        .setModelName("text")
        .addInputs(input(rows, 1).putAllParameters(from))
        .addOutputs(output("upper").putAllParameters(to))
        .build();
  }

  private static InferInputTensor.Builder input(long rows, long columns) {
    return InferInputTensor.newBuilder()
        .setName("text")
        .setDatatype("BYTES")
        .addShape(rows)
        .addShape(columns);
  }

  private static InferRequestedOutputTensor.Builder output(String name) {
    return InferRequestedOutputTensor.newBuilder().setName(name);
  }

  private static InferParameter number(long value) {
    return InferParameter.newBuilder().setInt64Param(value).build();
  }

  private static Map<String, InferParameter> range(long offset, long size) {
    return Map.of(
        "shared_memory_region",
        InferParameter.newBuilder().setStringParam("r").build(),
        "shared_memory_offset",
        number(offset),
        "shared_memory_byte_size",
        number(size));
  }

  private static void register(SharedObject object, long size) {
    var unused =
        worker
            .stub()
            .systemSharedMemoryRegister(
                SystemSharedMemoryRegisterRequest.newBuilder()
                    .setName("r")
                    .setKey(object.key())
                    .setByteSize(size)
                    .build());
  }

  private static byte[] wire(String... texts) {
    return BytesLayout.ofStrings(List.of(texts)).toArray(ValueLayout.JAVA_BYTE);
  }

  private static List<String> texts(ModelInferResponse answer, int output) {
    return BytesLayout.strings(
        MemorySegment.ofArray(answer.getRawOutputContents(output).toByteArray()));
  }

  private static String json(String shape, String data, String more) {
    return "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":%s,\"data\":%s}]%s}"
        .formatted(shape, data, more);
  }

  private static HttpRequest.Builder infer() {
    return worker.http("/v2/models/text/infer");
  }

  private static String post(String body) throws Exception {
    HttpResponse<byte[]> answer = worker.send(infer().POST(BodyPublishers.ofString(body)));
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }

  private static HttpResponse<byte[]> send(String json, byte[] binary) throws Exception {
    byte[] head = json.getBytes(StandardCharsets.UTF_8);
    byte[] body = Arrays.copyOf(head, head.length + binary.length);
    System.arraycopy(binary, 0, body, head.length, binary.length);
    return worker.send(
        infer()
            .header(JSON_LENGTH, Integer.toString(head.length))
            .POST(BodyPublishers.ofByteArray(body)));
  }

  private static <T> StreamObserver<T> into(BlockingQueue<T> queue) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T value) {
        queue.add(value);
      }

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {}
    };
  }

  private static void assertStatus(ThrowingCallable call, Status.Code code, String text) {
    StatusRuntimeException failure = catchThrowableOfType(StatusRuntimeException.class, call);
    assertThat(failure).isNotNull();
    assertThat(failure.getStatus().getDescription()).contains(text);
    assertThat(failure.getStatus().getCode()).isEqualTo(code);
  }
}
