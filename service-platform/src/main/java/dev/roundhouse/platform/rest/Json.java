package dev.roundhouse.platform.rest;

import java.io.OutputStream;
import java.util.function.LongConsumer;
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
import tools.jackson.core.util.JsonRecyclerPools;

/**
 * JSON as the protocol has it: UTF-8, no key twice, nesting of at most {@value #MAX_DEPTH}, and
 * bounded length and number of names, known or not. Beyond the standard it has NaN and the
 * infinities as bare words, which Python reads and writes and which Triton has too.
 */
public final class Json {
  public static final int MAX_DEPTH = 100;

  /** Properties of one object, known or not: a little more than a request's parameters may be. */
  public static final int MAX_FIELDS = 20_000;

  /** Different names of properties in one document. */
  static final int MAX_NAMES = 1 << 17;

  /** Characters of a property's name. */
  static final int MAX_NAME_LENGTH = 1024;

  /** Kept for the next documents, each of up to 150 KB; more are collected. */
  private static final int BUFFERS = 64;

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_DEPTH)
                  .maxNameLength(MAX_NAME_LENGTH)
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
          .recyclerPool(JsonRecyclerPools.newBoundedPool(BUFFERS))
          .build();

  private Json() {}

  /** A parser of a document too small to be counted. */
  public static JsonParser parser(byte[] bytes, int offset, int length) {
    return parser(bytes, offset, length, change -> {});
  }

  /**
   * A parser, to be closed.
   *
   * @param memory told of bytes before the parser keeps them, and of less than none when it lets
   *     them go; may throw, which the parser's caller meets
   */
  public static JsonParser parser(byte[] bytes, int offset, int length, LongConsumer memory) {
    JsonParser parser = FACTORY.createParser(ObjectReadContext.empty(), bytes, offset, length);
    return length <= BoundedParser.UNBOUNDED_BYTES
        ? parser
        : new BoundedParser(parser, bytes, offset, length, memory);
  }

  /** Writes to {@code out}, which it does not close. */
  public static JsonGenerator generator(OutputStream out) {
    return FACTORY.createGenerator(ObjectWriteContext.empty(), out, JsonEncoding.UTF8);
  }
}
