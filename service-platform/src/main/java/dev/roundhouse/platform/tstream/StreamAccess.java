package dev.roundhouse.platform.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import io.grpc.StatusException;
import java.net.SocketAddress;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** Asks {@link Access} about hellos. Thread-safe; does not block. */
public final class StreamAccess {
  /** Whose rules hold: a stream of messages is no other thing over gRPC. */
  private static final ApiMethod METHOD =
      ApiMethod.of("inference.GRPCInferenceService/ModelStreamInfer");

  private final Access access;

  public StreamAccess(Access access) {
    this.access = access;
  }

  /**
   * @param session of TLS; null for plain text
   * @return null when nothing is checked
   * @throws HelloRefusedException when the caller may not send to the model, or must say who it is
   */
  public @Nullable Admitted admit(
      ClientHello hello, HelloToken token, SocketAddress from, @Nullable SSLSession session)
      throws HelloRefusedException {
    if (access.isFree(METHOD)) {
      return null;
    }
    Credentials shown = new Credentials(from, session, token.authorization(), token.sealed());
    try {
      Admitted caller = access.admit(METHOD.category(), false, "TSTREAM", shown);
      caller.requireModel(hello.model());
      return caller;
    } catch (StatusException e) {
      throw new HelloRefusedException(
          HelloStatus.UNAUTHORISED, String.valueOf(e.getStatus().getDescription()));
    }
  }
}
