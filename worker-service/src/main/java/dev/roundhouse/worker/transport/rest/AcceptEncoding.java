package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.platform.rest.ContentCoding;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Chooses how an answer is compressed, by a request's Accept-Encoding (RFC 9110, 12.5.3). */
final class AcceptEncoding {
  private double gzip = -1;
  private double deflate = -1;
  private double identity = -1;
  private double any = -1;

  private AcceptEncoding() {}

  /**
   * What the client likes best of what there is; gzip of those it likes the same. What it likes
   * less than none, and what it does not name, is not used. One that takes nothing there is gets
   * the answer as it is.
   *
   * @param small true when the answer does not get smaller, so that it is left as it is unless the
   *     client refuses that
   */
  static ContentCoding choose(@Nullable String header, boolean small) {
    AcceptEncoding accepted = new AcceptEncoding();
    for (String entry : header == null ? new String[0] : header.split(",")) {
      accepted.add(entry);
    }
    double gzip = accepted.orAny(accepted.gzip, 0);
    double deflate = accepted.orAny(accepted.deflate, 0);
    // Not named, it is taken, but after all that are.
    double identity = accepted.orAny(accepted.identity, Double.MIN_VALUE);
    double best = Math.max(gzip, deflate);
    if (best <= 0 || best < identity || (small && identity > 0)) {
      return ContentCoding.IDENTITY;
    }
    return gzip >= deflate ? ContentCoding.GZIP : ContentCoding.DEFLATE;
  }

  private double orAny(double named, double otherwise) {
    if (named >= 0) {
      return named;
    }
    return any >= 0 ? any : otherwise;
  }

  private void add(String entry) {
    String[] parts = entry.split(";");
    double quality = quality(parts);
    switch (parts[0].strip().toLowerCase(Locale.ROOT)) {
      case "gzip", "x-gzip" -> gzip = quality;
      case "deflate" -> deflate = quality;
      case "identity" -> identity = quality;
      case "*" -> any = quality;
      default -> {
        // another coding, which is not used
      }
    }
  }

  /** 1 when none is given; 0 for what is no quality: it would be a guess. */
  private static double quality(String[] parts) {
    for (int i = 1; i < parts.length; i++) {
      String part = parts[i].strip().toLowerCase(Locale.ROOT);
      if (part.startsWith("q=")) {
        try {
          double quality = Double.parseDouble(part.substring(2));
          return quality >= 0 && quality <= 1 ? quality : 0;
        } catch (NumberFormatException e) {
          return 0;
        }
      }
    }
    return 1;
  }
}
