package dev.roundhouse.worker.tee;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.kserve.tstream.StreamTensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/**
 * A batch in the format of safetensors: a length, a header in JSON, the tensors. Inputs are named
 * {@code inputs/NAME}, outputs {@code outputs/NAME}: both may have the same name.
 *
 * @param batch borrowed until it is written
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record SafetensorsFile(Batch batch, byte[] header) {
  private static final JsonFactory JSON = new JsonFactory();
  private static final int ALIGNMENT = 64;

  static SafetensorsFile of(Batch batch) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    try (JsonGenerator json = JSON.createGenerator(ObjectWriteContext.empty(), text)) {
      json.writeStartObject();
      json.writeObjectPropertyStart("__metadata__");
      TeeSpec spec = batch.spec();
      json.writeStringProperty("model", spec.model());
      json.writeStringProperty("version", spec.version());
      json.writeStringProperty("generation", Long.toString(spec.generation()));
      json.writeStringProperty("first_row", Long.toString(batch.firstRow()));
      json.writeStringProperty("dropped_rows", Long.toString(batch.dropped()));
      json.writeEndObject();
      long end = write(json, "inputs/", spec.batch().inputs(), 0);
      write(json, "outputs/", spec.batch().outputs(), end);
      json.writeEndObject();
    }
    while ((text.size() + Long.BYTES) % ALIGNMENT != 0) {
      text.write(' '); // so that the first tensor lies well when the file is mapped
    }
    return new SafetensorsFile(batch, text.toByteArray());
  }

  private static long write(JsonGenerator json, String kind, List<StreamTensor> of, long begin) {
    long at = begin;
    for (StreamTensor tensor : of) {
      json.writeObjectPropertyStart(kind + tensor.name());
      json.writeStringProperty("dtype", name(tensor.dtype()));
      json.writeArrayPropertyStart("shape");
      for (long dim : tensor.shape().dims()) {
        json.writeNumber(dim);
      }
      json.writeEndArray();
      json.writeArrayPropertyStart("data_offsets");
      json.writeNumber(at);
      at += tensor.byteSize();
      json.writeNumber(at);
      json.writeEndArray();
      json.writeEndObject();
    }
    return at;
  }

  /** The format's word. */
  private static String name(DType dtype) {
    return switch (dtype) {
      case F64 -> "F64";
      case F32 -> "F32";
      case F16 -> "F16";
      case BF16 -> "BF16";
      case F8_E5M2 -> "F8_E5M2";
      case F8_E4M3 -> "F8_E4M3";
      case I64 -> "I64";
      case I32 -> "I32";
      case I16 -> "I16";
      case I8 -> "I8";
      case U64 -> "U64";
      case U32 -> "U32";
      case U16 -> "U16";
      case U8 -> "U8";
      case BOOL -> "BOOL";
      case BYTES -> throw new IllegalArgumentException("strings are in no batch");
    };
  }

  long byteSize() {
    return Long.BYTES + header.length + batch.spec().batchBytes();
  }

  void write(Path path) throws IOException {
    ByteBuffer head =
        ByteBuffer.allocate(Long.BYTES + header.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(header.length)
            .put(header)
            .flip();
    try (FileChannel file =
        FileChannel.open(
            path,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      write(file, head);
      for (int i = 0; i < batch.spec().tensors().size(); i++) {
        write(file, batch.tensor(i).asByteBuffer());
      }
    }
  }

  private static void write(FileChannel file, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      file.write(bytes);
    }
  }
}
