package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import io.grpc.Status;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Memory of clients: every worker is told of it. */
@ExtendWith(OutputCaptureExtension.class)
class SharedRegionsTest extends TwoWorkers {

  @AfterEach
  void shouldForgetAllRegions() throws Exception {
    var unused =
        gateway
            .stub()
            .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    var _ =
        gateway
            .stub()
            .cudaSharedMemoryUnregister(CudaSharedMemoryUnregisterRequest.getDefaultInstance());
    for (FakeWorker worker : List.of(w0, w1)) {
      RunningGateway.await(
          "nothing is left, of what a worker was being told of either",
          () -> worker.memory.system.isEmpty() && worker.memory.cuda.isEmpty());
    }
  }

  @Test
  void shouldTellWorkersOfMemoryAgainWhenTheyHaveStartedAgain() throws Exception {
    var unused = gateway.stub().systemSharedMemoryRegister(register("r"));
    assertThat(w0.memory.system).containsKey("r");
    assertThat(w1.memory.system).containsKey("r");
    restart(
        w0,
        () -> {
          var _ = gateway.stub().systemSharedMemoryRegister(register("s")); // one is away
        });
    assertThat(w0.memory.system).containsOnlyKeys("r", "s");
    assertThat(
            gateway
                .stub()
                .systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())
                .getRegionsMap())
        .containsOnlyKeys("r", "s");
    var _ =
        gateway
            .stub()
            .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    assertThat(w0.memory.system).isEmpty();
    assertThat(w1.memory.system).isEmpty();
  }

  /** As a gateway beside this one does, which tells the same workers. */
  @Test
  void shouldNotBringBackWhatAnotherGatewayHasUnregistered(CapturedOutput output) throws Exception {
    RunningGateway.await(
        "both have been looked at since they were reset",
        () ->
            gateway.bean(Workers.class).ready().stream()
                .map(WorkerLink::instance)
                .collect(Collectors.toSet())
                .equals(Set.of(w0.instance, w1.instance)));
    var _ = gateway.stub().systemSharedMemoryRegister(register("r"));
    w0.memory.system.remove("r");
    w1.memory.system.remove("r");
    RunningGateway.await(
        "it is forgotten",
        () -> output.toString().contains("shared memory 'r' has been unregistered at worker 'w"));
    restart(w1, () -> {});
    assertThat(w0.memory.system).isEmpty();
    assertThat(w1.memory.system).isEmpty();
  }

  @Test
  void shouldRegisterWithAllOrNone() {
    w1.memory.refusal =
        Status.INVALID_ARGUMENT.withDescription("Unable to open shared memory region");
    assertThat(refusal(() -> gateway.stub().systemSharedMemoryRegister(register("r"))))
        .hasMessage("INVALID_ARGUMENT: Unable to open shared memory region");
    assertThat(w0.memory.system).isEmpty();
  }

  @Test
  void shouldRegisterMemoryOfAGpuWithAllOrNone() throws Exception {
    CudaSharedMemoryRegisterRequest request =
        CudaSharedMemoryRegisterRequest.newBuilder().setName("r").setByteSize(8).build();
    w1.memory.gpu = 1;
    assertThat(refusal(() -> gateway.stub().cudaSharedMemoryRegister(request)))
        .hasMessage("INVALID_ARGUMENT: this worker's GPU is 1");
    assertThat(w0.memory.cuda).isEmpty();
    String path = "/v2/cudasharedmemory/region/r/register";
    String body = "{\"raw_handle\":{\"b64\":\"AAAA\"},\"device_id\":0,\"byte_size\":8}";
    assertThat(gateway.send("POST", path, body).statusCode()).isEqualTo(400);
    assertThat(w0.memory.cuda).isEmpty();

    w1.memory.gpu = 0;
    assertThat(gateway.send("POST", path, body).statusCode()).isEqualTo(200);
    assertThat(w0.memory.cuda).containsOnlyKeys("r");
    assertThat(w1.memory.cuda).containsOnlyKeys("r");
    for (String wrong : List.of("{}", body.replace("AAAA", "!"), body.replace("b64", "b65"))) {
      assertThat(gateway.send("POST", path, wrong).statusCode()).as(wrong).isEqualTo(400);
    }
  }

  @Test
  void shouldTellWorkersOfMemoryOfAGpuAgainWhenTheyHaveStartedAgain() throws Exception {
    CudaSharedMemoryRegisterRequest r = onGpu("r");
    var unused = gateway.stub().cudaSharedMemoryRegister(r);
    restart(w0, () -> assertThat(registerOnGpu("s")).isEqualTo(200)); // one is away
    assertThat(w0.memory.cuda).containsOnlyKeys("r", "s").containsEntry("r", r);
    assertThat(w0.memory.cuda).isEqualTo(w1.memory.cuda);

    String unregister = "/v2/cudasharedmemory/region/s/unregister";
    assertThat(gateway.send("POST", unregister, "").statusCode()).isEqualTo(200);
    assertThat(w1.memory.cuda).containsOnlyKeys("r");
    restart(w0, () -> {});
    assertThat(w0.memory.cuda).containsOnlyKeys("r");
    assertThat(gateway.send("POST", "/v2/cudasharedmemory/unregister", "").statusCode())
        .isEqualTo(200);
    restart(w0, () -> {});
    assertThat(w0.memory.cuda).isEmpty();
  }

  @Test
  void shouldGiveUpMemoryOfAGpuThatAWorkerRefuses(CapturedOutput output) throws Exception {
    var unused = gateway.stub().cudaSharedMemoryRegister(onGpu("r"));
    restart(w0, () -> w0.memory.gpu = 1);
    assertThat(w0.memory.cuda).isEmpty();
    assertThat(output)
        .contains(
            "CUDA shared memory 'r' is given up: worker 'w0' cannot open it any more (this worker's GPU is 1)");
    w0.memory.gpu = 0;
    restart(w1, () -> assertThat(statusOfGpu()).as("of the other").isEmpty());
    assertThat(w1.memory.cuda).as("nobody is told of it again").isEmpty();
    assertThat(statusOfGpu()).isEmpty();

    var _ = gateway.stub().cudaSharedMemoryRegister(onGpu("r"));
    assertThat(statusOfGpu()).containsExactly("r");
  }

  @ParameterizedTest
  @ValueSource(strings = {"INVALID_ARGUMENT", "UNIMPLEMENTED"})
  void shouldGiveUpMemoryThatAWorkerRefuses(String code, CapturedOutput output) throws Exception {
    var unused = gateway.stub().systemSharedMemoryRegister(register("r"));
    restart(
        w0, () -> w0.memory.refusal = Status.fromCode(Code.valueOf(code)).withDescription(code));
    assertThat(w0.memory.system).isEmpty();
    assertThat(output)
        .contains(
            "shared memory 'r' is given up: worker 'w0' cannot open it any more (" + code + ")");
    restart(w1, () -> {});
    assertThat(w1.memory.system).as("nobody is told of it again").isEmpty();
  }

  @Test
  void shouldTellAWorkerAgainThatHadNoRoom() throws Exception {
    var unused = gateway.stub().systemSharedMemoryRegister(register("r"));
    restart(w0, () -> w0.memory.refusal = Status.RESOURCE_EXHAUSTED);
    assertThat(w0.memory.system).isEmpty();
    w0.memory.refusal = Status.OK;
    RunningGateway.await("it is told again", () -> w0.memory.system.containsKey("r"));
  }

  private interface Meanwhile {
    void run() throws Exception;
  }

  /** Stops a worker, and starts it once the gateway has seen that and something is done. */
  private static void restart(FakeWorker worker, Meanwhile meanwhile) throws Exception {
    worker.stop();
    gateway.awaitReady(1);
    meanwhile.run();
    worker.start();
    gateway.awaitReady(2);
  }

  private static CudaSharedMemoryRegisterRequest onGpu(String name) {
    return CudaSharedMemoryRegisterRequest.newBuilder()
        .setName(name)
        .setRawHandle(ByteString.copyFromUtf8("handle of " + name))
        .setByteSize(8)
        .build();
  }

  private static int registerOnGpu(String name) throws Exception {
    return gateway
        .send(
            "POST",
            "/v2/cudasharedmemory/region/" + name + "/register",
            "{\"raw_handle\":{\"b64\":\"AAAA\"},\"device_id\":0,\"byte_size\":8}")
        .statusCode();
  }

  private static Set<String> statusOfGpu() {
    return gateway
        .stub()
        .cudaSharedMemoryStatus(CudaSharedMemoryStatusRequest.getDefaultInstance())
        .getRegionsMap()
        .keySet();
  }

  private static SystemSharedMemoryRegisterRequest register(String name) {
    return SystemSharedMemoryRegisterRequest.newBuilder()
        .setName(name)
        .setKey("/" + name)
        .setByteSize(64)
        .build();
  }
}
