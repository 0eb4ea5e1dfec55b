package dev.roundhouse.kserve.tstream;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.codec.DataTypes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;

/**
 * The tensors of each message and of each result, in order, and where each lies: from 64 bytes to
 * 64 bytes, so that they can be used where they arrive. Both sides hold theirs against the other's.
 *
 * @param inputs of a message, at least one
 * @param outputs of a result, at least one
 */
public record StreamSpec(List<StreamTensor> inputs, List<StreamTensor> outputs) {
  /** Where each tensor of a message begins is a multiple of this. */
  public static final int ALIGNMENT = 64;

  /** More tensors than a bundle has inputs, and few enough to be read in no time. */
  public static final int MOST_TENSORS = 1024;

  private static final int MOST_DIMENSIONS = 32;
  private static final int MOST_NAME_BYTES = 1024;
  private static final int FIXED_BYTES = 8;
  private static final int PADDING = 4;

  /**
   * @throws IllegalArgumentException when a message or a result would have more than {@link
   *     Integer#MAX_VALUE} bytes
   */
  public StreamSpec {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    if (!fits(inputs) || !fits(outputs)) {
      throw new IllegalArgumentException(
          "a message or a result has more than %d bytes".formatted(Integer.MAX_VALUE));
    }
  }

  private static boolean fits(List<StreamTensor> tensors) {
    try {
      return payloadBytes(tensors) <= Integer.MAX_VALUE;
    } catch (ArithmeticException e) {
      return false;
    }
  }

  /** Bytes of a message's tensors with what lies between them. */
  public int requestBytes() {
    return (int) payloadBytes(inputs);
  }

  /** As {@link #requestBytes}, of a result. */
  public int responseBytes() {
    return (int) payloadBytes(outputs);
  }

  /** Where an input begins in a message's tensors. */
  public int inputOffset(int input) {
    return (int) offset(inputs, input);
  }

  /** Where an output begins in a result's tensors. */
  public int outputOffset(int output) {
    return (int) offset(outputs, output);
  }

  private static long payloadBytes(List<StreamTensor> tensors) {
    int last = tensors.size() - 1;
    return last < 0 ? 0 : Math.addExact(offset(tensors, last), tensors.get(last).byteSize());
  }

  private static long offset(List<StreamTensor> tensors, int index) {
    long offset = 0;
    for (int i = 0; i < index; i++) {
      offset = aligned(Math.addExact(offset, tensors.get(i).byteSize()));
    }
    return offset;
  }

  private static long aligned(long bytes) {
    return Math.addExact(bytes, ALIGNMENT - 1) & -ALIGNMENT;
  }

  /** The spec block, as it stands in hello and reply. */
  public byte[] encoded() {
    int bytes = 0;
    for (List<StreamTensor> tensors : List.of(inputs, outputs)) {
      for (StreamTensor tensor : tensors) {
        bytes += padded(FIXED_BYTES + 4 * tensor.shape().rank() + nameBytes(tensor).length);
      }
    }
    ByteBuffer block = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    put(block, inputs);
    put(block, outputs);
    return block.array();
  }

  private static void put(ByteBuffer block, List<StreamTensor> tensors) {
    for (int i = 0; i < tensors.size(); i++) {
      StreamTensor tensor = tensors.get(i);
      byte[] name = nameBytes(tensor);
      block.put((byte) DataTypes.of(tensor.dtype()).getNumber());
      block.put((byte) tensor.shape().rank());
      block.putShort((short) name.length);
      block.putInt((int) offset(tensors, i));
      for (int axis = 0; axis < tensor.shape().rank(); axis++) {
        block.putInt((int) tensor.shape().dim(axis));
      }
      block.put(name);
      block.position(padded(block.position()));
    }
  }

  private static byte[] nameBytes(StreamTensor tensor) {
    return tensor.name().getBytes(StandardCharsets.UTF_8);
  }

  private static int padded(int bytes) {
    return (bytes + PADDING - 1) & -PADDING;
  }

  /** The first eight bytes of the SHA-256 of {@link #encoded}, as one number; never 0. */
  public long digest() {
    try {
      byte[] hash = MessageDigest.getInstance("SHA-256").digest(encoded());
      long digest = ByteBuffer.wrap(hash).order(ByteOrder.LITTLE_ENDIAN).getLong();
      return digest == 0 ? 1 : digest; // 0 says in a hello that there is none
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e); // every JDK has it
    }
  }

  /**
   * Reads a block to its end.
   *
   * @param block little-endian; its position is moved
   * @param whose in texts, such as {@code the client's}
   * @throws MalformedStreamException when it is none, or a tensor lies elsewhere than it should
   */
  static StreamSpec read(ByteBuffer block, int inputs, int outputs, String whose)
      throws MalformedStreamException {
    if (inputs + outputs > MOST_TENSORS) {
      throw new MalformedStreamException(
          "%s spec has %d inputs and %d outputs; there may be %d together"
              .formatted(whose, inputs, outputs, MOST_TENSORS));
    }
    List<StreamTensor> ofMessages = readTensors(block, inputs, "input", whose);
    List<StreamTensor> ofResults = readTensors(block, outputs, "output", whose);
    return new StreamSpec(ofMessages, ofResults);
  }

  private static List<StreamTensor> readTensors(
      ByteBuffer block, int count, String kind, String whose) throws MalformedStreamException {
    int start = block.position();
    List<StreamTensor> tensors = new ArrayList<>(count);
    long[] offsets = new long[count];
    for (int i = 0; i < count; i++) {
      String place = "%s %d of %s spec".formatted(kind, i, whose);
      require(block, FIXED_BYTES, place);
      int code = block.get() & 0xff;
      int rank = block.get() & 0xff;
      int nameBytes = block.getShort() & 0xffff;
      offsets[i] = block.getInt() & 0xffff_ffffL;
      if (rank > MOST_DIMENSIONS || nameBytes > MOST_NAME_BYTES) {
        throw new MalformedStreamException(
            "%s has %d dimensions and a name of %d bytes; there may be %d and %d"
                .formatted(place, rank, nameBytes, MOST_DIMENSIONS, MOST_NAME_BYTES));
      }
      require(block, padded(4 * rank + nameBytes), place);
      tensors.add(readTensor(block, code, rank, nameBytes, place));
      block.position(start + padded(block.position() - start));
    }
    for (int i = 0; i < count; i++) {
      requireOffset(tensors, i, offsets[i], kind, whose);
    }
    return tensors;
  }

  private static StreamTensor readTensor(
      ByteBuffer block, int code, int rank, int nameBytes, String place)
      throws MalformedStreamException {
    long[] dims = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      dims[axis] = block.getInt();
      if (dims[axis] < 0) {
        throw new MalformedStreamException(
            "%s has dimension %d, and %d is the most"
                .formatted(place, Integer.toUnsignedLong((int) dims[axis]), Integer.MAX_VALUE));
      }
    }
    String name = Texts.read(block, nameBytes, "a tensor's name");
    DType dtype = DataTypes.of(code);
    if (dtype == null || !dtype.fixedSize()) {
      throw new MalformedStreamException(
          "tensor '%s' has dtype code %d, which is none; FP32 is 11".formatted(name, code));
    }
    return new StreamTensor(name, dtype, Shape.of(dims));
  }

  private static void requireOffset(
      List<StreamTensor> tensors, int index, long said, String kind, String whose)
      throws MalformedStreamException {
    if (!fits(tensors.subList(0, index + 1))) {
      throw new MalformedStreamException(
          "the %ss of %s spec have more than %d bytes".formatted(kind, whose, Integer.MAX_VALUE));
    }
    long offset = offset(tensors, index);
    if (said != offset) {
      throw new MalformedStreamException(
          "%s '%s' of %s spec begins at byte %d, and after those before it, at a multiple of %d, that is %d"
              .formatted(kind, tensors.get(index).name(), whose, said, ALIGNMENT, offset));
    }
  }

  private static void require(ByteBuffer block, int bytes, String place)
      throws MalformedStreamException {
    if (block.remaining() < bytes) {
      throw new MalformedStreamException(
          "%s needs %d bytes, and the block has %d more"
              .formatted(place, bytes, block.remaining()));
    }
  }

  /**
   * The first difference, in words; empty when there is none.
   *
   * @param theirs what the other side has said
   * @param who says it, such as {@code the client}
   * @param model whose spec this is
   */
  public String differenceTo(StreamSpec theirs, String who, String model) {
    String inputsDiffer = difference("input", inputs, theirs.inputs, who, model);
    return inputsDiffer.isEmpty()
        ? difference("output", outputs, theirs.outputs, who, model)
        : inputsDiffer;
  }

  private static String difference(
      String kind, List<StreamTensor> own, List<StreamTensor> theirs, String who, String model) {
    for (int i = 0; i < Math.min(own.size(), theirs.size()); i++) {
      if (!own.get(i).equals(theirs.get(i))) {
        return "%s %d of model '%s' is %s, and %s has %s"
            .formatted(kind, i, model, own.get(i), who, theirs.get(i));
      }
    }
    return own.size() == theirs.size()
        ? ""
        : "model '%s' has %d %ss, and %s has %d"
            .formatted(model, own.size(), kind, who, theirs.size());
  }
}
