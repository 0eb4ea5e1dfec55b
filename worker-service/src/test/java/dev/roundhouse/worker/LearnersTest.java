package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.worker.LearnerPeer.Frame;
import dev.roundhouse.worker.LearnerPeer.Reply;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import dev.roundhouse.worker.tee.learner.LearnerLoad.End;
import dev.roundhouse.worker.tee.learner.LearnerServer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Learners that are slow, hang, or may not read. */
@Timeout(120)
class LearnersTest {
  private static final int NO_SUCH_MODEL = 1;
  private static final int NOT_READY = 2;
  private static final int OTHER_SPEC = 3;
  private static final int UNAUTHORISED = 5;
  private static final int OVERLOADED = 6;
  private static final int BAD_HELLO = 7;

  @TempDir Path repository;
  @TempDir Path folder;

  @Test
  void shouldServeOnAndDropTheNewestWhenTheLearnerIsSlow() throws Exception {
    try (TeedWorker worker = TeedWorker.start(repository);
        LearnerPeer learner = worker.learner()) {
      learner.greet("double");
      for (int row = 0; row < 40; row++) {
        worker.ask(row, row);
      }
      assertThat(worker.counts().taken()).as("three batches of four").isEqualTo(12);
      assertThat(worker.counts().dropped(Drop.FULL)).isEqualTo(28);
      assertThat(worker.figures().stored()).isEqualTo(12);
      assertThat(worker.figures().capacity()).isEqualTo(12);
      assertThat(learner.next().floats(0, 2)).containsExactly(0, 0);
      assertThat(learner.next().floats(0, 2)).containsExactly(4, 4);
      learner.acknowledge(1); // both
      Frame third = learner.next();
      assertThat(third.number()).isEqualTo(2);
      assertThat(third.firstRow()).isEqualTo(8);
      for (int row = 0; row < 4; row++) {
        worker.ask(100 + row, 0);
      }
      learner.acknowledge(2);
      Frame fourth = learner.next();
      assertThat(fourth.firstRow()).isEqualTo(12);
      assertThat(fourth.dropped()).isEqualTo(28);
      assertThat(fourth.floats(0, 2)).containsExactly(100, 0);
      worker.assertIdentity();
    }
  }

  @Test
  void shouldEndALearnerThatNeverAcknowledgesAndGiveItsPlaceToAnother() throws Exception {
    try (TeedWorker worker =
            TeedWorker.start(repository, "--roundhouse.worker.tee.acknowledge-timeout=300ms");
        LearnerPeer learner = worker.learner()) {
      learner.greet("double");
      try (LearnerPeer second = worker.learner()) {
        Reply refused = second.greet("double");
        assertThat(refused.status()).isEqualTo(OVERLOADED);
        assertThat(refused.text()).contains("'double' has a learner already");
        assertThat(second.isOver()).isTrue();
      }
      for (int row = 0; row < 6; row++) {
        worker.ask(row, row);
      }
      assertThat(learner.next().kind()).isZero();
      Frame end = learner.next();
      assertThat(end.kind()).isEqualTo(2);
      assertThat(end.text()).contains("batch 0").contains("acknowledge-timeout");
      assertThat(learner.isOver()).isTrue();
      learner.close();
      assertThat(worker.running().bean(LearnerServer.class).load().endedEver(End.UNACKNOWLEDGED))
          .isEqualTo(1);
      assertThat(worker.counts().discarded(Discard.UNREAD)).isEqualTo(6);
      worker.assertIdentity();
      TeedWorker.await(() -> worker.running().bean(Tee.class).heldBytes() == 0);
      TeedWorker.await(() -> worker.running().bean(LearnerServer.class).load().learners() == 0);
      try (LearnerPeer next = worker.learner()) {
        assertThat(next.greet("double").status()).isZero();
      }
    }
  }

  @Test
  void shouldRefuseByNameWhoIsNoLearner() throws Exception {
    TestBundle.doubling(2, 1).serving("").write(repository, "other");
    try (TeedWorker worker =
        TeedWorker.start(repository, "--roundhouse.worker.tee.handshake-timeout=500ms")) {
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
        try (LearnerPeer peer = worker.learner()) {
          assertThat(peer.send(Arrays.copyOf(hello, length)).halfClose().isOver()).isTrue();
        }
      }
      try (LearnerPeer peer = worker.learner()) {
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

  @Test
  void shouldAskForATokenWhereControlDoes() throws Exception {
    Path tokens = folder.resolve("tokens");
    byte[] hash =
        MessageDigest.getInstance("SHA-256").digest("secret".getBytes(StandardCharsets.UTF_8));
    Files.writeString(tokens, "sha256:" + HexFormat.of().formatHex(hash) + "\n");
    try (TeedWorker worker =
        TeedWorker.start(
            repository,
            "--roundhouse.worker.access.control=token",
            "--roundhouse.worker.access.identities.lea.token-files=" + tokens,
            "--roundhouse.worker.access.identities.lea.may=control",
            "--roundhouse.worker.access.identities.lea.models=double")) {
      assertRefused(worker, LearnerPeer.hello("double", "", 0), UNAUTHORISED, "bearer token");
      assertRefused(worker, LearnerPeer.hello("double", "wrong", 0), UNAUTHORISED, "refused");
      assertRefused(worker, LearnerPeer.hello("tess", "secret", 0), UNAUTHORISED, "tess");
      try (LearnerPeer peer = worker.learner()) {
        assertThat(peer.send(LearnerPeer.hello("double", "secret", 0)).reply().status()).isZero();
      }
    }
  }

  private static void assertRefused(TeedWorker worker, byte[] hello, int status, String text)
      throws Exception {
    try (LearnerPeer peer = worker.learner()) {
      Reply reply = peer.send(hello).reply();
      assertThat(reply.status()).as(reply.text()).isEqualTo(status);
      assertThat(reply.text()).contains(text);
      assertThat(peer.isOver()).isTrue();
    }
  }

  @Test
  void shouldTellFurtherLearnersToComeAgainWhenThereAreEnough() throws Exception {
    List<LearnerPeer> open = new ArrayList<>();
    try (TeedWorker worker = TeedWorker.start(repository)) {
      try {
        for (int i = 0; i < 256; i++) {
          open.add(worker.learner());
        }
        LearnerServer server = worker.running().bean(LearnerServer.class);
        TeedWorker.await(() -> server.load().connections() == 256);
        try (LearnerPeer further = worker.learner()) {
          Reply reply = further.reply();
          assertThat(reply.status()).as(reply.text()).isEqualTo(OVERLOADED);
          assertThat(reply.window()).as("milliseconds").isEqualTo(1000);
          assertThat(reply.text()).contains("256 learners are connected");
          assertThat(further.isOver()).isTrue();
        }
        open.removeLast().close();
        TeedWorker.await(() -> server.load().connections() == 255);
        try (LearnerPeer next = worker.learner()) {
          assertThat(next.greet("double").status()).isZero();
        }
      } finally {
        for (LearnerPeer each : open) {
          each.close();
        }
      }
    }
  }

  @Test
  void shouldTellLearnersThatTheWorkerStopsInTheWordsOfTheirStage() throws Exception {
    try (LearnerPeer reading = stoppedWith("double");
        LearnerPeer silent = stoppedWith("")) {
      Frame batch = reading.next();
      assertThat(batch.kind()).as("what was taken before").isZero();
      Frame end = reading.next();
      assertThat(end.kind()).isEqualTo(2);
      assertThat(end.text()).isEqualTo("the worker stops");
      assertThat(reading.isOver()).isTrue();
      Reply reply = silent.reply();
      assertThat(reply.status()).as(reply.text()).isEqualTo(NOT_READY);
      assertThat(reply.text()).isEqualTo("the worker stops");
      assertThat(silent.isOver()).isTrue();
    }
  }

  /**
   * @param model that it reads; empty for one that says nothing
   */
  private LearnerPeer stoppedWith(String model) throws Exception {
    try (TeedWorker worker = TeedWorker.start(repository, "--roundhouse.worker.tee.batch-size=1")) {
      LearnerPeer learner = worker.learner();
      if (model.isEmpty()) {
        LearnerServer server = worker.running().bean(LearnerServer.class);
        TeedWorker.await(() -> server.load().connections() == 1);
      } else {
        learner.greet(model);
        worker.ask(1, 2);
        TeedWorker.await(() -> worker.counts().batches() == 1);
      }
      return learner;
    }
  }

  @Test
  void shouldCountALearnerThatLeavesInTheMiddleOfItsHello() throws Exception {
    try (TeedWorker worker = TeedWorker.start(repository)) {
      LearnerServer server = worker.running().bean(LearnerServer.class);
      try (LearnerPeer peer = worker.learner()) {
        assertThat(peer.halfClose().isOver()).isTrue();
        assertThat(server.load().endedEver(End.HANDSHAKE)).isZero();
      }
      try (LearnerPeer peer = worker.learner()) {
        assertThat(peer.send(new byte[] {'T'}).halfClose().isOver()).isTrue();
        assertThat(server.load().endedEver(End.HANDSHAKE)).isEqualTo(1);
      }
    }
  }
}
