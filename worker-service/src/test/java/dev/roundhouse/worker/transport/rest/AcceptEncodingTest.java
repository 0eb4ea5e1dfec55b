package dev.roundhouse.worker.transport.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.platform.rest.ContentCoding;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AcceptEncodingTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "                               | IDENTITY",
        "gzip                           | GZIP",
        "x-gzip                         | GZIP",
        "deflate                        | DEFLATE",
        "GZIP                           | GZIP",
        "gzip, deflate, br              | GZIP",
        "gzip;q=0.5, deflate            | DEFLATE",
        "gzip;q=0.5,deflate;q=0.6       | DEFLATE",
        "gzip ; q=0.5 , deflate ; q=0.4 | GZIP",
        "br                             | IDENTITY",
        "gzip;q=0                       | IDENTITY",
        "*                              | GZIP",
        "*;q=0                          | IDENTITY",
        "gzip;q=0, *                    | DEFLATE",
        "identity, gzip;q=0.5           | IDENTITY",
        "identity;q=0.5, gzip           | GZIP",
        "gzip;q=2                       | IDENTITY",
        "gzip;q=x, deflate;q=0.1        | DEFLATE",
        ",,;;=,                         | IDENTITY",
      })
  void shouldChooseWhatTheClientLikesBest(String header, ContentCoding expected) {
    assertThat(AcceptEncoding.choose(header, false)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "gzip                | IDENTITY",
        "gzip, identity;q=0  | GZIP",
        "deflate, *;q=0      | DEFLATE",
        "identity;q=0        | IDENTITY",
      })
  void shouldLeaveSmallAnswersUnlessThatIsRefused(String header, ContentCoding expected) {
    assertThat(AcceptEncoding.choose(header, true)).isEqualTo(expected);
  }
}
