package dev.roundhouse.kserve.status;

import java.util.Locale;
import java.util.function.BiConsumer;

/**
 * A call that fails with a status and a text for the caller. Carries no stack trace: it is an
 * answer, made once per bad request.
 */
public final class WireException extends RuntimeException {

  /**
   * Longest text that is sent. Texts quote what the caller sent, and clients refuse response
   * headers above 8 KiB, in which every byte that is not plain ASCII takes three.
   */
  static final int MAX_MESSAGE_CHARS = 1000;

  /**
   * What stands beside a status, as a gRPC trailer or a header of HTTP, when {@link #began}; its
   * value is {@code true}.
   */
  public static final String BEGAN = "roundhouse-began";

  /**
   * What stands beside a status, as a gRPC trailer or a header of HTTP, when it is not about the
   * server: {@code model}, {@code request} or {@code region}.
   */
  public static final String ABOUT = "roundhouse-about";

  /** What a refusal is about. */
  public enum About {
    /** All that it serves; or the status is another, which says so itself. */
    SERVER,
    /** The model at this server; another may have it. */
    MODEL,
    /** This request, which no server can answer in the time that it allows. */
    REQUEST,
    /** Shared memory that the request names; once it is registered again, the request may do. */
    REGION;

    /** As it is sent. */
    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final WireStatus status;
  private final String text;
  private final boolean began;
  private final About about;

  public WireException(WireStatus status, String message) {
    this(status, message, false);
  }

  /**
   * @param began the request was on the device when the server failed, and may be why
   */
  public WireException(WireStatus status, String message, boolean began) {
    this(status, message, began, About.SERVER);
  }

  private WireException(WireStatus status, String message, boolean began, About about) {
    super(message, null, false, false);
    this.status = status;
    this.text = abbreviated(message);
    this.began = began;
    this.about = about;
  }

  public static WireException invalidArgument(String message) {
    return new WireException(WireStatus.INVALID_ARGUMENT, message);
  }

  /** Refuses while nothing is wrong with the server. */
  public static WireException unavailable(About about, String message) {
    return about(about, WireStatus.UNAVAILABLE, message);
  }

  /** As {@link #unavailable}, with another status. */
  public static WireException about(About about, WireStatus status, String message) {
    return new WireException(status, message, false, about);
  }

  /** Tells what stands beside the status, as names and values of headers; most often nothing. */
  public void besides(BiConsumer<String, String> headers) {
    if (began) {
      headers.accept(BEGAN, "true");
    }
    if (about != About.SERVER) {
      headers.accept(ABOUT, about.text());
    }
  }

  public WireStatus status() {
    return status;
  }

  /** True when the request may be what ended the server: do not send it to another. */
  public boolean began() {
    return began;
  }

  public About about() {
    return about;
  }

  /** The message for the caller, abbreviated when very long. */
  public String text() {
    return text;
  }

  private static String abbreviated(String message) {
    return message.length() <= MAX_MESSAGE_CHARS
        ? message
        : message.substring(0, MAX_MESSAGE_CHARS - 3) + "...";
  }
}
