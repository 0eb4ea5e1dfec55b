package dev.roundhouse.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.google.protobuf.ByteString;
import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** A gateway before workers that speak TLS, and before some that do not. */
@Timeout(180)
@ExtendWith(OutputCaptureExtension.class)
class GatewayTlsTest {
  private static final ModelInferRequest REQUEST =
      ModelInferRequest.newBuilder()
          .setModelName("m")
          .addRawInputContents(ByteString.copyFrom(new byte[2_000_000]))
          .build();

  @TempDir static Path folder;
  private static WorkerKeys keys;

  @BeforeAll
  static void makeKeys() throws Exception {
    keys = new WorkerKeys(folder);
  }

  @Test
  void shouldSpeakTlsAndShowACertificate() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", keys, "m");
        RunningGateway gateway =
            new RunningGateway(
                List.of(worker),
                keys.settings("--roundhouse.gateway.tls.server-name=worker.test"))) {
      gateway.awaitReady(1);
      assertThat(gateway.stub().modelInfer(REQUEST).getRawOutputContents(0))
          .isEqualTo(REQUEST.getRawInputContents(0));
      assertThat(gateway.send("POST", "/v2/models/m/infer", "{}").body()).startsWith("w0 ");
    }
  }

  @Test
  void shouldSayWhatIsWrongWithTls(CapturedOutput output) throws Exception {
    try (FakeWorker plain = new FakeWorker("plain", "m");
        FakeWorker other = new FakeWorker("other", keys, "m");
        RunningGateway gateway = new RunningGateway(List.of(plain, other), keys.settings())) {
      awaitTrouble(gateway, "plain", "it does not speak TLS; remove roundhouse.gateway.tls.bundle");
      awaitTrouble(gateway, "other", "127.0.0.1"); // which is not in its certificate
      assertThat(output)
          .contains("worker 'plain' cannot be asked: UNAVAILABLE: it does not speak TLS")
          .contains("worker 'other' cannot be asked: UNAVAILABLE: TLS: ");
      assertThat(gateway.management("/actuator/health")).contains("it does not speak TLS");
      assertThat(
              catchThrowableOfType(
                      StatusRuntimeException.class, () -> gateway.stub().modelInfer(REQUEST))
                  .getStatus()
                  .getCode())
          .isEqualTo(Status.Code.UNAVAILABLE);
    }
  }

  @Test
  void shouldSayThatWorkersSpeakTls(CapturedOutput output) throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", keys, "m");
        RunningGateway gateway = new RunningGateway(List.of(worker))) {
      String text = "it speaks TLS and the gateway does not; set roundhouse.gateway.tls.bundle";
      awaitTrouble(gateway, "w0", text);
      assertThat(output).contains("worker 'w0' cannot be asked: UNAVAILABLE: " + text);
    }
  }

  @Test
  void shouldRefuseANameWithoutTlsAndABundleThatIsNone() throws Exception {
    try (FakeWorker worker = new FakeWorker("w0", "m")) {
      assertThatThrownBy(
              () ->
                  new RunningGateway(
                      List.of(worker), "--roundhouse.gateway.tls.server-name=worker.test"))
          .hasStackTraceContaining(
              "roundhouse.gateway.tls.server-name is 'worker.test', and workers are spoken to in plain text");
      assertThatThrownBy(
              () -> new RunningGateway(List.of(worker), "--roundhouse.gateway.tls.bundle=none"))
          .hasStackTraceContaining("roundhouse.gateway.tls.bundle is 'none', which cannot be used");
    }
  }

  private static void awaitTrouble(RunningGateway gateway, String worker, String text)
      throws InterruptedException {
    RunningGateway.await(
        worker + " is said to be in trouble",
        () ->
            gateway.bean(Workers.class).all().stream()
                .filter(look -> look.link().name().equals(worker))
                .map(WorkerLook::failure)
                .anyMatch(failure -> failure.contains(text)));
  }
}
