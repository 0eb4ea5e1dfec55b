package dev.roundhouse.platform.audit;

import org.jspecify.annotations.Nullable;

/**
 * Who asked, and by which way. Known on the thread that takes the request; whoever goes on
 * elsewhere takes it along.
 *
 * @param address of the other end of the connection, with its port
 * @param identity that it has shown; empty for none
 * @param route a method and a path over HTTP, a method's full name over gRPC
 * @param sealed what workers are told of it; null for nothing
 */
public record Caller(String address, String identity, String route, @Nullable String sealed) {
  /** Nobody outside: the process itself. */
  private static final Caller SELF = new Caller("this process", "-");

  private static final ThreadLocal<@Nullable Caller> CURRENT = new ThreadLocal<>();

  /** One that has shown nothing. */
  public Caller(String address, String route) {
    this(address, "", route, null);
  }

  /** The same, who has shown who it is. */
  public Caller known(String as, @Nullable String told) {
    return new Caller(address, as, route, told);
  }

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
