package dev.roundhouse.platform.grpc;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallAdmission;
import io.grpc.Attributes;
import io.grpc.Grpc;
import io.grpc.StatusException;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/** Asks {@link Access} about calls that are forwarded, which pass no service of this process. */
public final class ForwardedAccess implements CallAdmission {
  private final Access access;

  public ForwardedAccess(Access access) {
    this.access = access;
  }

  @Override
  public @Nullable CallerRights admit(String method, Http2Headers request, Attributes connection) {
    ApiMethod known = ApiMethod.of(method);
    if (access.isFree(known)) {
      return null;
    }
    Credentials shown =
        new Credentials(
            connection.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR),
            connection.get(Grpc.TRANSPORT_ATTR_SSL_SESSION),
            Credentials.joined(request.getAll("authorization")),
            Credentials.joined(request.getAll(Access.SEALED_CALLER)));
    try {
      return access.admit(known.category(), false, method, shown);
    } catch (StatusException e) {
      throw e.getStatus().asRuntimeException();
    }
  }
}
