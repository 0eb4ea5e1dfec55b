package dev.roundhouse.kserve.v1;

import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.InferRequestHeader;

/** Messages in protobuf's text form, as v1 writes them in headers of HTTP. */
public final class HeaderText {
  /** Of a request. */
  public static final String REQUEST = "NV-InferRequest";

  /** Of the answer to one. */
  public static final String RESPONSE = "NV-InferResponse";

  /** How any call went. */
  public static final String STATUS = "NV-Status";

  private static final TextFormat.Printer LINE = TextFormat.printer().emittingSingleLine(true);

  private HeaderText() {}

  /** One line of plain ASCII. */
  public static String of(Message message) {
    return LINE.printToString(message).strip();
  }

  /**
   * Reads {@link #REQUEST}.
   *
   * @throws WireException INVALID_ARGUMENT when that is something else; an unknown field is refused
   *     by its name
   */
  public static InferRequestHeader request(String text) {
    InferRequestHeader.Builder header = InferRequestHeader.newBuilder();
    try {
      TextFormat.merge(text, header);
    } catch (TextFormat.ParseException e) {
      throw WireException.invalidArgument(
          "header %s is no InferRequestHeader in protobuf's text form: %s"
              .formatted(REQUEST, e.getMessage()));
    }
    return header.build();
  }
}
