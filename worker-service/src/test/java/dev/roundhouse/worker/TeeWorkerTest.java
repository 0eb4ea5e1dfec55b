package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.worker.LearnerPeer.Frame;
import dev.roundhouse.worker.LearnerPeer.Reply;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.TeeCounts;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import dev.roundhouse.worker.tee.learner.LearnerLoad.End;
import dev.roundhouse.worker.tee.learner.LearnerServer;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The tee of a whole worker on the simulated device: learners over sockets, and files. */
@Timeout(120)
class TeeWorkerTest {
  private static final int BAD_HELLO = 7;
  private static final int OVERLOADED = 6;
  private static final int UNAUTHORISED = 5;
  private static final int NOT_FIXED = 4;
  private static final int OTHER_SPEC = 3;
  private static final int NOT_READY = 2;
  private static final int NO_SUCH_MODEL = 1;

  @TempDir Path repository;
  @TempDir Path folder;

  private RunningWorker start(String... settings) throws Exception {
    List<String> all =
        new ArrayList<>(
            List.of(
                "--roundhouse.worker.tee.models=double,te*,wide",
                "--roundhouse.worker.tee.batch-size=4",
                "--roundhouse.worker.tee.port=0",
                "--roundhouse.worker.repository.mode=explicit",
                "--roundhouse.worker.repository.load=double"));
    for (String setting : settings) {
      String key = setting.substring(0, setting.indexOf('=') + 1);
      all.removeIf(one -> one.startsWith(key));
      all.add(setting);
    }
    TestBundle.doubling(2, 1).write(repository, "double");
    return new RunningWorker(repository, TestBundle.DOUBLE, all.toArray(String[]::new))
        .awaitLoaded();
  }

  private static LearnerPeer connect(RunningWorker worker) throws Exception {
    return new LearnerPeer(worker.port("tee"));
  }

  private static void ask(RunningWorker worker, float first, float second) {
    ModelInferRequest request = WorkerTest.request("double", 1, first, second);
    assertThat(worker.stub().modelInfer(request).getRawOutputContents(0).size()).isEqualTo(8);
  }

  private static TeeCounts counts(RunningWorker worker) {
    return figures(worker).counts();
  }

  private static Tee.Figures figures(RunningWorker worker) {
    return worker.bean(Tee.class).figures().stream()
        .filter(each -> each.model().equals("double"))
        .findFirst()
        .orElseThrow();
  }

  /** No row is lost without a count. */
  private static void assertIdentity(RunningWorker worker) {
    Tee.Figures now = figures(worker);
    long discarded = Arrays.stream(Discard.values()).mapToLong(now.counts()::discarded).sum();
    assertThat(now.counts().taken()).isEqualTo(now.counts().delivered() + discarded + now.stored());
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldGiveALearnerWhatComesByEveryTransport() throws Exception {
    Path socket = folder.resolve("s");
    try (RunningWorker worker =
            start(
                "--roundhouse.worker.tee.socket=" + socket,
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1",
                "--roundhouse.worker.v1.enabled=true");
        LearnerPeer learner = new LearnerPeer(socket)) {
      Reply reply = learner.greet("double");
      assertThat(reply.status()).as(reply.text()).isZero();
      assertThat(reply.window()).isEqualTo(2);
      ask(worker, 1, 2); // gRPC
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
      await(() -> counts(worker).delivered() == 4);
      assertThat(counts(worker).dropped()).isZero();
      assertIdentity(worker);
      assertThat(worker.get("metrics", "/metrics"))
          .contains("roundhouse_tee_rows_delivered_total{model=\"double\"} 4.0")
          .contains("roundhouse_tee_learners 1.0")
          .contains("roundhouse_tee_rows_dropped_total{model=\"double\",reason=\"full\"} 0.0");
    }
  }

  private static void askOverRest(RunningWorker worker, float first, float second)
      throws Exception {
    String body =
        "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[%s,%s]}]}"
            .formatted(first, second);
    assertThat(
            worker
                .send(worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(body)))
                .statusCode())
        .isEqualTo(200);
  }

  private static void askByStream(RunningWorker worker, float first, float second)
      throws Exception {
    try (StreamPeer peer = new StreamPeer(worker.port("stream"))) {
      peer.greet(ClientHello.of("double", null, 1));
      peer.send(StreamPeer.floats(first, second));
      assertThat(peer.result().status()).isZero();
    }
  }

  private static void askOverV1(RunningWorker worker, float first, float second) throws Exception {
    byte[] body =
        ByteBuffer.allocate(8)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putFloat(first)
            .putFloat(second)
            .array();
    assertThat(
            worker
                .send(
                    worker
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
    try (RunningWorker worker = start("--roundhouse.worker.tee.batch-size=1");
        LearnerPeer learner = connect(worker)) {
      learner.greet("double");
      String body =
          "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[1,2],\"data\":[1,2]}],"
              + "\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":1}}]}";
      var answer =
          worker.send(worker.http("/v2/models/double/infer").POST(BodyPublishers.ofString(body)));
      assertThat(new String(answer.body(), StandardCharsets.UTF_8)).contains("BYTES");
      assertThat(learner.next().floats(64, 2)).containsExactly(2, 4);
    }
  }

  @Test
  void shouldServeOnAndDropTheNewestWhenTheLearnerIsSlow() throws Exception {
    try (RunningWorker worker = start();
        LearnerPeer learner = connect(worker)) {
      learner.greet("double");
      for (int row = 0; row < 40; row++) {
        ask(worker, row, row);
      }
      assertThat(counts(worker).taken()).as("three batches of four").isEqualTo(12);
      assertThat(counts(worker).dropped(Drop.FULL)).isEqualTo(28);
      assertThat(figures(worker).stored()).isEqualTo(12);
      assertThat(figures(worker).capacity()).isEqualTo(12);
      assertThat(learner.next().floats(0, 2)).containsExactly(0, 0);
      assertThat(learner.next().floats(0, 2)).containsExactly(4, 4);
      learner.acknowledge(1); // both
      Frame third = learner.next();
      assertThat(third.number()).isEqualTo(2);
      assertThat(third.firstRow()).isEqualTo(8);
      for (int row = 0; row < 4; row++) {
        ask(worker, 100 + row, 0);
      }
      learner.acknowledge(2);
      Frame fourth = learner.next();
      assertThat(fourth.firstRow()).isEqualTo(12);
      assertThat(fourth.dropped()).isEqualTo(28);
      assertThat(fourth.floats(0, 2)).containsExactly(100, 0);
      assertIdentity(worker);
    }
  }

  @Test
  void shouldEndALearnerThatNeverAcknowledgesAndGiveItsPlaceToAnother() throws Exception {
    try (RunningWorker worker = start("--roundhouse.worker.tee.acknowledge-timeout=300ms");
        LearnerPeer learner = connect(worker)) {
      learner.greet("double");
      try (LearnerPeer second = connect(worker)) {
        Reply refused = second.greet("double");
        assertThat(refused.status()).isEqualTo(OVERLOADED);
        assertThat(refused.text()).contains("'double' has a learner already");
        assertThat(second.isOver()).isTrue();
      }
      for (int row = 0; row < 6; row++) {
        ask(worker, row, row);
      }
      assertThat(learner.next().kind()).isZero();
      Frame end = learner.next();
      assertThat(end.kind()).isEqualTo(2);
      assertThat(end.text()).contains("batch 0").contains("acknowledge-timeout");
      assertThat(learner.isOver()).isTrue();
      learner.close();
      assertThat(worker.bean(LearnerServer.class).load().endedEver(End.UNACKNOWLEDGED))
          .isEqualTo(1);
      assertThat(counts(worker).discarded(Discard.UNREAD)).isEqualTo(6);
      assertIdentity(worker);
      await(() -> worker.bean(Tee.class).heldBytes() == 0);
      await(() -> worker.bean(LearnerServer.class).load().learners() == 0);
      try (LearnerPeer next = connect(worker)) {
        assertThat(next.greet("double").status()).isZero();
      }
    }
  }

  @Test
  void shouldRefuseByNameWhoIsNoLearner() throws Exception {
    TestBundle.doubling(2, 1).serving("").write(repository, "other");
    try (RunningWorker worker = start("--roundhouse.worker.tee.handshake-timeout=500ms")) {
      assertRefused(worker, LearnerPeer.hello("other", "", 0), NO_SUCH_MODEL, "tee.models");
      assertRefused(worker, LearnerPeer.hello("tess", "", 0), NOT_READY, "'tess' is not ready");
      assertRefused(worker, LearnerPeer.hello("double", "", 5), OTHER_SPEC, "0000000000000005");
      assertRefused(
          worker,
          "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
          BAD_HELLO,
          "'TEE1'");
      assertRefused(worker, ClientHello.of("double", null, 4).encoded(), BAD_HELLO, "'TEE1'");
      assertRefused(
          worker, LearnerPeer.hello("x".repeat(20_000), "", 0), BAD_HELLO, "16384 are allowed");
      byte[] hello = LearnerPeer.hello("double", "", 0);
      assertRefused(worker, Arrays.copyOf(hello, hello.length - 1), BAD_HELLO, "within 500 ms");
      assertRefused(worker, Arrays.copyOf(hello, hello.length + 1), BAD_HELLO, "followed by more");
      for (int length = 0; length < hello.length; length++) {
        try (LearnerPeer peer = connect(worker)) {
          assertThat(peer.send(Arrays.copyOf(hello, length)).halfClose().isOver()).isTrue();
        }
      }
      try (LearnerPeer peer = connect(worker)) {
        for (byte each : hello) {
          peer.send(new byte[] {each});
        }
        assertThat(peer.reply().status()).isZero();
        peer.acknowledge(0);
        Frame end = peer.next();
        assertThat(end.text()).contains("batch 0 is acknowledged, and none is to be");
        assertThat(peer.isOver()).isTrue();
      }
    }
  }

  private static void assertRefused(RunningWorker worker, byte[] hello, int status, String text)
      throws Exception {
    try (LearnerPeer peer = connect(worker)) {
      Reply reply = peer.send(hello).reply();
      assertThat(reply.status()).as(reply.text()).isEqualTo(status);
      assertThat(reply.text()).contains(text);
      assertThat(peer.isOver()).isTrue();
    }
  }

  @Test
  void shouldSayWhenAModelCannotBeCopied() throws Exception {
    TestBundle.doubling(1 << 18, 1).write(repository, "wide");
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.tee.max-memory=1MB",
            "--roundhouse.worker.repository.load=double,wide")) {
      try (LearnerPeer peer = connect(worker)) {
        Reply reply = peer.greet("wide");
        assertThat(reply.status()).as(reply.text()).isEqualTo(NOT_READY);
        assertThat(reply.text()).contains("tee.max-memory is 1048576");
      }
    }
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.tee.batch-size=1048576",
            "--roundhouse.worker.repository.load=double,wide")) {
      try (LearnerPeer peer = connect(worker)) {
        Reply reply = peer.greet("wide");
        assertThat(reply.status()).as(reply.text()).isEqualTo(NOT_FIXED);
        assertThat(reply.text()).contains("model 'wide'").contains("tee.batch-size");
      }
    }
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.tee.batch-size=1048576",
            "--roundhouse.worker.tee.models=wide",
            "--roundhouse.worker.tee.folder=" + folder,
            "--roundhouse.worker.repository.load=double,wide")) {
      ModelInferRequest request = WorkerTest.request("wide", 1, new float[1 << 18]);
      await(
          () -> {
            worker.stub().modelInfer(request);
            return worker.bean(Tee.class).figures().getFirst().counts().dropped(Drop.NOT_FIXED) > 1;
          });
      assertThat(worker.bean(Tee.class).heldBytes()).isZero();
    }
  }

  @Test
  void shouldCopyLargeRequestsByAThreadOfTheirOwn() throws Exception {
    int width = 50_000;
    TestBundle.doubling(width, 1).write(repository, "wide");
    try (RunningWorker worker = start("--roundhouse.worker.repository.load=double,wide");
        LearnerPeer learner = connect(worker)) {
      assertThat(learner.greet("wide").status()).isZero();
      float[] values = new float[width];
      for (int row = 0; row < 4; row++) {
        Arrays.fill(values, row + 1);
        worker.stub().modelInfer(WorkerTest.request("wide", 1, values));
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

  @Test
  void shouldFollowAModelThatIsReplaced() throws Exception {
    try (RunningWorker worker = start();
        LearnerPeer learner = connect(worker)) {
      assertThat(learner.greet("double").generation()).isEqualTo(1);
      for (int row = 0; row < 6; row++) {
        ask(worker, row, row);
      }
      learner.acknowledge(learner.next().number());
      load(worker, TestBundle.doubling(2, 1, 4));
      await(() -> counts(worker).discarded(Discard.REPLACED) == 2);
      await(
          () -> {
            ask(worker, 9, 9);
            return counts(worker).batches() == 2;
          });
      Frame notice = learner.next();
      assertThat(notice.kind()).isEqualTo(1);
      assertThat(notice.number()).as("generation").isEqualTo(2);
      assertThat(notice.text()).as("version").isEqualTo("1");
      Frame batch = learner.next();
      assertThat(batch.firstRow()).isZero();
      assertThat(batch.floats(0, 2)).containsExactly(9, 9);
      learner.acknowledge(batch.number());
      load(worker, TestBundle.doubling(3, 1, 4));
      await(
          () -> {
            worker.stub().modelInfer(WorkerTest.request("double", 1, 1, 2, 3));
            return counts(worker).batches() == 3;
          });
      Frame end = learner.next();
      assertThat(end.kind()).isEqualTo(2);
      assertThat(end.text()).contains("replaced by one with other tensors").contains("[4,3]");
      assertThat(learner.isOver()).isTrue();
      assertIdentity(worker);
    }
  }

  @Test
  void shouldLoseWhatIsInNoBatchWhenTheModelIsUnloaded() throws Exception {
    try (RunningWorker worker = start();
        LearnerPeer learner = connect(worker)) {
      learner.greet("double");
      ask(worker, 1, 1);
      worker
          .stub()
          .repositoryModelUnload(
              RepositoryModelUnloadRequest.newBuilder().setModelName("double").build());
      await(() -> counts(worker).discarded(Discard.REPLACED) == 1);
      await(() -> worker.bean(Tee.class).heldBytes() == 0);
      assertIdentity(worker);
    }
  }

  private void load(RunningWorker worker, TestBundle by) {
    by.write(repository, "double");
    worker
        .stub()
        .repositoryModelLoad(
            RepositoryModelLoadRequest.newBuilder().setModelName("double").build());
  }

  @Test
  void shouldWriteFilesAndKeepTheirFolderSmall() throws Exception {
    Path files = Files.createDirectory(folder.resolve("files"));
    Files.writeString(files.resolve("mine.safetensors"), "x".repeat(10_000));
    Files.writeString(files.resolve("double.1700000000000-000000000.safetensors.part"), "torn");
    Path old = files.resolve("double.1700000000000-000000000.safetensors");
    Files.writeString(old, "x".repeat(600));
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.tee.port=-1",
            "--roundhouse.worker.tee.folder=" + files,
            "--roundhouse.worker.tee.folder-size=2KB")) {
      await(
          () -> {
            ask(worker, 1, 2);
            return worker.bean(Tee.class).filesWritten() == 8;
          });
      assertThat(old).doesNotExist();
    }
    List<Path> written;
    try (Stream<Path> there = Files.list(files)) {
      written = there.sorted().toList();
    }
    assertThat(files.resolve("mine.safetensors")).hasSize(10_000);
    long bytes = 0;
    for (Path each : written) {
      assertThat(each.getFileName().toString()).endsWith(".safetensors");
      bytes += each.endsWith("mine.safetensors") ? 0 : Files.size(each);
    }
    assertThat(written.size()).isBetween(3, 7); // of eight, and the one that is not ours
    assertThat(bytes).isLessThanOrEqualTo(2048);
    ByteBuffer file =
        ByteBuffer.wrap(Files.readAllBytes(written.getFirst())).order(ByteOrder.LITTLE_ENDIAN);
    int header = (int) file.getLong();
    byte[] json = new byte[header];
    file.get(json);
    assertThat(new String(json, StandardCharsets.UTF_8).strip())
        .contains("\"model\":\"double\"", "\"version\":\"1\"", "\"generation\":\"1\"")
        .endsWith(
            "\"inputs/x\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[0,32]},"
                + "\"outputs/y\":{\"dtype\":\"F32\",\"shape\":[4,2],\"data_offsets\":[32,64]}}");
    assertThat(file.remaining()).isEqualTo(64);
    assertThat(file.getFloat()).isEqualTo(1);
    assertThat(file.getFloat(file.position() + 28)).isEqualTo(2);
    assertThat((8 + header) % 64).isZero();
  }

  @Test
  void shouldRefuseToStartWhenNobodyCouldHaveTheCopies() {
    assertThatThrownBy(() -> start("--roundhouse.worker.tee.port=-1"))
        .rootCause()
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("nobody could have the copies");
    assertThatThrownBy(() -> start("--roundhouse.worker.tee.folder=" + folder.resolve("none")))
        .rootCause()
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("no such folder");
    assertThatThrownBy(() -> start("--roundhouse.worker.tee.models="))
        .rootCause()
        .isInstanceOf(StartRefusedException.class)
        .hasMessageContaining("tee.models chooses none");
  }

  @Test
  void shouldAskForATokenWhereControlDoes() throws Exception {
    Path tokens = folder.resolve("tokens");
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest("secret".getBytes(StandardCharsets.UTF_8));
    Files.writeString(tokens, "sha256:" + HexFormat.of().formatHex(hash) + "\n");
    try (RunningWorker worker =
        start(
            "--roundhouse.worker.access.control=token",
            "--roundhouse.worker.access.identities.lea.token-files=" + tokens,
            "--roundhouse.worker.access.identities.lea.may=control",
            "--roundhouse.worker.access.identities.lea.models=double")) {
      assertRefused(worker, LearnerPeer.hello("double", "", 0), UNAUTHORISED, "bearer token");
      assertRefused(worker, LearnerPeer.hello("double", "wrong", 0), UNAUTHORISED, "refused");
      assertRefused(worker, LearnerPeer.hello("tess", "secret", 0), UNAUTHORISED, "tess");
      try (LearnerPeer peer = connect(worker)) {
        assertThat(peer.send(LearnerPeer.hello("double", "secret", 0)).reply().status()).isZero();
      }
    }
  }
}
