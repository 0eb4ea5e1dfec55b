package dev.roundhouse.worker.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.ReferenceFunction;
import dev.roundhouse.engine.device.SimulatedDevice;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.dispatch.Watchdog;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.time.NanoClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A process that has died is what another left in its folder, copied: nobody holds its lock. */
@Timeout(60)
class ModelJournalTest {
  @TempDir Path folder;
  @TempDir Path elsewhere;
  @TempDir Path repository;

  private int deaths;

  private static ModelJournal open(Path where) {
    return ModelJournal.open(Optional.of(where));
  }

  private static List<Path> files(Path where) throws IOException {
    try (Stream<Path> files = Files.list(where)) {
      return files.filter(file -> file.toString().matches(".*\\.(run|log)")).toList();
    }
  }

  /** Leaves what a process has noted that dies at the end of this. */
  private void dies(Life life) throws IOException {
    try (ModelJournal living = open(elsewhere)) {
      life.live(living);
      deaths++;
      for (Path file : files(elsewhere)) {
        String name = file.getFileName().toString();
        Files.copy(file, folder.resolve("dead" + deaths + name.substring(name.lastIndexOf('.'))));
      }
    }
    assertThat(files(elsewhere)).as("it ended in order there").isEmpty();
  }

  private interface Life {
    void live(ModelJournal journal);
  }

  private static void load(ModelJournal journal, String model, int slot) {
    journal.onBegin(model, "1", "print");
    journal.onBuilt(model, "1", slot);
    journal.onEnd(model, "1", true);
  }

  private void assertLoads(String model) {
    try (ModelJournal next = open(folder)) {
      assertThatCode(() -> next.onBegin(model, "1", "print")).doesNotThrowAnyException();
      next.onEnd(model, "1", false);
    }
  }

  private void assertQuarantined(String model, String how) {
    try (ModelJournal next = open(folder)) {
      assertThatThrownBy(() -> next.onBegin(model, "1", "print"))
          .isInstanceOf(BundleException.class)
          .hasMessageStartingWith(
              "model '%s': version '1' is in quarantine, as 2 workers ended over it, the last on 20"
                  .formatted(model))
          .hasMessageContaining(how)
          .hasMessageEndingWith(
              "replace its files, or remove its line from "
                  + folder.resolve("strikes")
                  + ", and load it again");
    }
  }

  @Test
  void shouldQuarantineWhatWasLoadedAtTwoDeathsAndNothingElse() throws Exception {
    for (int i = 0; i < 2; i++) {
      dies(
          journal -> {
            load(journal, "good", 0);
            journal.onBegin("bad", "1", "print");
          });
      if (i == 0) {
        try (ModelJournal next = open(folder)) {
          assertThat(next.isSuspect("bad")).isTrue();
          assertThat(next.isSuspect("good")).isFalse();
        }
      }
    }
    assertQuarantined("bad", "the process ended while it was loaded");
    assertLoads("good");
    try (ModelJournal next = open(folder)) {
      assertThatCode(() -> next.onBegin("bad", "1", "other files")).doesNotThrowAnyException();
    }
  }

  @Test
  void shouldForgetDeathsAtTheLoadWhenOneEndsWell() throws Exception {
    for (int i = 0; i < 3; i++) {
      dies(journal -> journal.onBegin("m", "1", "print"));
      try (ModelJournal next = open(folder)) {
        load(next, "m", 0);
        assertThat(next.isSuspect("m")).isFalse();
      }
    }
    assertLoads("m");
  }

  @Test
  void shouldBlameNobodyWhenABusyProcessIsKilled() throws Exception {
    for (int i = 0; i < 3; i++) {
      dies(
          journal -> {
            load(journal, "busy", 4);
            journal.running(4);
          });
    }
    assertLoads("busy");
    assertThat(folder.resolve("strikes")).doesNotExist();
  }

  @Test
  void shouldBlameTheRunWhenTheJvmLeftItsReport() throws Exception {
    Path report =
        Files.createFile(folder.resolve("hs_err_" + ProcessHandle.current().pid() + ".log"));
    Files.setLastModifiedTime(report, FileTime.from(Instant.now().plusSeconds(3600)));
    for (int i = 0; i < 2; i++) {
      dies(
          journal -> {
            load(journal, "other", 3);
            load(journal, "crashing", 4);
            journal.running(3);
            journal.idle();
            journal.running(4);
          });
    }
    assertQuarantined("crashing", "the process crashed during its run");
    assertLoads("other");
  }

  @Test
  void shouldNotBlameTheRunForTheReportOfAnotherProcess() throws Exception {
    Path report = folder.resolve("hs_err_" + ProcessHandle.current().pid() + ".log");
    Files.createFile(report);
    Files.setLastModifiedTime(report, FileTime.fromMillis(0));
    for (int i = 0; i < 2; i++) {
      dies(
          journal -> {
            load(journal, "m", 0);
            journal.running(0);
          });
    }
    assertLoads("m");
  }

  @Test
  void shouldSuspectAllAndBlameNoneWhenSeveralWereLoaded() throws Exception {
    for (int i = 0; i < 3; i++) {
      dies(
          journal -> {
            journal.onBegin("a", "1", "print");
            journal.onBegin("b", "1", "print");
          });
    }
    try (ModelJournal next = open(folder)) {
      assertThat(next.isSuspect("a")).isTrue();
      assertThat(next.isSuspect("b")).isTrue();
      assertThat(next.isSuspect("c")).isFalse();
    }
  }

  @Test
  void shouldLoadSuspectsByThemselves() throws Exception {
    dies(
        journal -> {
          journal.onBegin("a", "1", "print");
          journal.onBegin("b", "1", "print");
        });
    try (ModelJournal next = open(folder)) {
      next.onBegin("good", "1", "print");
      CountDownLatch begun = new CountDownLatch(1);
      CompletableFuture<Void> suspect =
          CompletableFuture.runAsync(
              () -> {
                begun.countDown();
                next.onBegin("a", "1", "print");
              },
              task -> Thread.ofPlatform().start(task));
      begun.await();
      assertThatThrownBy(() -> suspect.get(100, TimeUnit.MILLISECONDS))
          .as("waits for the good one")
          .isInstanceOf(TimeoutException.class);
      next.onEnd("good", "1", true);
      suspect.get();
      CompletableFuture<Void> later =
          CompletableFuture.runAsync(
              () -> next.onBegin("c", "1", "print"), task -> Thread.ofPlatform().start(task));
      assertThatThrownBy(() -> later.get(100, TimeUnit.MILLISECONDS))
          .as("waits for the suspect")
          .isInstanceOf(TimeoutException.class);
      next.onEnd("a", "1", true);
      later.get();
      next.onEnd("c", "1", true);
      assertThat(next.isSuspect("a")).isFalse();
      assertThat(next.isSuspect("b")).isTrue();
    }
  }

  @Test
  void shouldLeaveAloneWhatLivesWhenWorkersShareTheFolder() throws Exception {
    try (ModelJournal one = open(folder)) {
      one.onBegin("m", "1", "print");
      for (int i = 0; i < 3; i++) {
        try (ModelJournal other = open(folder)) {
          assertThat(other.isSuspect("m")).isFalse();
          assertThat(files(folder)).hasSize(4);
        }
      }
      assertThat(files(folder)).hasSize(2);
    }
    assertThat(files(folder)).isEmpty();
  }

  @Test
  void shouldPassOverALineThatIsCutOff() throws Exception {
    dies(journal -> load(journal, "m", 0));
    Path log = folder.resolve("dead1.log");
    String cutOff = CheckedLine.of("begin\t\tm\t1\tprint").substring(0, 24);
    Files.writeString(log, cutOff, StandardOpenOption.APPEND);
    assertLoads("m");
  }

  @Test
  void shouldReadWhatABuildWithoutChecksumsWrote() throws Exception {
    Files.writeString(folder.resolve("strikes"), "2\tLOAD\t1764000000\tit ended\tbad\t1\tprint\n");
    assertQuarantined("bad", "it ended");
  }

  @Test
  void shouldBelieveNoLineWithABitFlippedOrCutOff() throws Exception {
    for (int i = 0; i < 2; i++) {
      dies(journal -> journal.onBegin("bad", "1", "print"));
      dies(journal -> journal.onBegin("worse", "1", "print"));
      open(folder).close();
    }
    Map<JournalEntry.Key, Strike> wrote = JournalFolder.open(folder).strikes();
    assertThat(wrote).hasSize(2);
    byte[] strikes = Files.readAllBytes(folder.resolve("strikes"));
    Path copy = Files.createDirectory(folder.resolve("copy"));
    for (byte[] damaged : damaged(strikes)) {
      Files.write(copy.resolve("strikes"), damaged);
      assertThat(wrote).containsAllEntriesOf(JournalFolder.open(copy).strikes());
    }
  }

  @Test
  void shouldBlameNobodyWhoWasNotLoadedWhenABitIsFlipped() throws Exception {
    dies(
        journal -> {
          load(journal, "good", 0);
          journal.onBegin("bad", "1", "print");
        });
    Path log = folder.resolve("dead1.log");
    for (byte[] damaged : damaged(Files.readAllBytes(log))) {
      Files.write(log, damaged);
      JournalEntry entry = JournalEntry.read(CheckedLine.Texts.read(log).good());
      assertThat(entry.verdict(0, false).blamed())
          .extracting(JournalEntry.Key::line)
          .isSubsetOf("good\t1\tprint", "bad\t1\tprint");
    }
  }

  /** Bytes with each bit flipped, and cut off after each byte. */
  private static List<byte[]> damaged(byte[] whole) {
    List<byte[]> all = new ArrayList<>();
    for (int bit = 0; bit < 8 * whole.length; bit++) {
      byte[] flipped = whole.clone();
      flipped[bit / 8] ^= (byte) (1 << bit % 8);
      all.add(flipped);
    }
    for (int length = 0; length < whole.length; length++) {
      all.add(Arrays.copyOf(whole, length));
    }
    return all;
  }

  @Test
  void shouldLoadModelsWhenTheFolderCannotBeMade() throws Exception {
    Path file = Files.createFile(folder.resolve("file"));
    try (ModelJournal journal = open(file.resolve("journal"))) {
      load(journal, "m", 0);
      journal.running(0);
      journal.idle();
    }
  }

  /** With an engine: the watchdog finds a run that hangs, and the process ends by its code. */
  @Test
  void shouldQuarantineAModelWhoseRunHangsTwice() throws Exception {
    Path model = TestBundle.doubling(2, 1).write(repository, "hangs");
    for (int i = 0; i < 2; i++) {
      CountDownLatch over = new CountDownLatch(1);
      ReferenceFunction hanging =
          (program, inputs, outputs) -> {
            try {
              over.await();
            } catch (InterruptedException e) {
              Thread.currentThread().interrupt();
            }
          };
      Path own = elsewhere.resolve("own" + i);
      ModelJournal journal = open(own);
      EngineOptions options =
          EngineOptions.builder()
              .loads(journal)
              .runMark(journal)
              .watchdog(new Watchdog.Limits(Duration.ofMillis(100), Duration.ofSeconds(30)))
              .build();
      Engine engine =
          Engine.open(
              options,
              new SimulatedDevice(SimulatedDeviceOptions.instant(hanging), NanoClock.SYSTEM));
      CompletableFuture<Void> noted = engine.failing().thenAccept(journal::onFailing);
      engine.admin().load(model);
      Throwable cause = engine.failing().get();
      assertThat(cause).hasMessageContaining("it is of model 'hangs' version '1'");
      noted.get();
      for (Path file : files(own)) {
        String name = file.getFileName().toString();
        Files.copy(file, folder.resolve("dead" + i + name.substring(name.lastIndexOf('.'))));
      }
      over.countDown();
      engine.close();
      journal.close();
    }
    try (ModelJournal next = open(folder)) {
      EngineOptions options = EngineOptions.builder().loads(next).runMark(next).build();
      try (Engine engine =
          Engine.open(
              options,
              new SimulatedDevice(
                  SimulatedDeviceOptions.instant(TestBundle.DOUBLE), NanoClock.SYSTEM))) {
        assertThat(engine.admin().load(model).get().reason())
            .contains(
                "model 'hangs': version '1' is in quarantine",
                "its run did not end, and the watchdog ended the process");
        TestBundle.doubling(2, 1).write(repository, "hangs2");
        assertThat(engine.admin().load(repository.resolve("hangs2")).get().isReady()).isTrue();
      }
    }
  }
}
