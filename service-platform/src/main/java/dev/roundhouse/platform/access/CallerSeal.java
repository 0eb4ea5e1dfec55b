package dev.roundhouse.platform.access;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Signs what a gateway says of a caller, and reads it: a time, whether the caller is on the
 * gateway's machine, how it was known and its name, with an HMAC-SHA256 over them by a secret that
 * gateway and workers share. Thread-safe.
 */
final class CallerSeal {
  /** Between signing and the last belief. Clocks of two machines may differ by half of it. */
  static final long VALID_SECONDS = 300;

  private static final String ALGORITHM = "HmacSHA256";
  private static final int LEAST_SECRET = 32;
  private static final int MOST_SECRET = 4096;
  private static final Base64.Encoder ENCODER = Base64.getUrlEncoder().withoutPadding();
  private static final String VERSION = "1";
  private static final int PARTS = 6;

  private final List<SecretKeySpec> keys;
  private final LongSupplier epochMillis;

  /**
   * @param keys the first signs, all are believed; at least one
   */
  CallerSeal(List<SecretKeySpec> keys, LongSupplier epochMillis) {
    this.keys = List.copyOf(keys);
    this.epochMillis = epochMillis;
  }

  /** How a caller was known where it arrived. */
  enum Shown {
    /** Not at all. */
    NOTHING,
    TOKEN,
    MTLS,
    /** The gateway speaks for itself. */
    GATEWAY
  }

  /**
   * What is sealed.
   *
   * @param isLocal whether the caller is on the gateway's machine
   * @param name of its identity; empty for none
   * @param tenant of that; empty for none
   */
  record Sealed(boolean isLocal, Shown shown, String name, String tenant) {}

  /**
   * @throws IOException when a file cannot be read, or holds no secret of a fitting length
   */
  static List<SecretKeySpec> keys(List<Path> files) throws IOException {
    List<SecretKeySpec> keys = new ArrayList<>();
    for (Path file : files) {
      if (Files.size(file) > MOST_SECRET) {
        throw new IOException("%s has more than %d bytes".formatted(file, MOST_SECRET));
      }
      String secret = Files.readString(file, StandardCharsets.ISO_8859_1).strip();
      if (secret.length() < LEAST_SECRET) {
        throw new IOException(
            "the secret in %s has %d characters, at least %d are needed; './roundhouse token --secret' makes one"
                .formatted(file, secret.length(), LEAST_SECRET));
      }
      keys.add(new SecretKeySpec(secret.getBytes(StandardCharsets.ISO_8859_1), ALGORITHM));
    }
    return keys;
  }

  String seal(Sealed caller) {
    String said =
        String.join(
            "|",
            VERSION,
            Long.toString(seconds()),
            caller.isLocal() ? "local" : "remote",
            caller.shown().name(),
            encoded(caller.name()),
            encoded(caller.tenant()));
    return said + "|" + ENCODER.encodeToString(mac(keys.getFirst(), said));
  }

  /** Null for what no key has signed, or too long ago. */
  @Nullable Sealed open(String header) {
    int end = header.lastIndexOf('|');
    if (end < 0) {
      return null;
    }
    String said = header.substring(0, end);
    try {
      byte[] signature = Base64.getUrlDecoder().decode(header.substring(end + 1));
      boolean isSigned = false;
      for (SecretKeySpec key : keys) {
        isSigned |= MessageDigest.isEqual(mac(key, said), signature);
      }
      String[] parts = said.split("\\|", -1);
      if (!isSigned || parts.length != PARTS || !parts[0].equals(VERSION)) {
        return null;
      }
      if (Math.abs(seconds() - Long.parseLong(parts[1])) > VALID_SECONDS) {
        return null;
      }
      return new Sealed(
          parts[2].equals("local"), Shown.valueOf(parts[3]), decoded(parts[4]), decoded(parts[5]));
    } catch (IllegalArgumentException e) { // of no number, no base 64, no such way
      return null;
    }
  }

  private static String encoded(String text) {
    return ENCODER.encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String decoded(String text) {
    return new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8);
  }

  private long seconds() {
    return TimeUnit.MILLISECONDS.toSeconds(epochMillis.getAsLong());
  }

  private static byte[] mac(SecretKeySpec key, String said) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return mac.doFinal(said.getBytes(StandardCharsets.UTF_8));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + ALGORITHM, e);
    }
  }
}
