package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** A name that nobody needs is refused where it is read, and is not told again in full. */
@Timeout(60)
@ExtendWith(OutputCaptureExtension.class)
class LongNamesTest {
  private static final String LONG = "n".repeat(256);

  @TempDir static Path repository;
  private static RunningWorker worker;

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1).write(repository, "double");
    worker =
        new RunningWorker(
                repository,
                TestBundle.DOUBLE,
                "--roundhouse.worker.shared-memory.enabled=true",
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=*")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  private static Status refusal(Consumer<GRPCInferenceServiceBlockingStub> call) {
    return catchThrowableOfType(StatusRuntimeException.class, () -> call.accept(worker.stub()))
        .getStatus();
  }

  private static void assertRefused(Consumer<GRPCInferenceServiceBlockingStub> call, String what) {
    Status status = refusal(call);
    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains(what, "256", "the limit is 255");
    assertThat(status.getDescription()).hasSizeLessThan(200);
  }

  @Test
  void shouldRefuseNamesThatAreTooLong() {
    ModelInferRequest fine = WorkerTest.request("double", 1, 1, 2);
    assertRefused(
        stub -> stub.modelInfer(fine.toBuilder().setModelName(LONG).build()), "model_name");
    assertRefused(
        stub -> stub.modelInfer(fine.toBuilder().setModelVersion(LONG).build()), "model_version");
    assertRefused(
        stub ->
            stub.modelInfer(
                fine.toBuilder()
                    .putParameters(
                        "sequence_id", InferParameter.newBuilder().setStringParam(LONG).build())
                    .build()),
        "'sequence_id'");
    assertRefused(
        stub -> stub.modelReady(ModelReadyRequest.newBuilder().setName(LONG).build()), "name");
    assertRefused(
        stub -> stub.modelMetadata(ModelMetadataRequest.newBuilder().setVersion(LONG).build()),
        "version");
    assertRefused(
        stub ->
            stub.repositoryModelLoad(
                RepositoryModelLoadRequest.newBuilder().setModelName(LONG).build()),
        "model_name");
    assertRefused(
        stub ->
            stub.systemSharedMemoryRegister(
                SystemSharedMemoryRegisterRequest.newBuilder()
                    .setName(LONG)
                    .setKey("/none")
                    .setByteSize(8)
                    .build()),
        "name");
  }

  @Test
  void shouldRefuseControlCharactersWithoutATraceInTheLog(CapturedOutput log) {
    Status status =
        refusal(
            stub ->
                stub.repositoryModelLoad(
                    RepositoryModelLoadRequest.newBuilder().setModelName("a\0b").build()));
    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains("model_name has a control character");
    Status unknown =
        refusal(
            stub ->
                stub.modelInfer(
                    WorkerTest.request("double", 1, 1, 2).toBuilder()
                        .setModelName("a\0b")
                        .build()));
    assertThat(unknown.getCode()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(log.getAll()).doesNotContain("Exception");
  }
}
