package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.operators.Spool.Section;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A process's metrics, by family, whatever the order that they came in, each sample with the
 * process's label. Kept compressed.
 */
final class MetricsPage {
  /** What a family's samples have behind its name. */
  private static final Set<String> SUFFIXES =
      Set.of("_total", "_created", "_bucket", "_sum", "_count", "_gcount", "_gsum", "_info");

  private static final String TOTAL = "_total";

  private final Spool spool;
  private final Map<String, Family> families = new TreeMap<>();
  private final @Nullable String label;
  private final boolean toOpenMetrics;

  private @Nullable Family current;
  private Spool.@Nullable Writer writer;

  private MetricsPage(SpoolMemory memory, @Nullable String label, boolean toOpenMetrics) {
    spool = new Spool(memory);
    this.label = label;
    this.toOpenMetrics = toOpenMetrics;
  }

  /** One family; its lines above the samples are empty where there were none. */
  static final class Family {
    final String name;
    private final List<Section> sections = new ArrayList<>();
    private String help = "";
    private String type = "";
    private String unit = "";

    private Family(String name) {
      this.name = name;
    }

    /**
     * As OpenMetrics writes it: a counter's family has the name of its samples without {@code
     * _total}, and what has no such samples is no counter.
     */
    private Family openMetrics() {
      boolean counter = type.endsWith(" counter");
      if (counter && name.endsWith(TOTAL)) {
        Family other = new Family(name.substring(0, name.length() - TOTAL.length()));
        other.sections.addAll(sections);
        other.help = help.replaceFirst(TOTAL + "\\b", "");
        other.type = "# TYPE " + other.name + " counter";
        return other;
      }
      if (counter || type.endsWith(" untyped")) {
        type = "# TYPE " + name + " unknown";
      }
      return this;
    }

    /** What stands above its samples. */
    void writeHead(OutputStream out) throws IOException {
      for (String line : List.of(help, type, unit)) {
        if (!line.isEmpty()) {
          out.write((line + '\n').getBytes(StandardCharsets.ISO_8859_1));
        }
      }
    }
  }

  /**
   * Reads a page to its end.
   *
   * @param memory counts it until {@link #drop}
   * @param label as of {@link Sample#label}; null for none
   * @param toOpenMetrics whether the page is of the other text format, and becomes OpenMetrics
   */
  static MetricsPage read(
      InputStream in, SpoolMemory memory, @Nullable String label, boolean toOpenMetrics)
      throws IOException {
    MetricsPage page = new MetricsPage(memory, label, toOpenMetrics);
    boolean whole = false;
    try (Spool unused = page.spool) {
      Lines lines = new Lines(in);
      for (String line = lines.next(); line != null; line = lines.next()) {
        page.add(line);
      }
      page.end();
      whole = true;
    } finally {
      if (!whole) {
        page.drop();
      }
    }
    if (toOpenMetrics) {
      List<Family> read = List.copyOf(page.families.values());
      page.families.clear();
      read.stream().map(Family::openMetrics).forEach(each -> page.families.put(each.name, each));
    }
    return page;
  }

  /** It has been written. */
  void drop() {
    spool.drop();
  }

  /** Names, in order. */
  Set<String> families() {
    return families.keySet();
  }

  @Nullable Family family(String name) {
    return families.get(name);
  }

  void writeSamples(Family family, OutputStream out) throws IOException {
    for (Section section : family.sections) {
      try (InputStream samples = spool.read(section)) {
        samples.transferTo(out);
      }
    }
  }

  private void add(String line) throws IOException {
    if (line.isBlank()) {
      return;
    }
    if (line.charAt(0) != '#') {
      addSample(line);
      return;
    }
    String[] words = line.split(" ", 4);
    if (words.length < 3) {
      return; // a comment, or the line that ends OpenMetrics
    }
    switch (words[1]) {
      case "HELP" -> begin(words[2]).help = line;
      case "TYPE" -> begin(words[2]).type = line;
      case "UNIT" -> begin(words[2]).unit = line;
      default -> {}
    }
  }

  private void addSample(String line) throws IOException {
    String name = Sample.name(line);
    Family family = current != null && belongs(name, current.name) ? current : begin(name);
    if (writer == null) {
      writer = spool.section();
    }
    String labelled = label == null ? line : Sample.labelled(line, name, label);
    String text = toOpenMetrics ? Sample.withoutTime(labelled) : labelled;
    writer.write((text + '\n').getBytes(StandardCharsets.ISO_8859_1));
    current = family;
  }

  private static boolean belongs(String sample, String family) {
    return sample.equals(family)
        || sample.startsWith(family) && SUFFIXES.contains(sample.substring(family.length()));
  }

  private Family begin(String name) throws IOException {
    if (current == null || !current.name.equals(name)) {
      end();
      current = families.computeIfAbsent(name, Family::new);
    }
    return current;
  }

  private void end() throws IOException {
    if (current != null && writer != null) {
      current.sections.add(writer.end());
    }
    writer = null;
  }
}
