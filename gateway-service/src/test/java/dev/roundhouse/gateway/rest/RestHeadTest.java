package dev.roundhouse.gateway.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.gateway.route.RequestHead;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a REST request's body begins with. */
class RestHeadTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | '' | 1",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[3,4],\"data\":[1,[2]]},{\"shape\":[9]}]} | '' | 3",
        "{\"inputs\":[{\"shape\":[]}],\"parameters\":{\"sequence_id\":7}} | 7 | 1",
        "{\"parameters\":{\"a\":{\"b\":1},\"sequence_id\":\"s\"},\"inputs\":[{\"shape\":[2]}]} | s | 2",
        "{\"parameters\":{\"sequence_id\":0}} | '' | 1",
        "{\"inputs\":[{\"shape\":[-5]}]} | '' | 1",
        "{\"inputs\":[{\"shape\":[99999999999]}]} | '' | 2147483647",
        "{\"inputs\":[{\"data\":[\"]}\",[\"\u00e9\"]],\"datatype\":\"BYTES\",\"shape\":[4,1]}]} | '' | 4",
        "{\"inputs\":[{\"shape\":[4,1],\"data\":[\"cut in the mid | '' | 4",
        "{\"inputs\":7,\"parameters\":[]} | '' | 1",
        "{\"parameters\":{\"sequence_id\":5},\"inputs\":[{\"shape\":[2], | 5 | 2",
        "no JSON | '' | 1"
      })
  void shouldFindWhatDecidesTheWorker(String body, String sequence, int rows) {
    assertThat(RestHead.read("m", "2", bytes(body), -1, null))
        .isEqualTo(new RequestHead("m", "2", sequence, rows));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | true",
        "{\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":true}}]} | true",
        "{\"inputs\":[{\"parameters\":{\"shared_memory_region\":\"r\"}}]} | true",
        "{\"outputs\":[{\"name\":\"x\"},{\"parameters\":{\"a\":1,\"shared_memory_region\":\"r\"}}]} | false",
        "{\"parameters\":{\"sequence_id\":5}} | false",
        "{\"inputs\":[{\"shape\":[2]}] | false",
        "no JSON | false"
      })
  void shouldTellWhetherARequestMayRunTwice(String body, boolean expected) {
    assertThat(RestHead.mayRunTwice(bytes(body), -1, null)).isEqualTo(expected);
  }

  @Test
  void shouldReadNoFurtherThanTheJson() {
    byte[] body = bytes("{\"inputs\":[{\"shape\":[4]}]}\1\2\3");
    assertThat(RestHead.read("m", "", body, body.length - 3, null).rows()).isEqualTo(4);
  }

  @Test
  void shouldReadWhatIsCompressed() throws Exception {
    String text = "{\"inputs\":[{\"shape\":[6]}],\"parameters\":{\"sequence_id\":9}";
    ByteArrayOutputStream gzip = new ByteArrayOutputStream();
    try (OutputStream out = new GZIPOutputStream(gzip)) {
      out.write(bytes(text + " ".repeat(200_000)));
    }
    ByteArrayOutputStream deflate = new ByteArrayOutputStream();
    try (OutputStream out = new DeflaterOutputStream(deflate)) {
      out.write(bytes(text + "}"));
    }
    RequestHead expected = new RequestHead("m", "", "9", 6);
    assertThat(RestHead.read("m", "", gzip.toByteArray(), -1, "gzip")).isEqualTo(expected);
    assertThat(RestHead.read("m", "", deflate.toByteArray(), -1, "Deflate")).isEqualTo(expected);
    byte[] cut = Arrays.copyOf(deflate.toByteArray(), deflate.size() - 4);
    assertThat(RestHead.read("m", "", cut, -1, "deflate").rows()).isEqualTo(6);
    assertThat(RestHead.read("m", "", bytes("not gzip"), -1, "gzip"))
        .isEqualTo(new RequestHead("m", "", "", 1));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
