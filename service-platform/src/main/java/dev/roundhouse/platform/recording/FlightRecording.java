package dev.roundhouse.platform.recording;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;
import jdk.jfr.Recording;

/** Takes one recording: all events of our own, and what the processors did meanwhile. */
final class FlightRecording {
  /** Of more, the oldest is left out. Flight Recorder may keep a chunk, 12 MB, above it. */
  static final long MOST_BYTES = 32_000_000;

  private static final Duration SAMPLE = Duration.ofMillis(20);
  private static final Duration LOAD = Duration.ofSeconds(1);

  private FlightRecording() {}

  /**
   * Records while {@code wait} is on its way.
   *
   * @param wait given how long, returns after that, or earlier
   * @return the recording; its file is gone when this is closed
   * @throws IOException when there is no room or no right for the file
   */
  static InputStream take(Duration length, Consumer<Duration> wait) throws IOException {
    try (Recording recording = new Recording()) { // has events of our own without being told
      recording.setMaxSize(MOST_BYTES);
      recording.enable("jdk.GarbageCollection");
      recording.enable("jdk.ExecutionSample").withPeriod(SAMPLE);
      recording.enable("jdk.CPULoad").withPeriod(LOAD);
      recording.enable("jdk.ThreadCPULoad").withPeriod(LOAD);
      recording.start();
      wait.accept(length);
      recording.stop();
      return read(recording);
    }
  }

  private static InputStream read(Recording recording) throws IOException {
    Path file = Files.createTempFile("roundhouse-", ".jfr");
    try {
      recording.dump(file);
      return new FileInputStream(file.toFile());
    } finally {
      Files.delete(file); // what is open can still be read
    }
  }
}
