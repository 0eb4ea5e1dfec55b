package dev.roundhouse.platform.logging;

import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.StackTraceElementProxy;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** An exception of a record whose messages are {@link Harmless}, as are those of its causes. */
record HarmlessThrowable(IThrowableProxy thrown) implements IThrowableProxy {

  static @Nullable IThrowableProxy of(@Nullable IThrowableProxy thrown) {
    return thrown == null ? null : new HarmlessThrowable(thrown);
  }

  @Override
  public @Nullable String getMessage() {
    return line(thrown.getMessage());
  }

  @Override
  public @Nullable String getOverridingMessage() {
    return line(thrown.getOverridingMessage());
  }

  private static @Nullable String line(@Nullable String message) {
    return message == null ? null : Harmless.line(message);
  }

  @Override
  public String getClassName() {
    return thrown.getClassName();
  }

  @Override
  public StackTraceElementProxy[] getStackTraceElementProxyArray() {
    return thrown.getStackTraceElementProxyArray();
  }

  @Override
  public int getCommonFrames() {
    return thrown.getCommonFrames();
  }

  @Override
  public @Nullable IThrowableProxy getCause() {
    return of(thrown.getCause());
  }

  @Override
  public IThrowableProxy[] getSuppressed() {
    IThrowableProxy[] suppressed = thrown.getSuppressed();
    return suppressed == null
        ? new IThrowableProxy[0]
        : Arrays.stream(suppressed).map(HarmlessThrowable::new).toArray(IThrowableProxy[]::new);
  }

  @Override
  public boolean isCyclic() {
    return thrown.isCyclic();
  }
}
