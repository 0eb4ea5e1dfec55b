package dev.roundhouse.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.roundhouse.bundle.Digest;
import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.device.SimulatedDeviceOptions;
import dev.roundhouse.engine.schedule.CostEstimate;
import dev.roundhouse.engine.testing.Floats;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.testing.TestEngine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class CostStoreTest {
  private static final long MILLIS = 1_000_000;

  @TempDir Path folder;

  @Test
  void shouldKnowAfterARestartWhatRunsCost() {
    serve(20 * MILLIS, 3);
    // This process has measured its warm-up only, twice 10 ms; each is one part in five of the
    // mean.
    double afterOne = 0.2 * 10 * MILLIS + 0.8 * 20 * MILLIS;
    assertThat(meanAfterRestart(10 * MILLIS))
        .isCloseTo(0.2 * 10 * MILLIS + 0.8 * afterOne, within(1.0));
  }

  @Test
  void shouldForgetTheCostOfAProgramThatHasChanged() {
    serve(20 * MILLIS, 3);
    TestBundle.doubling(5, 4).write(folder, "model");
    assertThat(meanAfterRestart(10 * MILLIS)).isEqualTo(10 * MILLIS);
  }

  @Test
  void shouldStartWithoutAFileThatMakesNoSense() throws IOException {
    Files.createDirectories(file().getParent());
    for (String nonsense :
        new String[] {
          "",
          "{",
          "[]",
          "{\"devices\": 3}",
          "{\"devices\": {\"simulated / Roundhouse simulated device\": null}}",
          "{\"devices\": {\"simulated / Roundhouse simulated device\": {\"model/0/4\": null}}}",
          "{\"devices\": {\"simulated / Roundhouse simulated device\": {\"model/0/4\":"
              + " {\"meanNanos\": -1}}}}"
        }) {
      TestBundle.doubling(2, 4).write(folder, "model");
      Files.writeString(file(), nonsense);
      assertThat(meanAfterRestart(10 * MILLIS)).as(nonsense).isEqualTo(10 * MILLIS);
    }
  }

  @Test
  void shouldBelieveNoCostInAFileWithABitFlippedOrCutOff() throws IOException {
    serve(20 * MILLIS, 3);
    byte[] whole = Files.readAllBytes(file());
    assertThat(meanIn(whole)).isGreaterThan(10 * MILLIS);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int at = 0; at < whole.length; at++) {
      byte[] flipped = whole.clone();
      flipped[at] ^= (byte) (1 << random.nextInt(8));
      assertThat(meanIn(flipped))
          .as("byte %d, seed %d", at, seed)
          .isIn((double) CostEstimate.UNKNOWN_NANOS, meanIn(whole));
      assertThat(meanIn(Arrays.copyOf(whole, at)))
          .as("cut off at %d", at)
          .isEqualTo(CostEstimate.UNKNOWN_NANOS);
    }
  }

  /** What is known of the program that {@link #serve} runs. */
  private double meanIn(byte[] content) throws IOException {
    Files.write(file(), content);
    CostEstimate cost = new CostEstimate(0.2);
    String sha256 = Digest.of(Files.readAllBytes(folder.resolve("model/model.b4.mlir")));
    CostStore.open(Optional.of(file()), "simulated / Roundhouse simulated device")
        .seed(cost, "model", 0, 4, sha256);
    return cost.meanNanos();
  }

  @Test
  void shouldReadWhatABuildWithoutADigestWrote() throws IOException {
    serve(20 * MILLIS, 3);
    String text = Files.readString(file());
    double mean = meanIn(text.getBytes(StandardCharsets.UTF_8));
    String devices = text.substring(text.indexOf("\"devices\""));
    assertThat(meanIn(("{" + devices).getBytes(StandardCharsets.UTF_8))).isEqualTo(mean);
  }

  @Test
  void shouldLeaveAFileOfALaterFormatAlone() throws IOException {
    Files.createDirectories(file().getParent());
    String later = "{\"format\": 2, \"devices\": [\"in another way\"]}";
    Files.writeString(file(), later);
    serve(20 * MILLIS, 3);
    assertThat(file()).hasContent(later);
  }

  @Test
  @Timeout(60)
  void shouldStartWithoutAFileThatIsTooLargeAndReplaceIt() throws Exception {
    Files.createDirectories(file().getParent());
    try (FileChannel sparse =
        FileChannel.open(file(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      sparse.write(ByteBuffer.wrap(new byte[1]), 40L << 30);
    }
    serve(20 * MILLIS, 1);
    assertThat(Files.size(file())).isBetween(1L, 1L << 20);
  }

  @Test
  @Timeout(60)
  void shouldStartWithoutWaitingForAPipe() throws Exception {
    Files.createDirectories(file().getParent());
    pipe(file());
    Path lock = file().resolveSibling("costs.json.lock");
    pipe(lock);
    serve(20 * MILLIS, 1); // which cannot be written either, for the lock
    Files.delete(lock);
    serve(20 * MILLIS, 1);
    assertThat(file()).isRegularFile();
  }

  private static void pipe(Path path) throws Exception {
    assertThat(new ProcessBuilder("mkfifo", path.toString()).start().waitFor()).isZero();
  }

  @Test
  void shouldServeWhenTheFileCannotBeWritten() throws IOException {
    Files.createDirectories(file()); // a folder stands in its way
    serve(20 * MILLIS, 1);
    assertThat(meanAfterRestart(10 * MILLIS)).isEqualTo(10 * MILLIS);
  }

  /** Two workers have the file open at once; neither knows the other's model. */
  @Test
  void shouldKeepWhatEachOfSeveralProcessesHasMeasured() {
    TestBundle.doubling(2, 4).write(folder, "model");
    TestBundle.doubling(2, 4).write(folder, "other");
    TestEngine first = open(20 * MILLIS);
    TestEngine second = open(30 * MILLIS, "other");
    first.assertNothingLeaks();
    second.assertNothingLeaks();
    assertThat(meanAfterRestart(20 * MILLIS)).isCloseTo(20 * MILLIS, within(1.0));
    TestEngine third = open(50 * MILLIS, "other");
    double afterOne = 0.2 * 50 * MILLIS + 0.8 * 30 * MILLIS;
    assertThat(mean(third, "other")).isCloseTo(0.2 * 50 * MILLIS + 0.8 * afterOne, within(1.0));
    third.assertNothingLeaks();
  }

  private void serve(long runNanos, int requests) {
    TestBundle.doubling(2, 4).write(folder, "model");
    TestEngine engine = open(runNanos);
    for (int i = 0; i < requests; i++) {
      engine.submit("model", Floats.input("x", new long[] {1, 2}, 1, 2));
      engine.run();
    }
    engine.assertNothingLeaks();
  }

  private double meanAfterRestart(long runNanos) {
    TestEngine engine = open(runNanos);
    double mean = mean(engine, "model");
    engine.assertNothingLeaks();
    return mean;
  }

  private static double mean(TestEngine engine, String model) {
    return engine.engine().reports().details(model).orElseThrow().programs().getFirst().meanNanos();
  }

  private TestEngine open(long runNanos) {
    return open(runNanos, "model");
  }

  private TestEngine open(long runNanos, String model) {
    TestEngine engine =
        new TestEngine(
            SimulatedDeviceOptions.instant(TestBundle.DOUBLE).withExecutionNanos(p -> runNanos),
            EngineOptions.builder().costFile(file()).build());
    assertThat(engine.load(folder.resolve(model)).reason()).isEmpty();
    return engine;
  }

  private Path file() {
    return folder.resolve("cache/costs.json");
  }
}
