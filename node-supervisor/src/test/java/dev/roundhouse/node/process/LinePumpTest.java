package dev.roundhouse.node.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LinePumpTest {
  @Test
  void shouldPutTheNameBeforeEachLine() {
    assertThat(pump("one\n\ntwo\nthe end", 100))
        .isEqualTo("[worker0] one\n[worker0] \n[worker0] two\n[worker0] the end\n");
  }

  @Test
  void shouldCutLongLinesAndSaySo() {
    assertThat(pump("x".repeat(10) + "\n" + "x".repeat(1_000_000) + "\nend\n", 10))
        .isEqualTo("[worker0] xxxxxxxxxx\n[worker0] xxxxxxxxxx [cut]\n[worker0] end\n");
  }

  @Test
  void shouldWriteEachLineAtOnce() {
    List<String> writes = new ArrayList<>();
    OutputStream to =
        new OutputStream() {
          @Override
          public void write(int each) {
            throw new AssertionError("byte by byte");
          }

          @Override
          public void write(byte[] bytes, int from, int length) {
            writes.add(new String(bytes, from, length, StandardCharsets.UTF_8));
          }
        };
    new LinePump(LineForm.behind("w"), input("a\nb\n"), to, 100).run();
    assertThat(writes).containsExactly("[w] a\n", "[w] b\n");
  }

  @Test
  void shouldReadOnWhenNobodyTakesTheLines() throws IOException {
    InputStream from = input("line\n".repeat(100_000));
    OutputStream broken =
        new OutputStream() {
          @Override
          public void write(int each) throws IOException {
            throw new IOException("Broken pipe");
          }
        };
    new LinePump(LineForm.behind("w"), from, broken, 100).run();
    assertThat(from.read()).isEqualTo(-1);
  }

  @Test
  void shouldReadOnAfterALineThatCannotBeWritten() {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    LineForm broken =
        (line, length) -> {
          if (line[0] == 'b') {
            throw new IllegalStateException("not this one");
          }
          return LineForm.behind("w").written(line, length);
        };
    new LinePump(broken, input("one\nbad\ntwo\n"), to, 100).run();
    assertThat(to.toString(StandardCharsets.UTF_8)).isEqualTo("[w] one\n[w] two\n");
  }

  private static String pump(String text, int maxLine) {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    new LinePump(LineForm.behind("worker0"), input(text), to, maxLine).run();
    return to.toString(StandardCharsets.UTF_8);
  }

  private static InputStream input(String text) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
  }
}
