package dev.roundhouse.benchmarks.client;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** A request over HTTP with binary tensors: {@code x}, FP32, for the whole of {@code y}. */
public record RestRequest(String model, int rows, int elements, ByteString data) {

  /** Head and body. */
  ByteBuffer bytes() {
    String json =
        """
        {"inputs":[{"name":"x","shape":[%d,%d],"datatype":"FP32",\
        "parameters":{"binary_data_size":%d}}],\
        "outputs":[{"name":"y","parameters":{"binary_data":true}}]}"""
            .formatted(rows, elements, data.size());
    String head =
        """
        POST /v2/models/%s/infer HTTP/1.1
        Host: 127.0.0.1
        Content-Type: application/octet-stream
        Inference-Header-Content-Length: %d
        Content-Length: %d

        """
            .formatted(model, json.length(), json.length() + data.size())
            .replace("\n", "\r\n");
    byte[] text = (head + json).getBytes(StandardCharsets.US_ASCII);
    ByteBuffer bytes = ByteBuffer.allocateDirect(text.length + data.size()).put(text);
    data.copyTo(bytes);
    return bytes.flip();
  }
}
