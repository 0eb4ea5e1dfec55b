package dev.roundhouse.gateway.payload;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.InferTensorContents;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.platform.payload.PayloadBody.Document;
import dev.roundhouse.platform.payload.PayloadTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Messages of gRPC as the documents of REST. */
final class CallDocuments {
  private static final int PREFIX_BYTES = 5;
  private static final String ELSEWHERE = "shared_memory_region";

  private CallDocuments() {}

  /**
   * @param framed a message with its prefix
   * @return null when it is compressed, or no request
   */
  static @Nullable Document request(byte[] framed) {
    ByteBuffer message = message(framed);
    if (message == null) {
      return null;
    }
    try {
      ModelInferRequest request = ModelInferRequest.parseFrom(message);
      Tensors tensors = new Tensors(request.getRawInputContentsList());
      for (ModelInferRequest.InferInputTensor input : request.getInputsList()) {
        tensors.add(
            input.getName(),
            input.getDatatype(),
            input.getShapeList(),
            input.getParametersMap(),
            input.getContents());
      }
      return new Document(request.getId(), null, null, true, tensors.all);
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      return null;
    }
  }

  /** As {@link #request}, of an answer. */
  static @Nullable Document answer(byte[] framed) {
    ByteBuffer message = message(framed);
    if (message == null) {
      return null;
    }
    try {
      ModelInferResponse answer = ModelInferResponse.parseFrom(message);
      Tensors tensors = new Tensors(answer.getRawOutputContentsList());
      for (ModelInferResponse.InferOutputTensor output : answer.getOutputsList()) {
        tensors.add(
            output.getName(),
            output.getDatatype(),
            output.getShapeList(),
            output.getParametersMap(),
            output.getContents());
      }
      return new Document(
          answer.getId(), answer.getModelName(), answer.getModelVersion(), false, tensors.all);
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      return null;
    }
  }

  private static @Nullable ByteBuffer message(byte[] framed) {
    ByteBuffer bytes = ByteBuffer.wrap(framed);
    if (framed.length < PREFIX_BYTES
        || bytes.get() != 0
        || bytes.getInt() != framed.length - PREFIX_BYTES) {
      return null;
    }
    return bytes;
  }

  private static final class Tensors {
    private final List<ByteString> raw;
    private final List<PayloadTensor> all = new ArrayList<>();
    private int nextRaw;

    Tensors(List<ByteString> raw) {
      this.raw = raw;
    }

    /**
     * @throws IllegalArgumentException when it is no tensor
     */
    void add(
        String name,
        String datatype,
        List<Long> shape,
        Map<String, InferParameter> parameters,
        InferTensorContents contents) {
      Optional<DType> dtype = DType.fromKserveName(datatype);
      if (dtype.isEmpty()) {
        throw new IllegalArgumentException("tensor of " + datatype);
      }
      long[] dims = shape.stream().mapToLong(Long::longValue).toArray();
      byte @Nullable [] data =
          parameters.containsKey(ELSEWHERE) ? null : data(dtype.get(), contents);
      int each = dtype.get().byteSize();
      boolean isWhole = data != null && (each == 0 || data.length % each == 0);
      all.add(new PayloadTensor(name, dtype.get(), Shape.of(dims), isWhole ? data : null));
    }

    private byte[] data(DType dtype, InferTensorContents contents) {
      if (!raw.isEmpty()) {
        return nextRaw < raw.size() ? raw.get(nextRaw++).toByteArray() : new byte[0];
      }
      return switch (dtype) {
        case BOOL ->
            bytes(1, contents.getBoolContentsList(), (to, v) -> to.put((byte) (v ? 1 : 0)));
        case I8, U8 ->
            dtype == DType.I8
                ? bytes(1, contents.getIntContentsList(), (to, v) -> to.put(v.byteValue()))
                : bytes(1, contents.getUintContentsList(), (to, v) -> to.put(v.byteValue()));
        case I16 -> bytes(2, contents.getIntContentsList(), (to, v) -> to.putShort(v.shortValue()));
        case U16 ->
            bytes(2, contents.getUintContentsList(), (to, v) -> to.putShort(v.shortValue()));
        case I32 -> bytes(4, contents.getIntContentsList(), ByteBuffer::putInt);
        case U32 -> bytes(4, contents.getUintContentsList(), ByteBuffer::putInt);
        case I64 -> bytes(8, contents.getInt64ContentsList(), ByteBuffer::putLong);
        case U64 -> bytes(8, contents.getUint64ContentsList(), ByteBuffer::putLong);
        case F32 -> bytes(4, contents.getFp32ContentsList(), ByteBuffer::putFloat);
        case F64 -> bytes(8, contents.getFp64ContentsList(), ByteBuffer::putDouble);
        case BYTES -> texts(contents.getBytesContentsList());
        case F16, BF16, F8_E5M2, F8_E4M3 ->
            throw new IllegalArgumentException("typed contents of " + dtype);
      };
    }

    private interface Put<T> {
      Object put(ByteBuffer to, T value);
    }

    private static <T> byte[] bytes(int each, List<T> values, Put<T> put) {
      ByteBuffer to =
          ByteBuffer.allocate(Math.multiplyExact(each, values.size()))
              .order(ByteOrder.LITTLE_ENDIAN);
      for (T value : values) {
        put.put(to, value);
      }
      return to.array();
    }

    private static byte[] texts(List<ByteString> values) {
      int size = 0;
      for (ByteString value : values) {
        size += Integer.BYTES + value.size();
      }
      ByteBuffer to = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
      for (ByteString value : values) {
        to.putInt(value.size());
        value.copyTo(to);
      }
      return to.array();
    }
  }
}
