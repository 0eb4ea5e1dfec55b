package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.Admitted;
import dev.roundhouse.platform.access.ApiMethod;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.transport.access.CallerRights;
import io.grpc.StatusException;
import java.net.SocketAddress;
import java.util.EnumSet;
import java.util.Set;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** Answers hellos: who may send, to what, and how much at a time. Thread-safe; does not block. */
final class Handshake {
  /** What there is no code for. */
  private static final Set<StreamOption> NOT_GRANTED = Set.of(StreamOption.SHARED_MEMORY);

  /** Whose rules hold: a stream of messages is no other thing over gRPC. */
  private static final ApiMethod METHOD =
      ApiMethod.of("inference.GRPCInferenceService/ModelStreamInfer");

  private final Access access;
  private final StreamTargets targets;
  private final int maxWindow;
  private final long windowBytes;

  /**
   * @param rights of the caller; null when nothing is checked
   */
  record Agreed(
      ServerReply reply,
      StreamTarget target,
      Set<StreamOption> options,
      int window,
      @Nullable CallerRights rights) {}

  /**
   * @param windowBytes of the messages of one connection that may be under way
   */
  Handshake(Access access, StreamTargets targets, int maxWindow, long windowBytes) {
    this.access = access;
    this.targets = targets;
    this.maxWindow = maxWindow;
    this.windowBytes = windowBytes;
  }

  /**
   * @param session of TLS; null for plain text
   */
  Agreed answer(ClientHello hello, SocketAddress from, @Nullable SSLSession session)
      throws HelloRefusedException {
    int version = ClientHello.VERSION;
    if (hello.lowest() > version || hello.highest() < version) {
      throw new HelloRefusedException(
          HelloStatus.BAD_HELLO,
          "the client speaks versions %d to %d of TSTREAM, and this server speaks %d"
              .formatted(hello.lowest(), hello.highest(), version));
    }
    if (hello.window() <= 0) {
      throw new HelloRefusedException(
          HelloStatus.BAD_HELLO,
          "the hello asks for a window of %s messages; from 1 to %d are possible"
              .formatted(Integer.toUnsignedString(hello.window()), Integer.MAX_VALUE));
    }
    CallerRights rights = admit(hello, from, session);
    StreamTarget target = targets.find(hello);
    Set<StreamOption> options = EnumSet.noneOf(StreamOption.class);
    options.addAll(hello.options());
    options.removeAll(NOT_GRANTED);
    int window = window(hello, target);
    ServerReply reply =
        new ServerReply(
            version, HelloStatus.OK, options, window, target.generation(), target.spec(), "");
    return new Agreed(reply, target, options, window, rights);
  }

  private @Nullable CallerRights admit(
      ClientHello hello, SocketAddress from, @Nullable SSLSession session)
      throws HelloRefusedException {
    if (access.isFree(METHOD)) {
      return null;
    }
    String token = hello.token();
    Credentials shown =
        new Credentials(from, session, token.isEmpty() ? null : "Bearer " + token, null);
    try {
      Admitted caller = access.admit(METHOD.category(), false, "TSTREAM", shown);
      caller.requireModel(hello.model());
      return caller;
    } catch (StatusException e) {
      throw new HelloRefusedException(
          HelloStatus.UNAUTHORISED, String.valueOf(e.getStatus().getDescription()));
    }
  }

  private int window(ClientHello hello, StreamTarget target) {
    StreamSpec spec = target.spec();
    long each = Math.max(1, Math.max(spec.requestBytes(), spec.responseBytes()));
    long fitting = Math.max(1, windowBytes / each);
    return (int) Math.min(Math.min(hello.window(), maxWindow), fitting);
  }
}
