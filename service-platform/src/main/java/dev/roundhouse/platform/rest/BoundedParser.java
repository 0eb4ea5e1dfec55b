package dev.roundhouse.platform.rest;

import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.SerializableString;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.sym.PropertyNameMatcher;
import tools.jackson.core.util.JsonParserDelegate;

/**
 * Bounds what a parser keeps of one document, and tells of it before it is kept: the names of
 * properties, which it holds to find a name that comes twice and to know it again, and the
 * characters of a long text. For one thread.
 */
final class BoundedParser extends JsonParserDelegate {
  /**
   * A document so small can neither reach a bound nor have anything told of: a property takes five
   * bytes of it, and a fifth as many names less than a block.
   */
  static final int UNBOUNDED_BYTES = 1 << 10;

  /** What a name takes besides its characters: a text, its places in a set and in a table. */
  private static final int NAME_BYTES = 192;

  /** Of characters: while they are decoded, in one piece, and as the text that is made of them. */
  private static final int CHARACTER_BYTES = 4;

  /** Told of at once. */
  private static final int BLOCK_BYTES = 64 << 10;

  private static final int RECENT = 256;

  private final byte[] document;
  private final int start;
  private final int end;
  private final LongConsumer memory;

  /** Names of each object that is open. */
  private final int[] names = new int[Json.MAX_DEPTH + 1];

  /** Names are one object each, which the parser knows again. */
  private final @Nullable String[] recent = new @Nullable String[RECENT];

  private int depth;
  private int different;
  private long nameBytes;
  private long namesTold;
  private long textTold;
  private boolean textKnown;

  /**
   * @param memory told of bytes before they are taken, and of less than none when they are let go;
   *     may throw
   */
  BoundedParser(JsonParser parser, byte[] document, int start, int length, LongConsumer memory) {
    super(parser);
    this.document = document;
    this.start = start;
    end = start + length;
    this.memory = memory;
  }

  @Override
  public @Nullable JsonToken nextToken() {
    textKnown = false;
    JsonToken token = delegate.nextToken();
    if (token == JsonToken.PROPERTY_NAME) {
      count(delegate.currentName());
    } else if (token == JsonToken.START_OBJECT) {
      names[++depth] = 0;
    } else if (token == JsonToken.END_OBJECT) {
      depth--;
    }
    return token;
  }

  private void count(String name) {
    if (++names[depth] > Json.MAX_FIELDS) {
      throw new StreamConstraintsException(
          "an object has more than %d properties, which is the limit; send fewer"
              .formatted(Json.MAX_FIELDS));
    }
    int place = name.hashCode() & (RECENT - 1);
    if (name.equals(recent[place])) {
      return;
    }
    recent[place] = name;
    if (++different > Json.MAX_NAMES) {
      throw new StreamConstraintsException(
          "its objects have more than %d different properties, which is the limit; send fewer"
              .formatted(Json.MAX_NAMES));
    }
    nameBytes += NAME_BYTES + 2L * name.length();
    if (nameBytes > namesTold + BLOCK_BYTES) {
      long more = nameBytes - namesTold;
      memory.accept(more);
      namesTold += more;
    }
  }

  /** Tells of a text that is about to be decoded, when it is long. */
  private void tell() {
    if (textKnown || end - start <= BLOCK_BYTES || currentToken() != JsonToken.VALUE_STRING) {
      return;
    }
    textKnown = true;
    long bytes = textBytes();
    long needed = bytes <= BLOCK_BYTES ? 0 : CHARACTER_BYTES * bytes;
    if (needed > textTold) {
      long more = needed - textTold;
      memory.accept(more);
      textTold += more;
    }
  }

  /** Of the text that the parser stands behind the first quote of, as it is written. */
  private int textBytes() {
    int from = start + (int) delegate.currentLocation().getByteOffset();
    int at = from;
    while (at < end && document[at] != '"') {
      at += document[at] == '\\' ? 2 : 1;
    }
    return at - from;
  }

  @Override
  public String getString() {
    tell();
    return delegate.getString();
  }

  @Override
  public int getStringLength() {
    tell();
    return delegate.getStringLength();
  }

  @Override
  public char[] getStringCharacters() {
    tell();
    return delegate.getStringCharacters();
  }

  @Override
  public JsonParser skipChildren() {
    JsonToken begun = currentToken();
    if (begun == null || !begun.isStructStart()) {
      return this;
    }
    for (int open = 1; open > 0; ) {
      JsonToken next = nextToken();
      if (next == null) {
        return this;
      }
      open += next.isStructStart() ? 1 : next.isStructEnd() ? -1 : 0;
    }
    return this;
  }

  @Override
  public @Nullable JsonToken nextValue() {
    JsonToken next = nextToken();
    return next == JsonToken.PROPERTY_NAME ? nextToken() : next;
  }

  @Override
  public @Nullable String nextName() {
    return nextToken() == JsonToken.PROPERTY_NAME ? currentName() : null;
  }

  @Override
  public boolean nextName(SerializableString wanted) {
    return wanted.getValue().equals(nextName());
  }

  @Override
  public int nextNameMatch(PropertyNameMatcher matcher) {
    String name = nextName();
    if (name != null) {
      return matcher.matchName(name);
    }
    return currentToken() == JsonToken.END_OBJECT
        ? PropertyNameMatcher.MATCH_END_OBJECT
        : PropertyNameMatcher.MATCH_ODD_TOKEN;
  }

  /** What was told of is let go. */
  @Override
  public void close() {
    super.close();
    long told = namesTold + textTold;
    namesTold = 0;
    textTold = 0;
    if (told > 0) {
      memory.accept(-told);
    }
  }
}
