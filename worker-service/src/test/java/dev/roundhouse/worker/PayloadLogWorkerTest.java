package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.platform.payload.PayloadCollector;
import dev.roundhouse.platform.payload.PayloadCollector.Received;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import io.grpc.StatusRuntimeException;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a whole worker sends to a collector of payloads. */
@Timeout(120)
class PayloadLogWorkerTest {
  private static final String REQUEST = "org.kubeflow.serving.inference.request";
  private static final String RESPONSE = "org.kubeflow.serving.inference.response";

  @TempDir Path repository;
  private PayloadCollector collector;

  @BeforeEach
  void listen() throws Exception {
    collector = new PayloadCollector();
  }

  @AfterEach
  void close() {
    collector.close();
  }

  private RunningWorker start(String... settings) throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    TestBundle.doubling(40_000, 1).write(repository, "wide");
    List<String> all =
        new ArrayList<>(
            List.of(
                "--roundhouse.worker.payload-log.url=" + collector.url(),
                "--roundhouse.worker.payload-log.inference-service=iris",
                "--roundhouse.worker.payload-log.namespace=ml"));
    all.addAll(List.of(settings));
    return new RunningWorker(repository, TestBundle.DOUBLE, all.toArray(String[]::new))
        .awaitLoaded();
  }

  private static String infer(RunningWorker worker, String body) throws Exception {
    var answer =
        worker.send(worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(body)));
    return answer.statusCode() + " " + new String(answer.body(), StandardCharsets.UTF_8);
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldSendWhatRestHasOfEveryTransport() throws Exception {
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.stream.port=0", "--roundhouse.worker.stream.address=127.0.0.1")) {
      Instant before = Instant.now();
      String asked =
          "{\"id\":\"seven\",\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2,2],\"data\":[1.0,2.0,3.5,4.0]}]}";
      String answered = infer(worker, asked);
      Received request = collector.next();
      assertThat(request.body()).isEqualTo(asked);
      assertThat(request.header("ce-type")).isEqualTo(REQUEST);
      assertThat(request.header("ce-id")).isEqualTo("seven");
      assertThat(request.header("ce-source")).isEqualTo("roundhouse-worker");
      assertThat(request.header("ce-inferenceservicename")).isEqualTo("iris");
      assertThat(request.header("ce-namespace")).isEqualTo("ml");
      assertThat(Instant.parse(request.header("ce-time"))).isBetween(before, Instant.now());
      Received response = collector.next();
      assertThat("200 " + response.body()).isEqualTo(answered);
      assertThat(response.header("ce-type")).isEqualTo(RESPONSE);
      assertThat(response.header("ce-id")).isEqualTo("seven");

      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      Received overGrpc = collector.next();
      assertThat(overGrpc.body())
          .isEqualTo(
              "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1.0,2.0]}]}");
      assertThat(overGrpc.header("ce-id")).hasSize(36);
      assertThat(collector.next().header("ce-id")).isEqualTo(overGrpc.header("ce-id"));

      try (StreamPeer peer = new StreamPeer(worker.port("stream"))) {
        peer.greet(ClientHello.of("double", null, 1));
        peer.send(StreamPeer.floats(5, 6));
        assertThat(peer.result().status()).isZero();
      }
      assertThat(collector.next().body()).contains("\"data\":[5.0,6.0]");
      assertThat(collector.next().body()).contains("\"data\":[10.0,12.0]");
      await(() -> worker.bean(PayloadLog.class).sent() == 6);
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_payloads_sent_total 6.0")
          .contains("roundhouse_payloads_dropped_total{reason=\"full\"} 0.0");
    }
  }

  @Test
  void shouldSendTheAnswerAsItsCallerHasIt() throws Exception {
    try (RunningWorker worker = start("--roundhouse.worker.payload-log.mode=response")) {
      String answered =
          infer(
              worker,
              "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}],"
                  + "\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":1}}]}");
      assertThat(answered).contains("BYTES");
      assertThat("200 " + collector.next().body()).isEqualTo(answered);
    }
  }

  @Test
  void shouldLeaveOutAndNameWhatIsLargeAndSendNoAnswerWhereThereIsNone() throws Exception {
    try (RunningWorker worker = start()) {
      float[] values = new float[40_000];
      worker.stub().modelInfer(WorkerTest.request("wide", 1, values));
      assertThat(collector.next().body())
          .isEqualTo(
              "{\"parameters\":{\"roundhouse_left_out\":\"x\"},"
                  + "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,40000]}]}");
      assertThat(collector.next().body()).contains("\"roundhouse_left_out\":\"y\"");
      assertThatThrownBy(() -> worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2, 3)))
          .isInstanceOf(StatusRuntimeException.class);
      assertThat(collector.next().header("ce-type")).isEqualTo(REQUEST);
      worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2));
      assertThat(collector.next().header("ce-type")).as("of the next").isEqualTo(REQUEST);
      assertThat(collector.next().header("ce-type")).isEqualTo(RESPONSE);
    }
  }

  @Test
  void shouldServeOnWhenTheCollectorHangs() throws Exception {
    collector.hold();
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.payload-log.models=dou*",
            "--roundhouse.worker.payload-log.max-waiting=64KB")) {
      worker.stub().modelInfer(WorkerTest.request("wide", 1, new float[40_000]));
      for (int i = 0; i < 200; i++) {
        worker.stub().modelInfer(WorkerTest.request("double", 1, i, i));
      }
      PayloadLog log = worker.bean(PayloadLog.class);
      long accepted = 400 - log.dropped(Drop.FULL);
      assertThat(log.dropped(Drop.FULL)).isBetween(200L, 300L);
      assertThat(log.waitingBytes()).isLessThanOrEqualTo(64 << 10);
      collector.go();
      await(() -> log.sent() == accepted);
      worker.assertHoldsNothing();
    }
  }
}
