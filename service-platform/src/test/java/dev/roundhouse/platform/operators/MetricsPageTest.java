package dev.roundhouse.platform.operators;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MetricsPageTest {
  private static final InetSocketAddress NOWHERE = InetSocketAddress.createUnresolved("x", 1);

  private final SpoolMemory memory = new SpoolMemory(8 << 20);

  @Test
  void shouldPutEachFamilyOnceWithEveryProcessesSamples() throws Exception {
    String own =
        """
        # HELP up_seconds time
        # TYPE up_seconds gauge
        up_seconds 7.0
        """;
    String first =
        """
        # HELP runs_total runs
        # TYPE runs_total counter
        runs_total{model="a"} 1.0
        # HELP up_seconds another text
        # TYPE up_seconds gauge
        up_seconds 1.0
        """;
    String second =
        """
        # TYPE up_seconds gauge
        up_seconds{} 2.0
        # HELP runs_total runs
        # TYPE runs_total counter
        runs_total{model="a"} 3.0
        """;
    assertThat(merged(false, own, first, second))
        .startsWith(
            """
            # HELP runs_total runs
            # TYPE runs_total counter
            runs_total{worker="w0",model="a"} 1.0
            runs_total{worker="w1",model="a"} 3.0
            # HELP up_seconds time
            # TYPE up_seconds gauge
            up_seconds 7.0
            up_seconds{worker="w0"} 1.0
            up_seconds{worker="w1"} 2.0
            # HELP roundhouse_worker_scrape_up 1 for a worker whose metrics are all in this answer
            # TYPE roundhouse_worker_scrape_up gauge
            roundhouse_worker_scrape_up{worker="w0"} 1.0
            roundhouse_worker_scrape_up{worker="w1"} 1.0
            """);
  }

  @Test
  void shouldKeepExemplarsAndEndOpenMetricsOnce() throws Exception {
    String page =
        """
        # TYPE wait_seconds histogram
        # UNIT wait_seconds seconds
        wait_seconds_bucket{model="a",le="0.1"} 3 # {trace_id="0af7",worker="me"} 0.07 1700000000.123
        wait_seconds_count{model="a"} 3
        wait_seconds_sum{model="a"} 0.2
        # EOF
        """;
    assertThat(merged(true, "# EOF\n", page, page))
        .startsWith(
            """
            # TYPE wait_seconds histogram
            # UNIT wait_seconds seconds
            wait_seconds_bucket{worker="w0",model="a",le="0.1"} 3 # {trace_id="0af7",worker="me"} 0.07 1700000000.123
            wait_seconds_count{worker="w0",model="a"} 3
            """)
        .endsWith("\n# EOF\n")
        .containsOnlyOnce("# EOF");
  }

  @Test
  void shouldMakeOpenMetricsOfTheOtherFormat() throws Exception {
    String page =
        """
        # HELP runs_total runs_total of it
        # TYPE runs_total counter
        runs_total{model="a"} 1 1700000000123
        # TYPE nv_inference_count counter
        nv_inference_count 5
        # TYPE x untyped
        x 1
        """;
    MetricsPage read = MetricsPage.read(bytes(page), memory, Sample.label("worker", "w"), true);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new MergedPage(read, List.of()).write(out, true);
    assertThat(out.toString(UTF_8))
        .startsWith(
            """
            # TYPE nv_inference_count unknown
            nv_inference_count{worker="w"} 5
            # HELP runs runs_total of it
            # TYPE runs counter
            runs_total{worker="w",model="a"} 1
            # TYPE x unknown
            x{worker="w"} 1
            """);
  }

  @Test
  void shouldRenameALabelThatAProcessHasItself() throws Exception {
    assertThat(labelled("a{worker=\"x\",b=\"1\"} 1"))
        .isEqualTo("a{worker=\"w\",exported_worker=\"x\",b=\"1\"} 1");
    assertThat(labelled("a{exported_worker=\"y\",worker=\"x\"} 1"))
        .isEqualTo("a{worker=\"w\",exported_worker=\"y\",exported_exported_worker=\"x\"} 1");
    assertThat(labelled("a{my_worker=\"x\",b=\"worker=\\\"1\\\"}\"} 1"))
        .isEqualTo("a{worker=\"w\",my_worker=\"x\",b=\"worker=\\\"1\\\"}\"} 1");
  }

  @Test
  void shouldPassEveryByteOfNamesAndValues() throws Exception {
    String line = "a{model=\"größe\r\u4e2d\"} 1";
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    MetricsPage page =
        MetricsPage.read(bytes(line), memory, Sample.label("worker", "ü\"\\\n"), false);
    new MergedPage(page, List.of()).write(out, false);
    assertThat(out.toString(UTF_8))
        .startsWith("a{worker=\"ü\\\"\\\\\\n\",model=\"größe\r\u4e2d\"} 1\n");
  }

  @Test
  void shouldRefuseWhatIsNoPageOfMetrics() {
    for (String page :
        List.of(
            "<html>",
            "a{b=\"c\" 1",
            "a{b=c} 1",
            "a{b=\"c} 1",
            "{\"a\"} 1",
            "a{",
            "a of b",
            "a",
            "a ",
            "a{b=\"c\"}x 1",
            "1 2")) {
      assertThatThrownBy(
              () -> MetricsPage.read(bytes(page), memory, Sample.label("worker", "w"), false))
          .as(page)
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith("it has a line that is none of metrics: " + page);
    }
  }

  @Test
  void shouldReadLinesOfAnyLengthUpToALimit() throws Exception {
    String help = "# HELP a " + "x".repeat(200_000);
    assertThat(merged(false, help + "\n# TYPE a gauge\na 1\n")).startsWith(help + "\n# TYPE a");
    assertThatThrownBy(() -> merged(false, "# HELP a " + "x".repeat(1 << 20)))
        .hasMessage("a line of its metrics has more than 1048576 bytes");
  }

  @Test
  void shouldStopReadingWhatIsTooLongToBeKept() throws Exception {
    MetricsPage kept = MetricsPage.read(noise(6), memory, null, false);
    long before = memory.taken();
    assertThat(before).isGreaterThan(5 << 20);
    assertThatThrownBy(() -> MetricsPage.read(noise(6), memory, null, false))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith(
            "its answer does not fit: answers of other processes may take 8 MB here");
    assertThat(memory.taken()).isEqualTo(before);
    kept.drop();
    kept.drop();
    assertThat(memory.taken()).isZero();
    MetricsPage.read(noise(6), memory, null, false).drop();
    assertThat(memory.taken()).isZero();
  }

  @Test
  void shouldCountNothingForWhatCannotBeRead() {
    assertThatThrownBy(() -> MetricsPage.read(bytes("a 1\n<html>"), memory, null, false))
        .isInstanceOf(IOException.class);
    assertThat(memory.taken()).isZero();
  }

  @Test
  void shouldCountAnAskedDocumentUntilItsStreamIsClosed() throws Exception {
    try (InputStream read = AskedJson.document(memory, bytes("{\"a\":1}")).read()) {
      assertThat(memory.taken()).isPositive();
      assertThat(new String(read.readAllBytes(), UTF_8)).isEqualTo("{\"a\":1}");
    }
    assertThat(memory.taken()).isZero();
    assertThatThrownBy(() -> AskedJson.document(memory, bytes("{\"a\":")))
        .isInstanceOf(IOException.class);
    assertThat(memory.taken()).isZero();
  }

  /** A page that compresses to about so many MiB. */
  private static InputStream noise(int mebibytes) {
    StringBuilder page = new StringBuilder();
    Random random = new Random(1);
    for (int i = 0; i < mebibytes * 8; i++) {
      byte[] bytes = new byte[128 << 10];
      random.nextBytes(bytes);
      page.append("a{b=\"").append(Base64.getEncoder().encodeToString(bytes)).append("\"} 1\n");
    }
    return bytes(page.toString());
  }

  private static String labelled(String line) throws IOException {
    return Sample.labelled(line, Sample.name(line), Sample.label("worker", "w"));
  }

  private static InputStream bytes(String page) {
    return new ByteArrayInputStream(page.getBytes(UTF_8));
  }

  private String merged(boolean openMetrics, String own, String... pages) throws IOException {
    List<Answer<MetricsPage>> answers = new ArrayList<>();
    for (int i = 0; i < pages.length; i++) {
      OperatorsPort port = OperatorsPort.worker("w" + i, NOWHERE);
      String label = Sample.label(port.label(), port.name());
      MetricsPage page = MetricsPage.read(bytes(pages[i]), memory, label, false);
      answers.add(new Answer<>(port, page, 200, "", 0.25));
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new MergedPage(MetricsPage.read(bytes(own), memory, null, false), answers)
        .write(out, openMetrics);
    return out.toString(UTF_8);
  }
}
