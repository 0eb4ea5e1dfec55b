package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.ReplySink;
import dev.roundhouse.engine.testing.ReplySink.Reply;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.thread.PlatformThreads;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Hooks that do what they must not, on an engine with its own threads; the others serve. */
@Timeout(120)
class HookFaultsTest {
  /** Set by a test for hooks that go on until it is. */
  private static final String STOP = "hooks.test.stop";

  /** Set by hooks, for a test to see. */
  private static final String SEEN = "hooks.test.seen";

  private static final String UNTIL_STOPPED =
      "while (!Boolean.getBoolean(\"" + STOP + "\")) Thread.onSpinWait();";
  private static final int THREADS = 16;
  private static final Duration LIMIT = Duration.ofMillis(300);

  @TempDir Path repository;

  private final PlatformThreads threads = new PlatformThreads("hook", 2 * THREADS);
  private final LiveEngine engine =
      new LiveEngine(
          EngineOptions.builder()
              .userCode(threads)
              .hooks(new HookOptions(HookOptions.Mode.ALLOW, Set.of(), LIMIT, THREADS, "hooks"))
              .build());

  @BeforeEach
  void load() {
    System.clearProperty(STOP);
    System.clearProperty(SEEN);
    engine.load(TestBundle.doubling(2, 1, 4).write(repository, "plain"));
    engine.load(HookBundle.preprocessing("").write(repository, "other"));
  }

  @AfterEach
  void shouldLeaveNothing() {
    System.setProperty(STOP, "true");
    engine.assertWell();
    engine.close();
  }

  @Test
  void shouldEndARequestWhoseHookDoesNotEnd() {
    engine.load(HookBundle.bad(UNTIL_STOPPED).write(repository, "m"));
    assertFailed(
        submit("m", "bad"),
        Status.DEADLINE_EXCEEDED,
        "preprocess of model 'm' took longer than 300 ms, the limit of hooks.time-limit");
    assertOthersServe();
    assertCompleted(submit("m", "good"));
    System.setProperty(STOP, "true");
    assertCompleted(submit("m", "good"));
  }

  @Test
  void shouldInterruptAHookThatTakesTooLong() {
    engine.load(
        HookBundle.bad(
                "try { Thread.sleep(100_000); } catch (InterruptedException e) { System.setProperty(\""
                    + SEEN
                    + "\", \"yes\"); throw e; }")
            .write(repository, "m"));
    for (int i = 0; i < 2 * Conduct.MOST_OFFENCES; i++) {
      assertFailed(submit("m", "bad"), Status.DEADLINE_EXCEEDED, "took longer than 300 ms");
    }
    assertThat(System.getProperty(SEEN)).isEqualTo("yes");
    assertThat(state("m")).as("it ends when it is told to").isEqualTo(ModelState.READY);
  }

  @Test
  void shouldStopAHookThatAllocatesMoreThanItMay() {
    engine.load(HookBundle.bad("long[] all = new long[Integer.MAX_VALUE];").write(repository, "m"));
    for (int i = 0; i < Conduct.MOST_OFFENCES; i++) {
      assertThat(state("m")).isEqualTo(ModelState.READY);
      assertFailed(
          submit("m", "bad"),
          Status.INTERNAL,
          "preprocess of model 'm' allocates 17179869192 bytes and has allocated 0 in this call");
    }
    assertThat(state("m")).isNotEqualTo(ModelState.READY);
    assertOthersServe();
  }

  @Test
  void shouldNotLetAHookGoBeyondTheDeadline() {
    engine.load(HookBundle.bad("Thread.sleep(100_000);").write(repository, "m"));
    ReplySink sink = new ReplySink();
    engine
        .engine()
        .submit(
            InferenceRequest.of("m", List.of(row()), sink)
                .id("bad")
                .deadlineNanos(engine.engine().nanoTime() + 30_000_000)
                .build());
    assertFailed(
        sink.reply(),
        Status.DEADLINE_EXCEEDED,
        "preprocess of model 'm' had not ended when the deadline passed");
  }

  @Test
  void shouldInterruptAHookWhoseCallerHasGone() {
    engine.load(
        HookBundle.bad("System.setProperty(\"" + SEEN + "\", \"in\"); Thread.sleep(100_000);")
            .write(repository, "m"));
    ReplySink sink = new ReplySink();
    Submission request =
        engine.engine().submit(InferenceRequest.of("m", List.of(row()), sink).id("bad").build());
    LiveEngine.await("it runs", () -> System.getProperty(SEEN) != null);
    long before = System.nanoTime();
    assertThat(request.cancel()).isTrue();
    assertThat(LiveEngine.outcome(sink.reply())).isInstanceOf(Outcome.Cancelled.class);
    assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(20));
  }

  @Test
  void shouldTakeMemoryBackFromAHookThatDoesNotEnd() {
    engine.load(
        HookBundle.bad(
                """
                var x = request.input("x").f32();
                try {
                  for (float sum = 0; ; ) sum += x.get(0);
                } catch (IllegalStateException e) {
                  System.setProperty("%s", "revoked");
                  throw e;
                }
                """
                    .formatted(SEEN))
            .write(repository, "m"));
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(8);
      ReplySink sink = new ReplySink();
      InputTensor input = new InputTensor("x", DType.F32, Shape.of(1, 2), TensorData.of(memory));
      engine.engine().submit(InferenceRequest.of("m", List.of(input), sink).id("bad").build());
      assertFailed(sink.reply(), Status.DEADLINE_EXCEEDED, "took longer than");
    }
    LiveEngine.await("its loop ends", () -> "revoked".equals(System.getProperty(SEEN)));
  }

  @Test
  void shouldQuarantineAModelWhoseHooksDoNotStop() {
    engine.load(HookBundle.bad(UNTIL_STOPPED).write(repository, "m"));
    for (int i = 0; i < Conduct.MOST_OFFENCES; i++) {
      assertFailed(submit("m", "bad"), Status.DEADLINE_EXCEEDED, "took longer than 300 ms");
    }
    LiveEngine.await("it is in quarantine", () -> state("m") == ModelState.FAILED);
    assertThat(engine.engine().model("m").orElseThrow().reason())
        .contains("in quarantine: its hooks did what harms others 3 times", "did not stop");
    assertThat(LiveEngine.outcome(submit("m", "good"))).isInstanceOf(Outcome.Refused.class);
    assertOthersServe();
    System.setProperty(STOP, "true");
    engine.load(HookBundle.bad("").write(repository, "m"));
    assertCompleted(submit("m", "bad"));
  }

  @Test
  void shouldEndEveryRequestOfAModelWhoseThreadsAreAllStuck() {
    engine.load(HookBundle.bad(UNTIL_STOPPED).write(repository, "m"));
    List<CompletableFuture<Reply>> replies = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      replies.add(submit("m", "bad"));
    }
    for (CompletableFuture<Reply> reply : replies) {
      assertThat(LiveEngine.outcome(reply)).isInstanceOf(Outcome.Failed.class);
    }
    LiveEngine.await("it is in quarantine", () -> state("m") == ModelState.FAILED);
    assertOthersServe();
    LiveEngine.get(engine.engine().admin().unload("m"));
  }

  @Test
  void shouldLeaveThreadsToOthersWhenOneModelsHooksAllWait() {
    engine.load(HookBundle.bad("synchronized (this) { wait(); }").write(repository, "m"));
    List<CompletableFuture<Reply>> replies = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      replies.add(submit("m", "bad"));
    }
    for (int i = 0; i < 50; i++) {
      assertOthersServe();
    }
    replies.forEach(reply -> assertFailed(reply, Status.DEADLINE_EXCEEDED, "took longer than"));
    assertCompleted(submit("m", "good"));
  }

  @Test
  void shouldNotLoadHooksThatHangWhenTheyAreOpened() {
    ModelStatus status =
        LiveEngine.get(
            engine
                .engine()
                .admin()
                .load(
                    HookBundle.of("public void open(ModelContext c) { " + UNTIL_STOPPED + " }")
                        .write(repository, "m")));
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason())
        .contains("open took longer than 300 ms, the limit of hooks.time-limit");
    assertOthersServe();
  }

  @Test
  void shouldFreeAModelWhoseHooksDoNotClose() {
    engine.load(
        HookBundle.of("public void close() { " + UNTIL_STOPPED + " }").write(repository, "m"));
    assertCompleted(submit("m", "good"));
    LiveEngine.get(engine.engine().admin().unload("m"));
    assertThat(state("m")).isEqualTo(ModelState.UNLOADED);
    assertOthersServe();
  }

  @Test
  void shouldEndThreadsThatABundleLeaves() {
    engine.load(
        HookBundle.of(
                """
                public void open(ModelContext c) {
                  Thread.ofPlatform().daemon().name("left-by-a-bundle").start(() -> {
                    try { Thread.sleep(1_000_000); } catch (InterruptedException e) { }
                  });
                }
                """)
            .write(repository, "m"));
    assertThat(left()).isEqualTo(1);
    LiveEngine.get(engine.engine().admin().unload("m"));
    LiveEngine.await("it has ended", () -> left() == 0);
  }

  private static long left() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("left-by-a-bundle"))
        .count();
  }

  @Test
  void shouldAnswerEveryRequestOfManyCallers() {
    engine.load(
        HookBundle.of(
                """
                @Override public Tensors preprocess(HookRequest request) {
                  Tensor x = request.tensor("x", DType.F32, 1, 2);
                  x.f32().put(0, request.input("x").f32().get(0) + 1);
                  return Tensors.of(x);
                }
                @Override public Tensors postprocess(HookRequest request, Tensors outputs) {
                  Tensor y = request.tensor("y", DType.F32, 1, 2);
                  y.f32().put(0, outputs.get("y").f32().get(0) * 10 + request.input("x").f32().get(1));
                  return Tensors.of(y);
                }
                """)
            .write(repository, "m"));
    List<CompletableFuture<Reply>> replies = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      replies.add(engine.submit("m", Floats.input("x", new long[] {1, 2}, i, i)));
    }
    for (int i = 0; i < replies.size(); i++) {
      Reply reply = LiveEngine.get(replies.get(i));
      assertThat(reply.outcome()).isInstanceOf(Outcome.Completed.class);
      assertThat(Floats.of(reply.outputs().getFirst())[0]).isEqualTo((i + 1) * 20f + i);
    }
    assertThat(threads.count()).isLessThanOrEqualTo(2 * THREADS);
  }

  private void assertOthersServe() {
    assertCompleted(submit("plain", "good"));
    assertCompleted(submit("other", "good"));
  }

  private CompletableFuture<Reply> submit(String model, String id) {
    ReplySink sink = new ReplySink();
    engine.engine().submit(InferenceRequest.of(model, List.of(row()), sink).id(id).build());
    return sink.reply();
  }

  private static InputTensor row() {
    return Floats.input("x", new long[] {1, 2}, 1, 2);
  }

  private ModelState state(String model) {
    return engine.engine().model(model).orElseThrow().state();
  }

  private static void assertCompleted(CompletableFuture<Reply> reply) {
    LiveEngine.assertCompleted(reply);
  }

  private static void assertFailed(CompletableFuture<Reply> reply, Status status, String text) {
    assertThat(LiveEngine.outcome(reply))
        .isInstanceOfSatisfying(
            Outcome.Failed.class,
            failed -> {
              assertThat(failed.message()).contains(text);
              assertThat(failed.status()).isEqualTo(status);
            });
  }
}
