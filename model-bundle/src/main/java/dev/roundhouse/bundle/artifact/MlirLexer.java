package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.error.BundleException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Cuts MLIR text into tokens, dropping white space and comments. Holds one token at a time and
 * copies text only when asked: constants may be hundreds of megabytes of hexadecimal string.
 */
final class MlirLexer {
  enum Kind {
    /** Letters, digits and {@code _ . $}: keywords, op names, numbers, {@code 1x8xf32}. */
    WORD,
    /** {@code @name} or {@code @"name"}; the text is the name alone. */
    SYMBOL,
    /** In double quotes; the text is without them. */
    STRING,
    /** The two characters {@code ->}. */
    ARROW,
    /** Any other single character. */
    PUNCTUATION,
    END
  }

  private final byte[] code;
  private final String fileName;
  private int position;
  private Kind kind = Kind.END;
  private int start;
  private int end;

  MlirLexer(byte[] code, String fileName) {
    this.code = code;
    this.fileName = fileName;
  }

  /** Moves to the next token. */
  Kind next() {
    skipBlank();
    start = position;
    if (position >= code.length) {
      end = position;
      return kind = Kind.END;
    }
    byte c = code[position];
    if (c == '"') {
      return string(Kind.STRING);
    }
    if (c == '@') {
      position++;
      if (position < code.length && code[position] == '"') {
        return string(Kind.SYMBOL);
      }
      start = position;
      return word(Kind.SYMBOL);
    }
    if (isWordByte(c)) {
      return word(Kind.WORD);
    }
    if (c == '-' && position + 1 < code.length && code[position + 1] == '>') {
      position += 2;
      end = position;
      return kind = Kind.ARROW;
    }
    if (c == 0) {
      throw refused("holds a NUL byte, so it is neither MLIR text nor MLIR bytecode");
    }
    position++;
    end = position;
    return kind = Kind.PUNCTUATION;
  }

  Kind kind() {
    return kind;
  }

  boolean is(char punctuation) {
    return kind == Kind.PUNCTUATION && code[start] == punctuation;
  }

  boolean isWord(String word) {
    return kind == Kind.WORD && textEquals(word);
  }

  /** Compares without copying. */
  boolean textEquals(String word) {
    if (end - start != word.length()) {
      return false;
    }
    for (int i = 0; i < word.length(); i++) {
      if (code[start + i] != word.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  int length() {
    return end - start;
  }

  /** Where the token begins in the file. */
  int start() {
    return start;
  }

  /** Where the token ends in the file, of a string before its closing quote. */
  int end() {
    return end;
  }

  /** The token's text; in names and strings, escapes are resolved as MLIR resolves them. */
  String text() {
    String raw = new String(code, start, end - start, StandardCharsets.UTF_8);
    return raw.indexOf('\\') < 0 ? raw : unescaped(raw);
  }

  private static String unescaped(String raw) {
    StringBuilder text = new StringBuilder(raw.length());
    for (int i = 0; i < raw.length(); i++) {
      char c = raw.charAt(i);
      if (c != '\\' || i + 1 == raw.length()) {
        text.append(c);
      } else if (i + 2 < raw.length()
          && HexFormat.isHexDigit(raw.charAt(i + 1))
          && HexFormat.isHexDigit(raw.charAt(i + 2))) {
        text.append((char) HexFormat.fromHexDigits(raw, i + 1, i + 3));
        i += 2;
      } else {
        text.append(raw.charAt(++i));
      }
    }
    return text.toString();
  }

  /** For messages: the token, cut short when long. */
  String shown() {
    if (kind == Kind.END) {
      return "the end of the file";
    }
    int shownBytes = Math.min(end - start, 40);
    String shown = new String(code, start, shownBytes, StandardCharsets.UTF_8);
    return "'" + shown + (shownBytes < end - start ? "..." : "") + "'";
  }

  /** A refusal that says where in the text. */
  BundleException refused(String reason) {
    int line = 1;
    for (int i = 0; i < Math.min(start, code.length); i++) {
      line += code[i] == '\n' ? 1 : 0;
    }
    return new BundleException(fileName, "line " + line + ": " + reason);
  }

  private Kind word(Kind found) {
    while (position < code.length
        && (isWordByte(code[position]) || found == Kind.SYMBOL && isDashOfName())) {
      position++;
    }
    end = position;
    return kind = found;
  }

  private boolean isDashOfName() {
    return code[position] == '-' && !(position + 1 < code.length && code[position + 1] == '>');
  }

  private Kind string(Kind found) {
    int close = position + 1;
    while (close < code.length && code[close] != '"') {
      close += code[close] == '\\' ? 2 : 1;
    }
    if (close >= code.length) {
      throw refused("a string is not closed");
    }
    start = position + 1;
    end = close;
    position = close + 1;
    return kind = found;
  }

  private void skipBlank() {
    while (position < code.length) {
      byte c = code[position];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        position++;
      } else if (c == '/' && position + 1 < code.length && code[position + 1] == '/') {
        while (position < code.length && code[position] != '\n') {
          position++;
        }
      } else {
        return;
      }
    }
  }

  private static boolean isWordByte(byte c) {
    return c >= 'a' && c <= 'z'
        || c >= 'A' && c <= 'Z'
        || c >= '0' && c <= '9'
        || c == '_'
        || c == '.'
        || c == '$';
  }
}
