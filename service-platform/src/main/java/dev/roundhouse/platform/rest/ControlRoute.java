package dev.roundhouse.platform.rest;

import com.google.protobuf.Message;
import dev.roundhouse.platform.grpc.LocalClient;
import io.grpc.MethodDescriptor;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One route that controls the server or queries it.
 *
 * @param method HTTP method
 * @param template of the path; a part in braces stands for whatever a request has there
 * @param readsBody whether a request's body is waited for
 * @param answering makes the answer; null where others answer
 */
record ControlRoute(
    String method, String template, boolean readsBody, @Nullable Answering answering) {

  /** Makes an answer, on a virtual thread. */
  interface Answering {
    /**
     * @param services answer calls of gRPC
     * @throws io.grpc.StatusRuntimeException what a call ended with
     * @throws dev.roundhouse.kserve.status.WireException when the request cannot be read
     */
    ControlAnswer answer(ControlRequest request, LocalClient services);
  }

  static ControlRoute get(String template, Answering answering) {
    return new ControlRoute("GET", template, false, answering);
  }

  /** With a request body. */
  static ControlRoute post(String template, Answering answering) {
    return new ControlRoute("POST", template, true, answering);
  }

  /** Without a request body. */
  static ControlRoute postWithoutBody(String template, Answering answering) {
    return new ControlRoute("POST", template, false, answering);
  }

  /** Answered by one gRPC call, the same for every request. */
  static <Q extends Message, R extends Message> Answering by(
      MethodDescriptor<Q, R> method,
      Function<ControlRequest, Q> asked,
      Function<R, ControlAnswer> answer) {
    return by(method, asked, (request, told) -> answer.apply(told));
  }

  /** Answered by one gRPC call. */
  static <Q extends Message, R extends Message> Answering by(
      MethodDescriptor<Q, R> method,
      Function<ControlRequest, Q> asked,
      BiFunction<ControlRequest, R, ControlAnswer> answer) {
    return (request, services) -> answer.apply(request, services.ask(method, asked.apply(request)));
  }
}
