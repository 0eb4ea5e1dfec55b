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
   * The supported coding that the client prefers; gzip among equals. A coding preferred less than
   * identity, or not named, is not used. A client that accepts none gets the answer uncompressed.
   *
   * @param small true when compression would not shrink the answer: it stays uncompressed unless
   *     the client refuses that
   */
  static ContentCoding choose(@Nullable String header, boolean small) {
    AcceptEncoding accepted = new AcceptEncoding();
    for (String entry : header == null ? new String[0] : header.split(",")) {
      accepted.add(entry);
    }
    double gzip = accepted.orAny(accepted.gzip, 0);
    double deflate = accepted.orAny(accepted.deflate, 0);
    // Not named, it is accepted, but after all that are named.
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

  /** 1 when absent; 0 when invalid, since that would be a guess. */
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
