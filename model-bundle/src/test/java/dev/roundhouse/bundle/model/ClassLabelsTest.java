package dev.roundhouse.bundle.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClassLabelsTest {
  @Test
  void shouldReadOneLabelPerLine() {
    assertThat(read("cat\ndog\n")).containsExactly("cat", "dog");
    assertThat(read("cat\ndog")).containsExactly("cat", "dog");
    assertThat(read("cat\r\ndog\r\n")).containsExactly("cat", "dog");
    assertThat(read("\n\nKätzchen: klein\n\n")).containsExactly("", "", "Kätzchen: klein", "");
    assertThat(read("a\rb\n\r\r\n")).containsExactly("a\rb", "\r");
    assertThat(read("")).isEmpty();
    assertThat(read("\n")).containsExactly("");
    assertThat(read("\r")).containsExactly("");
  }

  @Test
  void shouldHaveNoLabelBeyondTheLast() {
    ClassLabels labels = parse("cat\n");
    assertThat(labels.byteSize(1)).isZero();
    assertThat(labels.byteSize(Integer.MAX_VALUE)).isZero();
    ByteBuffer to = ByteBuffer.allocate(3);
    labels.copyTo(1, to);
    assertThat(to.position()).isZero();
    assertThat(ClassLabels.NONE.byteSize(0)).isZero();
    assertThat(labels.text(0)).isEqualTo("cat");
    assertThat(labels.text(1)).isEmpty();
  }

  @Test
  void shouldKnowTheLongestInBytes() {
    assertThat(parse("a\näöü\nbcd").longestBytes()).isEqualTo(6);
    assertThat(ClassLabels.NONE.longestBytes()).isZero();
  }

  @Test
  void shouldEqualWhatSaysTheSame() {
    assertThat(parse("a\r\nb")).isEqualTo(parse("a\nb\n")).hasSameHashCodeAs(parse("a\nb\n"));
    assertThat(parse("a\nb")).isNotEqualTo(parse("ab")).isNotEqualTo(parse("a\nb\n\n"));
    assertThat(parse("")).isEqualTo(ClassLabels.NONE);
  }

  @Test
  void shouldRefuseWhatIsNoText() {
    assertThatThrownBy(() -> ClassLabels.parse(new byte[] {'a', (byte) 0xff, '\n'}))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is no UTF-8");
  }

  @Test
  void shouldRefuseMoreLinesThanClassesCanBe() {
    byte[] lines = new byte[ClassLabels.MOST_LINES];
    Arrays.fill(lines, (byte) '\n');
    assertThat(ClassLabels.parse(lines).count()).isEqualTo(1_000_000);
    byte[] more = Arrays.copyOf(lines, lines.length + 1);
    more[lines.length] = 'a';
    assertThatThrownBy(() -> ClassLabels.parse(more))
        .hasMessageContaining("has more than 1000000 lines");
  }

  private static ClassLabels parse(String text) {
    return ClassLabels.parse(text.getBytes(StandardCharsets.UTF_8));
  }

  private static List<String> read(String text) {
    ClassLabels labels = parse(text);
    List<String> read = new ArrayList<>();
    for (int i = 0; i < labels.count(); i++) {
      ByteBuffer label = ByteBuffer.allocate(labels.byteSize(i));
      labels.copyTo(i, label);
      read.add(new String(label.array(), StandardCharsets.UTF_8));
    }
    return read;
  }
}
