package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.worker.LearnerPeer.Frame;
import dev.roundhouse.worker.LearnerPeer.Reply;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What learners are given of requests that came by the worker's transports. */
@Timeout(120)
class TeeTransportsTest {
  @TempDir Path repository;
  @TempDir Path folder;

  @Test
  void shouldGiveALearnerWhatComesByEveryTransport() throws Exception {
    Path socket = folder.resolve("s");
    try (TeedWorker worker =
            TeedWorker.start(
                repository,
                "--roundhouse.worker.tee.socket=" + socket,
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1",
                "--roundhouse.worker.v1.enabled=true");
        LearnerPeer learner = new LearnerPeer(socket)) {
      Reply reply = learner.greet("double");
      assertThat(reply.status()).as(reply.text()).isZero();
      assertThat(reply.window()).isEqualTo(2);
      worker.ask(1, 2); // gRPC
      askOverRest(worker, 3, 4);
      askByStream(worker, 5, 6);
      askOverV1(worker, 7, 8);
      Frame batch = learner.next();
      assertThat(batch.kind()).isZero();
      assertThat(batch.number()).isZero();
      assertThat(batch.firstRow()).isZero();
      assertThat(batch.floats(0, 8)).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
      assertThat(batch.floats(64, 8)).containsExactly(2, 4, 6, 8, 10, 12, 14, 16);
      learner.acknowledge(0);
      TeedWorker.await(() -> worker.counts().delivered() == 4);
      assertThat(worker.counts().dropped()).isZero();
      worker.assertIdentity();
      assertThat(worker.running().get("metrics", "/metrics"))
          .contains("roundhouse_tee_rows_delivered_total{model=\"double\"} 4.0")
          .contains("roundhouse_tee_learners 1.0")
          .contains("roundhouse_tee_rows_dropped_total{model=\"double\",reason=\"full\"} 0.0");
    }
  }

  private static void askOverRest(TeedWorker worker, float first, float second) throws Exception {
    String body =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[%s,%s]}]}"
            .formatted(first, second);
    assertThat(
            worker
                .running()
                .send(
                    worker
                        .running()
                        .http("/v2/models/double/infer")
                        .POST(BodyPublishers.ofString(body)))
                .statusCode())
        .isEqualTo(200);
  }

  private static void askByStream(TeedWorker worker, float first, float second) throws Exception {
    try (StreamPeer peer = new StreamPeer(worker.running().port("stream"))) {
      peer.greet(ClientHello.of("double", null, 1));
      peer.send(StreamPeer.floats(first, second));
      assertThat(peer.result().status()).isZero();
    }
  }

  private static void askOverV1(TeedWorker worker, float first, float second) throws Exception {
    byte[] body =
        ByteBuffer.allocate(8)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putFloat(first)
            .putFloat(second)
            .array();
    assertThat(
            worker
                .running()
                .send(
                    worker
                        .running()
                        .http("/api/infer/double")
                        .header(
                            "NV-InferRequest",
                            "batch_size: 1 input { name: \"x\" } output { name: \"y\" }")
                        .POST(BodyPublishers.ofByteArray(body)))
                .statusCode())
        .isEqualTo(200);
  }

  @Test
  void shouldCopyWhatTheModelAnsweredWhenItsCallerWantsClasses() throws Exception {
    try (TeedWorker worker = TeedWorker.start(repository, "--roundhouse.worker.tee.batch-size=1");
        LearnerPeer learner = worker.learner()) {
      learner.greet("double");
      String body =
          "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}],"
              + "\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":1}}]}";
      var answer =
          worker
              .running()
              .send(
                  worker
                      .running()
                      .http("/v2/models/double/infer")
                      .POST(BodyPublishers.ofString(body)));
      assertThat(new String(answer.body(), StandardCharsets.UTF_8)).contains("BYTES");
      assertThat(learner.next().floats(64, 2)).containsExactly(2, 4);
    }
  }

  @Test
  void shouldCopyLargeRequestsByAThreadOfTheirOwn() throws Exception {
    int width = 50_000;
    TestBundle.doubling(width, 1).write(repository, "wide");
    try (TeedWorker worker =
            TeedWorker.start(repository, "--roundhouse.worker.repository.load=double,wide");
        LearnerPeer learner = worker.learner()) {
      assertThat(learner.greet("wide").status()).isZero();
      float[] values = new float[width];
      for (int row = 0; row < 4; row++) {
        Arrays.fill(values, row + 1);
        worker.running().stub().modelInfer(WorkerTest.request("wide", 1, values));
      }
      Frame batch = learner.next();
      float[] inputs = batch.floats(0, 4 * width);
      int outputs = (4 * width * Float.BYTES + 63) / 64 * 64;
      float[] answers = batch.floats(outputs, 4 * width);
      for (int i = 0; i < inputs.length; i++) {
        assertThat(inputs[i]).isEqualTo(i / width + 1);
        assertThat(answers[i]).isEqualTo(2 * (i / width + 1));
      }
    }
  }
}
