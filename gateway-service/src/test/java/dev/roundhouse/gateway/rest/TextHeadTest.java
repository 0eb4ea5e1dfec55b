package dev.roundhouse.gateway.rest;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

class TextHeadTest {
  private static final byte[] OPENAIS =
      "{\"input\":[\"a\",\"b\",{\"model\":\"no\"}],\"x\":{\"model\":\"no\"},\"model\":\"m\"}"
          .getBytes(StandardCharsets.UTF_8);

  @Test
  void shouldFindTheModelAndCountTextsWhenItStandsBehindThem() {
    assertThat(TextHead.read(OPENAIS, null, "input")).isEqualTo(new TextHead("m", 3));
  }

  @Test
  void shouldReadNoFurtherThanTheModelsName() {
    byte[] cut = "{\"model\":\"m\",\"input\":[\"a".getBytes(StandardCharsets.UTF_8);
    assertThat(TextHead.read(cut, null, "input")).isEqualTo(new TextHead("m", 1));
  }

  @Test
  void shouldFindNoModelWhenTheBodyIsCutOrIsNoObject() {
    assertThat(TextHead.read(Arrays.copyOf(OPENAIS, 40), null, "input").model()).isNull();
    assertThat(TextHead.read("[\"model\"]".getBytes(StandardCharsets.UTF_8), null, "input").model())
        .isNull();
    assertThat(TextHead.read(OPENAIS, "gzip", "input").model()).isNull();
  }

  @Test
  void shouldDecompressWhatComesCompressed() throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write(OPENAIS);
    }
    assertThat(TextHead.read(packed.toByteArray(), "gzip", "input").model()).isEqualTo("m");
  }
}
