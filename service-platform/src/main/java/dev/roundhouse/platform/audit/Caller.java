package dev.roundhouse.platform.audit;

import org.jspecify.annotations.Nullable;

/**
 * Who asked, and by which way. Known on the thread that takes the request; whoever goes on
 * elsewhere takes it along.
 *
 * @param address of the other end of the connection, with its port
 * @param route a method and a path over HTTP, a method's full name over gRPC
 */
public record Caller(String address, String route) {
  /** Nobody outside: the process itself. */
  private static final Caller SELF = new Caller("this process", "-");

  private static final ThreadLocal<@Nullable Caller> CURRENT = new ThreadLocal<>();

  /** Whose request this thread is at. */
  public static Caller current() {
    Caller known = CURRENT.get();
    return known == null ? SELF : known;
  }

  /** Makes it known on this thread until what is returned is closed. */
  public Scope enter() {
    Caller before = CURRENT.get();
    CURRENT.set(this);
    return () -> {
      if (before == null) {
        CURRENT.remove();
      } else {
        CURRENT.set(before);
      }
    };
  }

  /** The time for which a caller is known. To be closed on the thread that entered. */
  @FunctionalInterface
  public interface Scope extends AutoCloseable {
    @Override
    void close();
  }
}
