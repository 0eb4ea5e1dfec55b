package dev.roundhouse.platform.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.platform.rest.ContentCoding.UnknownCodingException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContentCodingTest {

  @ParameterizedTest
  @EnumSource
  void shouldReadWhatItWrote(ContentCoding coding) throws Exception {
    byte[] compressed = compressed(coding, "words");
    try (InputStream in = coding.uncompressed(new ByteArrayInputStream(compressed))) {
      assertThat(new String(in.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("words");
    }
    assertThat(ContentCoding.ofRequest(coding.token())).isEqualTo(coding);
  }

  @Test
  void shouldReadPartAfterPartFromASourceThatNeverSaysWhatItHas() throws Exception {
    ByteArrayOutputStream both = new ByteArrayOutputStream();
    both.write(compressed(ContentCoding.GZIP, "one "));
    both.write(compressed(ContentCoding.GZIP, "two"));
    InputStream byteByByte =
        new ByteArrayInputStream(both.toByteArray()) {
          @Override
          public int read(byte[] into, int offset, int length) {
            return super.read(into, offset, Math.min(length, 1));
          }

          @Override
          public int available() {
            return 0;
          }
        };
    try (InputStream in = ContentCoding.GZIP.uncompressed(byteByByte)) {
      assertThat(new String(in.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("one two");
    }
  }

  @Test
  void shouldKnowEveryName() {
    assertThat(ContentCoding.ofRequest(null)).isEqualTo(ContentCoding.IDENTITY);
    assertThat(ContentCoding.ofRequest("")).isEqualTo(ContentCoding.IDENTITY);
    assertThat(ContentCoding.ofRequest(" GZip ")).isEqualTo(ContentCoding.GZIP);
    assertThat(ContentCoding.ofRequest("x-gzip")).isEqualTo(ContentCoding.GZIP);
  }

  @ParameterizedTest
  @ValueSource(strings = {"br", "gzip, deflate", "*"})
  void shouldRefuseOthersByName(String header) {
    assertThatThrownBy(() -> ContentCoding.ofRequest(header))
        .isInstanceOf(UnknownCodingException.class)
        .hasMessageContainingAll("'" + header + "'", "gzip, deflate");
  }

  private static byte[] compressed(ContentCoding coding, String text) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = coding.compressing(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }
}
