package dev.roundhouse.gateway.stream;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.tstream.HelloRefusedException;
import dev.roundhouse.transport.forward.LostCall;
import dev.roundhouse.transport.forward.Refusal;
import io.grpc.Status;
import java.net.ConnectException;

/**
 * Replies to hellos as the statuses by which routes are chosen and counted, and back. A hello
 * begins nothing at a worker, so that any number of them may be asked.
 */
final class ReplyStatus {
  private ReplyStatus() {}

  /** Of a worker's reply. */
  static Status of(ServerReply reply) {
    Status status =
        switch (reply.status()) {
          case OK -> Status.OK;
          case NO_SUCH_MODEL -> Status.NOT_FOUND;
          case NOT_READY -> Status.UNAVAILABLE.withCause(Refusal.OF_MODEL);
          case OVERLOADED -> Status.RESOURCE_EXHAUSTED.withCause(Refusal.OF_MODEL);
          case OTHER_SPEC, BAD_HELLO -> Status.INVALID_ARGUMENT;
          case NOT_FIXED -> Status.FAILED_PRECONDITION;
          case UNAUTHORISED -> Status.PERMISSION_DENIED;
        };
    return status.withDescription(reply.text());
  }

  /** Whether another worker may take what this one has refused. */
  static boolean isForAnother(HelloStatus status) {
    return switch (status) {
      case NO_SUCH_MODEL, NOT_READY, OVERLOADED -> true;
      case OK, OTHER_SPEC, NOT_FIXED, UNAUTHORISED, BAD_HELLO -> false;
    };
  }

  /** Of a worker that there is no connection to. */
  static Status unreachable(String worker, String why) {
    return Status.UNAVAILABLE
        .withDescription("%s cannot be reached: %s".formatted(worker, why))
        .withCause(new ConnectException(why));
  }

  /** Of a worker that has accepted the connection, and has not replied. */
  static Status lost(String text) {
    return Status.UNAVAILABLE
        .withDescription(text)
        .withCause(new LostCall(text, LostCall.Seen.NO, LostCall.Fault.SERVERS));
  }

  /** What a client is told of a status that is not a worker's reply. */
  static HelloRefusedException refusal(Status status) {
    HelloStatus told =
        switch (status.getCode()) {
          case UNAVAILABLE -> HelloStatus.NOT_READY;
          case NOT_FOUND -> HelloStatus.NO_SUCH_MODEL;
          case RESOURCE_EXHAUSTED -> HelloStatus.OVERLOADED;
          case PERMISSION_DENIED, UNAUTHENTICATED -> HelloStatus.UNAUTHORISED;
          default -> HelloStatus.BAD_HELLO;
        };
    return new HelloRefusedException(told, String.valueOf(status.getDescription()));
  }
}
