package dev.roundhouse.platform.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import dev.roundhouse.kserve.codec.EncodedMessage;
import dev.roundhouse.kserve.codec.MessageLimits;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireStatus;
import dev.roundhouse.platform.grpc.ReceivingMarshaller.MessageReader;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A service whose requests are checked against limits while they are read: ModelInfer by its own
 * reader, every other message by its size. An unreadable message ends its call with
 * INVALID_ARGUMENT before the service is called. The text of a status never contains a path of this
 * machine.
 */
public final class GuardedService {
  /** Of any request but ModelInfer. The largest that clients send has a model's name in it. */
  private static final int MAX_CONTROL_BYTES = 1 << 20;

  private GuardedService() {}

  /**
   * @param texts error texts for callers
   */
  public static ServerServiceDefinition of(ServerServiceDefinition service, ClientText texts) {
    return withMethods(service, method -> guarded(method, texts));
  }

  /** The service with other methods of the same names in place of its own. */
  public static ServerServiceDefinition withMethods(
      ServerServiceDefinition service, UnaryOperator<ServerMethodDefinition<?, ?>> other) {
    List<ServerMethodDefinition<?, ?>> methods = new ArrayList<>();
    service.getMethods().forEach(method -> methods.add(other.apply(method)));
    ServiceDescriptor.Builder descriptor =
        ServiceDescriptor.newBuilder(service.getServiceDescriptor().getName())
            .setSchemaDescriptor(service.getServiceDescriptor().getSchemaDescriptor());
    methods.forEach(method -> descriptor.addMethod(method.getMethodDescriptor()));
    ServerServiceDefinition.Builder with = ServerServiceDefinition.builder(descriptor.build());
    methods.forEach(with::addMethod);
    return with.build();
  }

  private static <Q, R> ServerMethodDefinition<Received<Q>, R> guarded(
      ServerMethodDefinition<Q, R> method, ClientText texts) {
    MethodDescriptor<Q, R> descriptor = method.getMethodDescriptor();
    var marshaller = new ReceivingMarshaller<>(descriptor.getFullMethodName(), reader(descriptor));
    return ServerMethodDefinition.create(
        descriptor.toBuilder(marshaller, descriptor.getResponseMarshaller()).build(),
        guarded(method.getServerCallHandler(), texts));
  }

  @SuppressWarnings("unchecked") // a marshaller says what its messages are
  private static <Q> MessageReader<Q> reader(MethodDescriptor<Q, ?> method) {
    if (method.getRequestMarshaller() instanceof MessageReader<?> own) {
      return (MessageReader<Q>) own;
    }
    var marshaller = (PrototypeMarshaller<Q>) method.getRequestMarshaller();
    Message prototype = (Message) Objects.requireNonNull(marshaller.getMessagePrototype());
    var parser = (Parser<Q>) DiscardUnknownFieldsParser.wrap(prototype.getParserForType());
    return (stream, length) -> control(parser, stream, length);
  }

  private static <Q> Q control(Parser<Q> parser, InputStream stream, int length)
      throws IOException {
    if (length > MAX_CONTROL_BYTES) {
      throw new WireException(
          WireStatus.RESOURCE_EXHAUSTED,
          "the request has %d bytes, the limit is %d".formatted(length, MAX_CONTROL_BYTES));
    }
    CodedInputStream in = CodedInputStream.newInstance(stream);
    in.setSizeLimit(MAX_CONTROL_BYTES);
    Q message = parser.parseFrom(in);
    in.checkLastTagWas(0);
    if (message instanceof Message parsed) {
      parsed.getAllFields().forEach(GuardedService::requireName);
    }
    return message;
  }

  /** Names of models and regions, and versions, are short and can be read. */
  private static void requireName(FieldDescriptor field, Object value) {
    if (!(value instanceof String text)
        || !(field.getName().endsWith("name") || field.getName().endsWith("version"))) {
      return;
    }
    MessageLimits.requireName(field.getName(), text);
    if (text.chars().anyMatch(Character::isISOControl)) {
      throw WireException.invalidArgument(
          "%s has a control character, which no name has".formatted(field.getName()));
    }
  }

  @SuppressWarnings("unchecked") // a call's type is that of its method's marshaller alone
  private static <Q, R> ServerCallHandler<Received<Q>, R> guarded(
      ServerCallHandler<Q, R> handler, ClientText texts) {
    return (call, headers) -> {
      var guarded = new GuardedCall<>((ServerCall<Q, R>) (ServerCall<?, R>) call, texts);
      return new GuardedListener<>(guarded, handler.startCall(guarded, headers));
    };
  }

  /**
   * A call that can be refused on the connection's event loop while another thread answers it:
   * whatever is written after that goes nowhere.
   */
  private static final class GuardedCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final ClientText texts;

    /** The share of the call's connection; null in-process. */
    private final @Nullable ConnectionShare share;

    /** The same as the transport counts it; null where it does not. */
    private final @Nullable ConnectionMemory memory;

    /** Bytes of answers not counted elsewhere: the engine counts answers to inference. */
    private final AtomicLong kept = new AtomicLong();

    /** Bytes answered; counted as unread until the call is over. */
    private final AtomicLong answered = new AtomicLong();

    /** Looked at without the lock: an event loop must not wait for an answer to be copied. */
    private volatile boolean refused;

    private boolean closed;

    GuardedCall(ServerCall<Q, R> call, ClientText texts) {
      super(call);
      this.texts = texts;
      share = call.getAttributes().get(ConnectionShare.KEY);
      memory = call.getAttributes().get(ConnectionMemory.KEY);
    }

    /** Why the connection takes no further call; null when it does. */
    @Nullable String refusal() {
      return share == null ? null : share.refusal(getAttributes());
    }

    synchronized void refuse(Status status) {
      if (!closed) {
        close(status, new Metadata());
      }
      refused = true;
    }

    boolean isRefused() {
      return refused;
    }

    @Override
    public synchronized void sendHeaders(Metadata headers) {
      if (!refused) {
        super.sendHeaders(headers);
      }
    }

    @Override
    public synchronized void sendMessage(R message) {
      if (refused) {
        return;
      }
      if (share != null) {
        sentWhenReady();
        int bytes = byteSize(message);
        answered.addAndGet(bytes);
        share.add(bytes);
      }
      String full = memory == null ? null : keep(memory, message);
      if (full == null) {
        super.sendMessage(message);
      } else {
        refuse(Status.RESOURCE_EXHAUSTED.withDescription(full));
      }
    }

    /** Null when there is room for an answer; otherwise why not. */
    private @Nullable String keep(ConnectionMemory counted, R message) {
      if (!(message instanceof Message parsed)) {
        return null;
      }
      int bytes = parsed.getSerializedSize();
      String full = counted.take(Kept.ANSWER, bytes);
      kept.addAndGet(full == null ? bytes : 0);
      return full;
    }

    private static int byteSize(Object message) {
      return switch (message) {
        case EncodedMessage encoded -> encoded.byteSize();
        case Message parsed -> parsed.getSerializedSize();
        default -> throw new IllegalArgumentException("no size is known of " + message.getClass());
      };
    }

    /** A call that takes more has sent what it was given before, but for what it may hold back. */
    void sentWhenReady() {
      if (!getMethodDescriptor().getType().serverSendsOneMessage() && isReady()) {
        over();
      }
    }

    /** Everything was sent, or will never be. */
    void over() {
      if (share != null) {
        share.giveBack(answered.getAndSet(0));
      }
      if (memory != null) {
        giveBack(memory);
      }
    }

    private void giveBack(ConnectionMemory counted) {
      long taken = kept.get() == 0 ? 0 : kept.getAndSet(0);
      if (taken > 0) {
        counted.giveBack(Kept.ANSWER, taken);
      }
    }

    @Override
    public synchronized void close(Status status, Metadata trailers) {
      if (refused) {
        return;
      }
      closed = true;
      String description = status.getDescription();
      super.close(
          description == null ? status : status.withDescription(texts.of(description)), trailers);
    }
  }

  /** Passes messages on; ends the call at the first refusal, which the service never sees. */
  private static final class GuardedListener<Q> extends ServerCall.Listener<Received<Q>> {
    private final GuardedCall<Q, ?> call;
    private final ServerCall.Listener<Q> listener;

    GuardedListener(GuardedCall<Q, ?> call, ServerCall.Listener<Q> listener) {
      this.call = call;
      this.listener = listener;
    }

    @Override
    public void onMessage(Received<Q> received) {
      if (call.isRefused()) {
        return;
      }
      switch (received) {
        case Received.Message<Q> message -> {
          String full = call.refusal();
          if (full == null) {
            listener.onMessage(message.value());
          } else {
            call.refuse(Status.RESOURCE_EXHAUSTED.withDescription(full));
          }
        }
        case Received.Refusal<Q> refusal -> call.refuse(refusal.status());
      }
    }

    @Override
    public void onHalfClose() {
      if (!call.isRefused()) {
        listener.onHalfClose();
      }
    }

    @Override
    public void onReady() {
      call.sentWhenReady();
      if (!call.isRefused()) {
        listener.onReady();
      }
    }

    @Override
    public void onCancel() {
      call.over();
      listener.onCancel();
    }

    @Override
    public void onComplete() {
      call.over();
      listener.onComplete();
    }
  }
}
