package dev.roundhouse.platform.rest;

import java.io.OutputStream;
import tools.jackson.core.JsonEncoding;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.core.TokenStreamFactory;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonReadFeature;
import tools.jackson.core.json.JsonWriteFeature;

/**
 * JSON as the protocol has it: UTF-8, no key twice, nesting of at most {@value #MAX_DEPTH}. Beyond
 * the standard it has NaN and the infinities as bare words, which Python reads and writes and which
 * Triton has too.
 */
public final class Json {
  public static final int MAX_DEPTH = 100;

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_DEPTH)
                  .maxStringLength(Integer.MAX_VALUE) // a body is limited as a whole
                  .build())
          .disable(TokenStreamFactory.Feature.CHARSET_DETECTION)
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
          .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
          .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
          .enable(StreamWriteFeature.USE_FAST_DOUBLE_WRITER)
          .disable(StreamWriteFeature.AUTO_CLOSE_TARGET)
          .disable(StreamWriteFeature.FLUSH_PASSED_TO_STREAM) // so that small answers have a length
          .disable(StreamWriteFeature.AUTO_CLOSE_CONTENT)
          .build();

  private Json() {}

  public static JsonParser parser(byte[] bytes, int offset, int length) {
    return FACTORY.createParser(ObjectReadContext.empty(), bytes, offset, length);
  }

  /** Writes to {@code out}, which it does not close. */
  public static JsonGenerator generator(OutputStream out) {
    return FACTORY.createGenerator(ObjectWriteContext.empty(), out, JsonEncoding.UTF8);
  }
}
