package dev.roundhouse.worker.lifecycle;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.ForwardingDevice;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.model.ModelLoadListener;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import dev.roundhouse.worker.config.WorkerProperties;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;

@Timeout(60)
@ExtendWith(OutputCaptureExtension.class)
class RepositoryWatchTest {
  @TempDir Path root;
  private Path repository;

  private final SimulatedDevice device =
      new SimulatedDevice(SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM);
  private final AtomicReference<Runnable> beforeCompile = new AtomicReference<>(() -> {});
  private final AtomicReference<Runnable> beforeRead = new AtomicReference<>(() -> {});
  private final Engine engine =
      Engine.open(
          EngineOptions.builder().loads(beforeRead()).build(),
          new ForwardingDevice(device) {
            @Override
            public DeviceProgram compile(ProgramSource source) {
              beforeCompile.get().run();
              return super.compile(source);
            }
          });
  private ModelRepository models;
  private RepositoryWatch watch;

  private ModelLoadListener beforeRead() {
    return new ModelLoadListener() {
      @Override
      public void onBegin(String model, String version, String fingerprint) {
        beforeRead.get().run();
      }

      @Override
      public void onEnd(String model, String version, boolean ready) {}
    };
  }

  @BeforeEach
  void begin() throws IOException {
    repository = Files.createDirectory(root.resolve("models"));
    models = new ModelRepository(engine, properties(repository), changed -> {});
    watch =
        new RepositoryWatch(models, () -> RepositoryScan.of(List.of(root.resolve("models"))), 3);
    watch.begin(RepositoryScan.of(List.of(repository)));
  }

  @AfterEach
  void shouldLeaveNothingOnTheDevice() {
    watch.close();
    engine.close();
    assertThat(device.openHandles()).isZero();
  }

  @Test
  void shouldLookAgainAfterALookForWhichNoThreadCouldBeHad() throws Exception {
    AtomicInteger looks = new AtomicInteger();
    CountDownLatch again = new CountDownLatch(2);
    try (RepositoryWatch watching =
        new RepositoryWatch(
            models,
            () -> {
              again.countDown();
              if (looks.incrementAndGet() == 1) {
                throw new OutOfMemoryError("unable to create native thread");
              }
              return RepositoryScan.of(List.of(repository));
            },
            3)) {
      watching.start(Duration.ofMillis(1));
      assertThat(again.await(30, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void shouldFollowChangesSoonWhereTheFileSystemTells() throws Exception {
    watch.start(Duration.ofHours(1));
    Path folder = write("m");
    awaitState("m", ModelState.READY);
    byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    await("the newer files do not load", () -> engine.reports().stale().containsKey("m"));
    Files.write(folder.resolve("model.b1.mlir"), sound);
    await("they do again", () -> engine.reports().stale().isEmpty());
    Path versions = repository.resolve("versions");
    Files.createDirectories(versions.resolve("2"));
    TimeUnit.SECONDS.sleep(2); // a folder that holds nothing is looked at, and listened to
    TestBundle.doubling(2, 1).write(versions, "2");
    awaitState("versions", ModelState.READY);
    Files.move(folder, root.resolve("elsewhere"));
    awaitState("m", ModelState.UNLOADED);
  }

  @Test
  void shouldCountNoTriesOfAFailingModelByLooksThatWereNotDue() throws Exception {
    watch.start(Duration.ofHours(1));
    Path folder = write("m");
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    awaitState("m", ModelState.FAILED);
    for (int change = 0; change < 3; change++) {
      write("other" + change);
      awaitState("other" + change, ModelState.READY);
    }
    assertThat(models.index()).allSatisfy(entry -> assertThat(entry.note()).isEmpty());
    for (int poll = 0; poll < 40; poll++) {
      poll();
    }
    assertThat(models.index().getFirst().note()).contains("tried 3 times");
  }

  @Test
  void shouldNotTakeAFolderThatIsBetweenTwoRenamesForABadBundle(CapturedOutput output)
      throws Exception {
    Path folder = write("m");
    poll();
    poll();
    Path away = root.resolve("away");
    Files.move(folder, away);
    assertThat(models.refresh(folder).join().isReady()).isFalse();
    assertThat(output)
        .contains(
            "model 'm' is not replaced: its files changed while they were read: "
                + folder
                + ": is not there; what served")
        .doesNotContain("ERROR");
    assertThat(engine.model("m").orElseThrow().isReady()).isTrue();
    Files.move(away, folder);
    models.refresh(folder).join();
    assertThat(engine.reports().stale()).isEmpty();
  }

  @Test
  void shouldNotTakeAFolderForABadBundleThatIsTakenAwayBeforeItWasEverRead(CapturedOutput output)
      throws Exception {
    Path folder = write("m");
    Files.move(folder, root.resolve("away"));
    assertThat(models.refresh(folder).join().isReady()).isFalse();
    assertThat(output)
        .contains("model 'm' is not loaded: its files changed while they were read: " + folder)
        .doesNotContain("ERROR");
  }

  @Test
  void shouldNotTakeAFolderForABadBundleThatIsReplacedWhileItIsRead(CapturedOutput output)
      throws Exception {
    Path folder = load("m");
    byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
    TestBundle.doubling(2, 1, 4).write(repository, "m");
    beforeRead.set(
        () -> {
          beforeRead.set(() -> {});
          write(folder.resolve("model.b1.mlir"), "of another bundle".getBytes(UTF_8));
        });
    assertThat(models.refresh(folder).join().isReady()).isFalse();
    assertThat(output)
        .contains("model 'm' is not replaced: its files changed while they were read: ")
        .contains("model.b1.mlir: has sha256")
        .doesNotContain("ERROR");
    assertThat(engine.model("m").orElseThrow().isReady()).isTrue();
    write(folder.resolve("model.b1.mlir"), sound);
    models.refresh(folder).join();
    assertThat(engine.reports().stale()).isEmpty();
  }

  @Test
  void shouldLoadWhatIsAddedOnceTwoPollsAgree() throws Exception {
    Path folder = write("m");
    poll();
    assertThat(engine.model("m")).isEmpty();
    // Still being copied: another file.
    Files.writeString(folder.resolve("labels.txt"), "a");
    poll();
    assertThat(engine.model("m")).isEmpty();
    Files.delete(folder.resolve("labels.txt"));
    poll();
    poll();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    long runs = device.executions();
    poll();
    poll();
    assertThat(device.executions()).as("warm-up runs of another load").isEqualTo(runs);
  }

  @Test
  void shouldReplaceWhatIsChangedAndKeepItWhenTheNewFails() throws Exception {
    Path folder = load("m");
    byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertThat(engine.reports().index().getFirst().reason())
        .contains("still serves", "model.b1.mlir");
    assertThat(engine.reports().stale()).containsOnlyKeys("m");
    Files.write(folder.resolve("model.b1.mlir"), sound);
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertThat(engine.reports().index().getFirst().reason()).isEmpty();
    assertThat(engine.reports().stale()).isEmpty();
  }

  @Test
  void shouldUnloadWhatTwoPollsMiss() throws Exception {
    Path folder = load("m");
    Path elsewhere = Files.move(folder, root.resolve("elsewhere"));
    poll();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    Files.move(elsewhere, folder);
    poll();
    Files.move(folder, elsewhere);
    poll();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    poll();
    assertThat(state("m")).isEqualTo(ModelState.UNLOADED);
    assertThat(device.openHandles()).isZero();
    Files.move(elsewhere, folder);
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldFollowARename() throws Exception {
    Path folder = load("old");
    Files.move(folder, repository.resolve("new"));
    pollTwice();
    assertThat(state("new")).isEqualTo(ModelState.READY);
    assertThat(state("old")).isEqualTo(ModelState.UNLOADED);
  }

  @Test
  void shouldReplaceAModelWhoseFolderIsALinkThatIsSwapped() throws Exception {
    TestBundle.doubling(2, 1).write(root, "first");
    TestBundle.doubling(2, 1, 4).write(root, "second");
    Path link = Files.createSymbolicLink(repository.resolve("m"), root.resolve("first"));
    pollTwice();
    assertThat(engine.model("m").orElseThrow().maxBatchSize()).isEqualTo(1);
    Files.createSymbolicLink(repository.resolve(".m"), root.resolve("second"));
    Files.delete(link);
    Files.move(repository.resolve(".m"), link);
    pollTwice();
    assertThat(engine.model("m").orElseThrow().maxBatchSize()).isEqualTo(4);
  }

  @Test
  void shouldKeepWhatServesWhileTheRepositoryIsAwayAndSaySoOnce(CapturedOutput output)
      throws Exception {
    load("m");
    Path away = Files.move(repository, root.resolve("away"));
    for (int poll = 0; poll < 5; poll++) {
      poll();
    }
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertThat(output.getAll().split("is not a directory any more", -1)).hasSize(2);
    Files.move(away, repository);
    long runs = device.executions();
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertThat(device.executions()).isEqualTo(runs);
  }

  @Test
  void shouldNameAnEntryThatCannotBeReadAndServeTheOthers() throws Exception {
    Path closed = Files.createDirectory(repository.resolve("lost+found"));
    Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));
    assumeThat(Files.isReadable(closed)).as("root reads everything").isFalse();
    write("m");
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertThat(state("lost+found")).isEqualTo(ModelState.FAILED);
    assertThat(engine.model("lost+found").orElseThrow().reason())
        .endsWith("lost+found: cannot be listed: permission denied");
  }

  @Test
  void shouldShowWhyAConverterRefusedAModelUntilABundleIsThere() throws Exception {
    Path folder = Files.createDirectory(repository.resolve("m"));
    Files.writeString(folder.resolve("refused.txt"), "config.pbtxt: backend 'dali' is not served");
    assertThat(RepositoryScan.names(List.of(repository))).containsExactly("m");
    pollTwice();
    ModelStatus status = models.index().getFirst().version().orElseThrow();
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).endsWith("refused.txt: config.pbtxt: backend 'dali' is not served");
    Files.delete(folder.resolve("refused.txt"));
    write("m");
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
  }

  @Test
  void shouldTryAFailingModelAFewTimesThenLeaveItAloneUntilItsFilesChange() throws Exception {
    Path folder = write("m");
    byte[] sound = Files.readAllBytes(folder.resolve("model.b1.mlir"));
    Files.writeString(folder.resolve("model.b1.mlir"), "not a program");
    for (int poll = 0; poll < 40; poll++) {
      poll();
    }
    ModelRepository.Entry entry = models.index().getFirst();
    assertThat(entry.version().orElseThrow().state()).isEqualTo(ModelState.FAILED);
    assertThat(entry.note()).contains("tried 3 times", "until its files change");
    Files.write(folder.resolve("model.b1.mlir"), sound);
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
    assertThat(models.index().getFirst().note()).isEmpty();
  }

  @Test
  void shouldTryAModelUntilThereAreThreadsAndSayItOnce(CapturedOutput output) throws Exception {
    AtomicInteger tries = new AtomicInteger();
    beforeCompile.set(
        () -> {
          if (tries.incrementAndGet() <= 6) {
            throw new DeviceException(Code.NO_THREAD, "no process for the test");
          }
        });
    write("m");
    int polls = 0;
    while (engine.model("m").map(ModelStatus::state).orElse(null) != ModelState.READY) {
      assertThat(polls++).as("polls, with 2 + 4 + 8 + 8 + ... between tries").isLessThan(120);
      poll();
      if (tries.get() == 5) {
        assertThat(models.index().getFirst().note()).contains("tried again until there are");
      }
    }
    assertThat(tries).as("more than the 3 that failing files get").hasValue(7);
    assertThat(models.index().getFirst().note()).isEmpty();
    assertThat(output.getAll().split("for want of a thread or a process", -1)).hasSize(2);
  }

  @Test
  void shouldLoadAVersionThatIsAddedAndLeaveTheOthersAlone() throws Exception {
    TestBundle.doubling(2, 1).write(repository.resolve("m"), "1");
    pollTwice();
    assertThat(engine.model("m").orElseThrow().version()).isEqualTo("1");
    TestBundle.doubling(2, 1).write(repository.resolve("m"), "2");
    pollTwice();
    assertThat(engine.model("m").orElseThrow().version()).isEqualTo("2");
    awaitOneVersion("m");
    Path third = TestBundle.doubling(2, 1).write(repository.resolve("m"), "3");
    Files.writeString(third.resolve("model.b1.mlir"), "not a program");
    pollTwice();
    assertThat(engine.model("m").orElseThrow().version()).isEqualTo("2");
    assertThat(engine.reports().stale()).containsOnlyKeys("m");
    assertThat(engine.reports().stale().get("m")).contains("model.b1.mlir");
  }

  @Test
  void shouldSayOfAFolderThatNobodyServesWhatToDo() throws Exception {
    Path folder = write("m");
    Files.move(folder.resolve("manifest.yaml"), folder.resolve("manifest.yml"));
    pollTwice();
    ModelStatus status = models.index().getFirst().version().orElseThrow();
    assertThat(status.state()).isEqualTo(ModelState.FAILED);
    assertThat(status.reason()).endsWith("rename manifest.yml to manifest.yaml");
    Files.move(folder.resolve("manifest.yml"), folder.resolve("manifest.yaml"));
    pollTwice();
    assertThat(state("m")).isEqualTo(ModelState.READY);
  }

  private static WorkerProperties properties(Path repository) {
    WorkerProperties[] bound = new WorkerProperties[1];
    new ApplicationContextRunner()
        .withUserConfiguration(Bound.class)
        .withPropertyValues("roundhouse.worker.repository.directories=" + repository)
        .run(context -> bound[0] = context.getBean(WorkerProperties.class));
    return bound[0];
  }

  private Path write(String name) {
    return TestBundle.doubling(2, 1).write(repository, name);
  }

  private static void write(Path file, byte[] bytes) {
    try {
      Files.write(file, bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path load(String name) throws Exception {
    Path folder = write(name);
    pollTwice();
    assertThat(state(name)).isEqualTo(ModelState.READY);
    return folder;
  }

  private void pollTwice() throws Exception {
    poll();
    poll();
  }

  private void poll() throws Exception {
    watch.poll().get(30, TimeUnit.SECONDS);
  }

  private void awaitState(String name, ModelState state) throws InterruptedException {
    await(
        name + " is " + state,
        () -> engine.model(name).filter(each -> each.state() == state).isPresent());
  }

  private static void await(String what, BooleanSupplier holds) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!holds.getAsBoolean()) {
      assertThat(System.nanoTime()).as(what).isLessThan(deadline);
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  private ModelState state(String name) {
    return engine.model(name).orElseThrow().state();
  }

  private void awaitOneVersion(String name) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (engine.reports().versions(name).size() > 1) {
      List<ModelStatus> versions = engine.reports().versions(name);
      assertThat(System.nanoTime()).as("%s", versions).isLessThan(deadline);
      TimeUnit.MILLISECONDS.sleep(1);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableConfigurationProperties(WorkerProperties.class)
  static class Bound {}
}
