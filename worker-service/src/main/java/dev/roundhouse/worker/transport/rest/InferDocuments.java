package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.platform.rest.Body;
import dev.roundhouse.platform.rest.MemoryHold;
import dev.roundhouse.worker.transport.ModelLookup;
import org.jspecify.annotations.Nullable;

/** Reads bodies of inference requests in whichever form they have. Thread-safe. */
final class InferDocuments {
  private final ModelLookup models;

  InferDocuments(ModelLookup models) {
    this.models = models;
  }

  /**
   * Reads a request for the model that its path names. The body counts on in {@code memory} only
   * where tensors lie in it.
   *
   * @param jsonHeader the request's Inference-Header-Content-Length: how much of the body is JSON
   * @throws WireException when it is not a request, or there is no room for its tensors
   */
  InferDocument read(
      String name, String version, @Nullable String jsonHeader, Body body, MemoryHold memory) {
    int jsonLength = jsonLength(jsonHeader, body.length());
    InferDocument document;
    if (jsonHeader != null && jsonLength == 0) {
      ModelSpec spec = models.ready(name, version).spec().orElseThrow();
      document = RawInfer.read(name, version, spec.clientInputs(), body, memory);
    } else {
      document = InferReader.read(name, version, body, jsonLength, memory);
    }
    if (!document.sharesBody()) {
      memory.giveBack(body.bytes().length);
    }
    return document;
  }

  private static int jsonLength(@Nullable String header, int bodyLength) {
    if (header == null) {
      return bodyLength;
    }
    try {
      int length = Integer.parseInt(header.strip());
      if (length >= 0 && length <= bodyLength) {
        return length;
      }
    } catch (NumberFormatException e) {
      // answered below
    }
    throw WireException.invalidArgument(
        "Unable to parse %s, got: '%s'; it must be a number of bytes from 0 to the body's %d"
            .formatted(InferWriter.JSON_LENGTH, header, bodyLength));
  }
}
