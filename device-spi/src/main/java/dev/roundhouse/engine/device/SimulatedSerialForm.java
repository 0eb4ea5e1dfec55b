package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.bundle.tensor.TensorType;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * A simulated program as bytes: sha256 of the rest, the device's target, the signature. Each
 * changed byte and each form of another device is refused.
 */
final class SimulatedSerialForm {
  private static final int DIGEST_BYTES = 32;

  private SimulatedSerialForm() {}

  /** What devices have in common that load each other's programs. */
  static String target(DeviceDescription device) {
    return HexFormat.of().formatHex(sha256(device.toString().getBytes(StandardCharsets.UTF_8), 0));
  }

  static byte[] write(DeviceDescription device, ArtifactSignature signature) {
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      bytes.writeBytes(new byte[DIGEST_BYTES]);
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeUTF(target(device));
      write(signature.parameters(), out);
      write(signature.results(), out);
      byte[] form = bytes.toByteArray();
      System.arraycopy(sha256(form, DIGEST_BYTES), 0, form, 0, DIGEST_BYTES);
      return form;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static ArtifactSignature read(DeviceDescription device, String name, byte[] form) {
    if (form.length <= DIGEST_BYTES
        || !Arrays.equals(sha256(form, DIGEST_BYTES), Arrays.copyOf(form, DIGEST_BYTES))) {
      throw refused(name, "its bytes were changed");
    }
    try (DataInputStream in =
        new DataInputStream(
            new ByteArrayInputStream(form, DIGEST_BYTES, form.length - DIGEST_BYTES))) {
      if (!in.readUTF().equals(target(device))) {
        throw refused(name, "it is of another device");
      }
      return new ArtifactSignature(read(in), read(in));
    } catch (IOException e) {
      throw refused(name, "it is too short");
    }
  }

  private static void write(List<TensorType> types, DataOutputStream out) throws IOException {
    out.writeInt(types.size());
    for (TensorType type : types) {
      out.writeUTF(type.dtype().token());
      out.writeInt(type.shape().rank());
      for (long dim : type.shape().dims()) {
        out.writeLong(dim);
      }
    }
  }

  private static List<TensorType> read(DataInputStream in) throws IOException {
    int count = in.readInt();
    List<TensorType> types = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      DType dtype = DType.fromToken(in.readUTF()).orElseThrow();
      long[] dims = new long[in.readInt()];
      for (int axis = 0; axis < dims.length; axis++) {
        dims[axis] = in.readLong();
      }
      types.add(new TensorType(dtype, Shape.of(dims)));
    }
    return types;
  }

  private static DeviceException refused(String name, String why) {
    return new DeviceException(
        DeviceException.Code.INVALID_ARGUMENT,
        "serialised program '" + name + "' refused: " + why + "; compile it again here");
  }

  private static byte[] sha256(byte[] bytes, int from) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(bytes, from, bytes.length - from);
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
