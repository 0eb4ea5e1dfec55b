package dev.roundhouse.platform.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamSpec;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Why a client cannot send what its hello says. */
@SuppressWarnings("serial") // never serialised
public final class HelloRefusedException extends Exception {
  private final HelloStatus status;
  private final @Nullable StreamSpec spec;

  public HelloRefusedException(HelloStatus status, String text) {
    this(status, text, null);
  }

  /**
   * @param spec of the model, which the client has another idea of
   */
  public HelloRefusedException(HelloStatus status, String text, @Nullable StreamSpec spec) {
    super(text, null, false, false);
    this.status = status;
    this.spec = spec;
  }

  public HelloStatus status() {
    return status;
  }

  /** What the client is told; {@code text} in the words that clients may read. */
  ServerReply reply(String text) {
    return new ServerReply(ClientHello.VERSION, status, Set.of(), 0, 0, spec, text);
  }
}
