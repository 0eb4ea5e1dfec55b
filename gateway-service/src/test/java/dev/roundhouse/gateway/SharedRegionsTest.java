package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.proto.CudaSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.CudaSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryStatusRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory of clients: every worker is told of it. */
class SharedRegionsTest extends TwoWorkers {

  @AfterEach
  void shouldForgetAllRegions() {
    var unused =
        gateway
            .stub()
            .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    var alsoUnused =
        gateway
            .stub()
            .cudaSharedMemoryUnregister(CudaSharedMemoryUnregisterRequest.getDefaultInstance());
    for (FakeWorker worker : List.of(w0, w1)) {
      assertThat(worker.memory.system).isEmpty();
      assertThat(worker.memory.cuda).isEmpty();
    }
  }

  @Test
  void shouldTellWorkersOfMemoryAgainWhenTheyHaveStartedAgain() throws Exception {
    var unused = gateway.stub().systemSharedMemoryRegister(register("r"));
    assertThat(w0.memory.system).containsKey("r");
    assertThat(w1.memory.system).containsKey("r");
    w0.stop();
    gateway.awaitReady(1);
    var alsoUnused = gateway.stub().systemSharedMemoryRegister(register("s")); // one is away
    w0.start();
    gateway.awaitReady(2);
    assertThat(w0.memory.system).containsOnlyKeys("r", "s");
    assertThat(
            gateway
                .stub()
                .systemSharedMemoryStatus(SystemSharedMemoryStatusRequest.getDefaultInstance())
                .getRegionsMap())
        .containsOnlyKeys("r", "s");
    var done =
        gateway
            .stub()
            .systemSharedMemoryUnregister(SystemSharedMemoryUnregisterRequest.getDefaultInstance());
    assertThat(w0.memory.system).isEmpty();
    assertThat(w1.memory.system).isEmpty();
  }

  @Test
  void shouldRegisterWithAllOrNone() {
    w1.memory.opens = false;
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

  private static SystemSharedMemoryRegisterRequest register(String name) {
    return SystemSharedMemoryRegisterRequest.newBuilder()
        .setName(name)
        .setKey("/" + name)
        .setByteSize(64)
        .build();
  }
}
