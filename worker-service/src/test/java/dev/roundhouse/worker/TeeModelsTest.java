package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelUnloadRequest;
import dev.roundhouse.worker.LearnerPeer.Frame;
import dev.roundhouse.worker.LearnerPeer.Reply;
import dev.roundhouse.worker.tee.Tee;
import dev.roundhouse.worker.tee.TeeCounts.Discard;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Models that are replaced, unloaded, or cannot be copied, while learners read. */
@Timeout(120)
class TeeModelsTest {
  private static final int NOT_READY = 2;
  private static final int NOT_FIXED = 4;

  @TempDir Path repository;
  @TempDir Path folder;

  @Test
  void shouldSayWhenAModelCannotBeCopied() throws Exception {
    TestBundle.doubling(1 << 18, 1).write(repository, "wide");
    try (TeedWorker worker =
        TeedWorker.start(
            repository,
            "--roundhouse.worker.tee.max-memory=1MB",
            "--roundhouse.worker.repository.load=double,wide")) {
      try (LearnerPeer peer = worker.learner()) {
        Reply reply = peer.greet("wide");
        assertThat(reply.status()).as(reply.text()).isEqualTo(NOT_READY);
        assertThat(reply.text()).contains("tee.max-memory is 1048576");
      }
    }
    try (TeedWorker worker =
        TeedWorker.start(
            repository,
            "--roundhouse.worker.tee.batch-size=1048576",
            "--roundhouse.worker.repository.load=double,wide")) {
      try (LearnerPeer peer = worker.learner()) {
        Reply reply = peer.greet("wide");
        assertThat(reply.status()).as(reply.text()).isEqualTo(NOT_FIXED);
        assertThat(reply.text()).contains("model 'wide'").contains("tee.batch-size");
      }
    }
    try (TeedWorker worker =
        TeedWorker.start(
            repository,
            "--roundhouse.worker.tee.batch-size=1048576",
            "--roundhouse.worker.tee.models=wide",
            "--roundhouse.worker.tee.folder=" + folder,
            "--roundhouse.worker.repository.load=double,wide")) {
      ModelInferRequest request = WorkerTest.request("wide", 1, new float[1 << 18]);
      TeedWorker.await(
          () -> {
            worker.running().stub().modelInfer(request);
            return worker
                    .running()
                    .bean(Tee.class)
                    .figures()
                    .getFirst()
                    .counts()
                    .dropped(Drop.NOT_FIXED)
                > 1;
          });
      assertThat(worker.running().bean(Tee.class).heldBytes()).isZero();
    }
  }

  @Test
  void shouldFollowAModelThatIsReplaced() throws Exception {
    try (TeedWorker worker = TeedWorker.start(repository);
        LearnerPeer learner = worker.learner()) {
      assertThat(learner.greet("double").generation()).isEqualTo(1);
      for (int row = 0; row < 6; row++) {
        worker.ask(row, row);
      }
      learner.acknowledge(learner.next().number());
      load(worker, TestBundle.doubling(2, 1, 4));
      TeedWorker.await(() -> worker.counts().discarded(Discard.REPLACED) == 2);
      TeedWorker.await(
          () -> {
            worker.ask(9, 9);
            return worker.counts().batches() == 2;
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
      TeedWorker.await(
          () -> {
            worker.running().stub().modelInfer(WorkerTest.request("double", 1, 1, 2, 3));
            return worker.counts().batches() == 3;
          });
      Frame end = learner.next();
      assertThat(end.kind()).isEqualTo(2);
      assertThat(end.text()).contains("replaced by one with other tensors").contains("[4,3]");
      assertThat(learner.isOver()).isTrue();
      worker.assertIdentity();
    }
  }

  @Test
  void shouldLoseWhatIsInNoBatchWhenTheModelIsUnloaded() throws Exception {
    try (TeedWorker worker = TeedWorker.start(repository);
        LearnerPeer learner = worker.learner()) {
      learner.greet("double");
      worker.ask(1, 1);
      worker
          .running()
          .stub()
          .repositoryModelUnload(
              RepositoryModelUnloadRequest.newBuilder().setModelName("double").build());
      TeedWorker.await(() -> worker.counts().discarded(Discard.REPLACED) == 1);
      TeedWorker.await(() -> worker.running().bean(Tee.class).heldBytes() == 0);
      worker.assertIdentity();
    }
  }

  private void load(TeedWorker worker, TestBundle by) {
    by.write(repository, "double");
    worker
        .running()
        .stub()
        .repositoryModelLoad(
            RepositoryModelLoadRequest.newBuilder().setModelName("double").build());
  }
}
