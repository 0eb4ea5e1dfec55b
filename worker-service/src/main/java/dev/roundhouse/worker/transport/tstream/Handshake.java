package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.platform.tstream.HelloToken;
import dev.roundhouse.platform.tstream.StreamAccess;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.worker.transport.Inference;
import java.net.SocketAddress;
import java.util.EnumSet;
import java.util.Set;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** Answers hellos: who may send, to what, and how much at a time. Thread-safe; does not block. */
final class Handshake {
  private final StreamAccess access;
  private final Inference inference;
  private final StreamTargets targets;
  private final int maxWindow;
  private final long windowBytes;

  /**
   * @param rights of the caller; null when nothing is checked
   * @param places in shared memory; null when messages carry their tensors
   * @param caller of a gateway's client, as its gateway calls it; null for none
   */
  record Agreed(
      ServerReply reply,
      StreamTarget target,
      Set<StreamOption> options,
      int window,
      @Nullable CallerRights rights,
      @Nullable SharedPlaces places,
      @Nullable String caller) {}

  /**
   * @param windowBytes of the messages of one connection that may be under way
   */
  Handshake(
      Access access, Inference inference, StreamTargets targets, int maxWindow, long windowBytes) {
    this.access = new StreamAccess(access);
    this.inference = inference;
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
    HelloToken token = HelloToken.read(hello.token());
    CallerRights rights = access.admit(hello, token, from, session);
    StreamTarget target = targets.find(hello);
    Set<StreamOption> options = EnumSet.noneOf(StreamOption.class);
    options.addAll(hello.options());
    SharedPlaces places = places(hello);
    int window = window(hello, target);
    ServerReply reply =
        new ServerReply(
            version, HelloStatus.OK, options, window, target.generation(), target.spec(), "");
    return new Agreed(reply, target, options, window, rights, places, token.caller());
  }

  private @Nullable SharedPlaces places(ClientHello hello) throws HelloRefusedException {
    boolean isShared = hello.options().contains(StreamOption.SHARED_MEMORY);
    if (!isShared && hello.inputRegion().isEmpty() && hello.outputRegion().isEmpty()) {
      return null;
    }
    if (!isShared) {
      throw new HelloRefusedException(
          HelloStatus.BAD_HELLO,
          "the hello names regions of shared memory without the option to use them, 4");
    }
    try {
      return SharedPlaces.open(hello, inference);
    } catch (WireException e) {
      throw new HelloRefusedException(HelloStatus.BAD_HELLO, String.valueOf(e.getMessage()));
    }
  }

  private int window(ClientHello hello, StreamTarget target) {
    StreamSpec spec = target.spec();
    boolean isShared = hello.options().contains(StreamOption.SHARED_MEMORY);
    int received = isShared ? SharedPlaces.BYTES : spec.requestBytes();
    long each = Math.max(1, Math.max(received, spec.responseBytes()));
    long fitting = Math.max(1, windowBytes / each);
    return (int) Math.min(Math.min(hello.window(), maxWindow), fitting);
  }
}
