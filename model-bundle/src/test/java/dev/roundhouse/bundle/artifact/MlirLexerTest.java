package dev.roundhouse.bundle.artifact;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class MlirLexerTest {

  @Test
  void shouldResolveEscapesAsMlirDoes() {
    assertThat(string("a\\62c")).isEqualTo("abc");
    assertThat(string("\\\\\\\"\\n\\4")).isEqualTo("\\\"n4");
    assertThat(string("\\4g\\41")).isEqualTo("4gA");
  }

  /** Bytes allocated stand for the work, as copying the rest at each escape did. */
  @Test
  void shouldTakeTenTimesTheWorkWhenAStringIsTenTimesAsLong() {
    long small = allocatedBytes("\\41".repeat(10_000));
    long large = allocatedBytes("\\41".repeat(100_000));
    assertThat(large).isLessThan(20 * small);
  }

  private static long allocatedBytes(String escapes) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    byte[] code = ('"' + escapes + '"').getBytes(StandardCharsets.UTF_8);
    long before = threads.getCurrentThreadAllocatedBytes();
    assertThat(string(code)).hasSize(escapes.length() / 3);
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  private static String string(String escaped) {
    return string(('"' + escaped + '"').getBytes(StandardCharsets.UTF_8));
  }

  private static String string(byte[] code) {
    MlirLexer lexer = new MlirLexer(code, "model.mlir");
    assertThat(lexer.next()).isEqualTo(MlirLexer.Kind.STRING);
    return lexer.text();
  }
}
