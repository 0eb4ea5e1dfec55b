package dev.roundhouse.devicecheck;

import dev.roundhouse.devicecheck.Finding.Verdict;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Where a step reports its findings: one JSON object per line of a file, each written at once, so
 * it survives the process. For one thread.
 */
public final class Findings implements AutoCloseable {
  private static final JsonMapper JSON = JsonMapper.builder().build();

  private final BufferedWriter out;

  private Findings(BufferedWriter out) {
    this.out = out;
  }

  static Findings into(Path file) throws IOException {
    return new Findings(Files.newBufferedWriter(file));
  }

  /** What a process reported before it ended; an incomplete last line is dropped. */
  static List<Finding> read(Path file) throws IOException {
    List<Finding> found = new ArrayList<>();
    try {
      for (String line : Files.readAllLines(file)) {
        found.add(JSON.readValue(line, Finding.class));
      }
    } catch (NoSuchFileException | JacksonException cutShort) {
      return found;
    }
    return found;
  }

  public void pass(String what, String note) {
    tell(new Finding(what, Verdict.PASS, null, "", note));
  }

  public void fail(String what, String note) {
    tell(new Finding(what, Verdict.FAIL, null, "", note));
  }

  public void check(String what, boolean right, String note) {
    tell(new Finding(what, right ? Verdict.PASS : Verdict.FAIL, null, "", note));
  }

  public void figure(String what, double value, String unit, String note) {
    tell(new Finding(what, Verdict.FIGURE, value, unit, note));
  }

  public void fact(String what, String fact) {
    tell(new Finding(what, Verdict.FIGURE, null, "", fact));
  }

  public void notMeasured(String what, String why) {
    tell(new Finding(what, Verdict.NOT_MEASURED, null, "", why));
  }

  private void tell(Finding finding) {
    try {
      out.write(JSON.writeValueAsString(finding));
      out.newLine();
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
