package dev.roundhouse.kserve.tstream;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Strings of hello and spec: UTF-8, without a zero byte. */
final class Texts {
  private Texts() {}

  /**
   * @param bytes so many are there
   * @param what it is, in texts
   */
  static String read(ByteBuffer from, int bytes, String what) throws MalformedStreamException {
    ByteBuffer text = from.slice(from.position(), bytes);
    from.position(from.position() + bytes);
    try {
      String read = StandardCharsets.UTF_8.newDecoder().decode(text).toString();
      if (read.indexOf('\0') >= 0) {
        throw new MalformedStreamException(what + " has a zero byte in it");
      }
      return read;
    } catch (CharacterCodingException e) {
      throw new MalformedStreamException(what + " is no UTF-8");
    }
  }
}
