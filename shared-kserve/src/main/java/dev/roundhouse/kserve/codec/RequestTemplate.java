package dev.roundhouse.kserve.codec;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.status.WireException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An earlier request, read and checked, without its id and data. Clients that repeat a request send
 * the same bytes around these two, so a message that matches needs neither parsing nor checks.
 * Immutable.
 */
final class RequestTemplate {
  /** Bytes without id and data; longer requests are parsed each time. */
  static final int LONGEST = 512;

  /** Bytes of a message that may have a template. */
  static final int SHORTEST = 16;

  private static final int ID = WireTag.bytes(ModelInferRequest.ID_FIELD_NUMBER);
  private static final int RAW = WireTag.bytes(ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER);
  private static final long MIX = 0x9E3779B97F4A7C15L;
  private static final int NO_LENGTH = -1;
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).asReadOnlyBuffer();

  /** Up to the length of the id, or to the first data where there is none; and what follows it. */
  private final byte[] head;

  private final byte[] tail;
  private final boolean hasId;

  /** Of the data of each input that has its data in the message, in order. */
  private final int[] rawBytes;

  /** Without id and data. */
  private final WireRequest request;

  private RequestTemplate(
      byte[] head, byte[] tail, boolean hasId, int[] rawBytes, WireRequest request) {
    this.head = head;
    this.tail = tail;
    this.hasId = hasId;
    this.rawBytes = rawBytes;
    this.request = request;
  }

  /**
   * Says in its highest bits where to look for the template of a message that begins with a model's
   * name. Equal for messages of one template whose ids have the same length.
   *
   * @param in little-endian, {@link #SHORTEST} bytes and more
   */
  static long hash(ByteBuffer in, int begin, int end) {
    int name = in.get(begin + 1);
    int last = Math.max(0, name - Long.BYTES);
    boolean whole = name >= Long.BYTES && begin + 2 + name <= end;
    long text = in.getLong(begin + 2 + (whole ? last : 0));
    if (!whole) {
      text &= (1L << (name & Long.BYTES - 1) * Byte.SIZE) - 1;
    }
    return ((text ^ name) * MIX ^ (end - begin)) * MIX;
  }

  /**
   * The template of a message that was read. Null where there can be none: where the data is not at
   * the end, or has to be looked at to check the request.
   *
   * @param in little-endian, the message from position to limit
   * @throws WireException when it makes no sense
   */
  static @Nullable RequestTemplate of(ByteBuffer in, ReadMessage read)
      throws MalformedMessageException {
    for (TensorHeader header : read.inputs()) {
      TensorSource source = header.source();
      boolean isLookedInto = DType.fromKserveName(header.datatype()).orElse(null) == DType.BYTES;
      if (isLookedInto || !(source == TensorSource.NONE || source instanceof TensorSource.Raw)) {
        return null;
      }
    }
    WireRequest checked = RequestCheck.check(read);
    int count = checked.inputs().size();
    List<WireInput> inputs = new ArrayList<>(count);
    int[] lengths = new int[count];
    int inline = 0;
    for (WireInput input : checked.inputs()) {
      if (input.data() instanceof WireInput.Inline(ByteBuffer data)) {
        lengths[inline++] = data.remaining();
        inputs.add(with(input, NOTHING));
      } else {
        inputs.add(input);
      }
    }
    Cut cut = cut(in);
    if (cut == null || cut.raws != inline || cut.end - in.position() > LONGEST) {
      return null;
    }
    return new RequestTemplate(
        bytes(in, in.position(), cut.headEnd),
        bytes(in, cut.tailBegin, cut.end),
        cut.hasId,
        Arrays.copyOf(lengths, inline),
        checked.with("", inputs));
  }

  /** Where id and data of a message are: the id between head and tail, the data from its end on. */
  private record Cut(int headEnd, int tailBegin, boolean hasId, int end, int raws) {}

  private static @Nullable Cut cut(ByteBuffer in) throws MalformedMessageException {
    WireCursor cursor = new WireCursor(in);
    int headEnd = cursor.position();
    int tailBegin = headEnd;
    boolean hasId = false;
    int end = headEnd;
    int raws = 0;
    for (int tag = cursor.tag(); tag != 0; tag = cursor.tag()) {
      if (tag == RAW) {
        raws++;
        cursor.skip(tag);
        continue;
      }
      if (raws > 0 || hasId && tag == ID) {
        return null; // of several ids the last counts
      }
      if (tag == ID) {
        hasId = true;
        headEnd = cursor.position();
        cursor.skip(tag);
        tailBegin = cursor.position();
      } else {
        cursor.skip(tag);
      }
      end = cursor.position();
    }
    return new Cut(headEnd, tailBegin, hasId, end, raws);
  }

  private static WireInput with(WireInput input, ByteBuffer data) {
    return new WireInput(input.name(), input.dtype(), input.shape(), new WireInput.Inline(data));
  }

  private static byte[] bytes(ByteBuffer in, int from, int to) {
    byte[] bytes = new byte[to - from];
    in.get(from, bytes);
    return bytes;
  }

  /**
   * Reads a message that matches this template.
   *
   * @param in little-endian; its data is not copied
   * @return null when it does not match
   */
  @Nullable InferMessage read(ByteBuffer in, int begin, int end, MessageMemory memory) {
    int at = begin;
    if (!isAt(head, in, at, end)) {
      return null;
    }
    at += head.length;
    String id = "";
    if (hasId) {
      int length = at < end ? in.get(at) : NO_LENGTH;
      at++;
      if (length < 0 || length > end - at) {
        return null;
      }
      id = ascii(in, at, length);
      if (id == null) {
        return null;
      }
      at += length;
    }
    if (!isAt(tail, in, at, end)) {
      return null;
    }
    return withData(in, at + tail.length, end, id, memory);
  }

  private static boolean isAt(byte[] known, ByteBuffer in, int at, int end) {
    return known.length <= end - at && NameCache.same(known, in, at);
  }

  private static @Nullable String ascii(ByteBuffer in, int at, int length) {
    if (length == 0) {
      return "";
    }
    byte[] bytes = new byte[length];
    int any = 0;
    for (int i = 0; i < length; i++) {
      byte next = in.get(at + i);
      bytes[i] = next;
      any |= next;
    }
    return any < 0 ? null : new String(bytes, StandardCharsets.ISO_8859_1);
  }

  private @Nullable InferMessage withData(
      ByteBuffer in, int from, int end, String id, MessageMemory memory) {
    List<WireInput> known = request.inputs();
    WireInput[] inputs = new WireInput[known.size()];
    int at = from;
    int next = 0;
    for (int i = 0; i < inputs.length; i++) {
      WireInput input = known.get(i);
      if (input.data() instanceof WireInput.Inline) {
        int bytes = rawBytes[next++];
        at = dataAt(in, at, end, bytes);
        if (at == NO_LENGTH) {
          return null;
        }
        input = with(input, in.asReadOnlyBuffer().limit(at + bytes).position(at));
        at += bytes;
      }
      inputs[i] = input;
    }
    return at == end ? new KnownMessage(request.with(id, Arrays.asList(inputs)), memory) : null;
  }

  /** Where data of a length begins; {@link #NO_LENGTH} when there is other data, or none. */
  private static int dataAt(ByteBuffer in, int from, int end, int bytes) {
    if (from >= end || in.get(from) != RAW) {
      return NO_LENGTH;
    }
    int at = from + 1;
    int length = 0;
    for (int shift = 0; at < end && shift < Integer.SIZE - 4; shift += 7) {
      byte next = in.get(at++);
      length |= (next & 0x7F) << shift;
      if (next >= 0) {
        return length == bytes && bytes <= end - at ? at : NO_LENGTH;
      }
    }
    return NO_LENGTH;
  }
}
