package dev.roundhouse.platform.page;

import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.ApiCategory;
import dev.roundhouse.platform.access.Credentials;
import dev.roundhouse.platform.access.ServletCredentials;
import jakarta.servlet.http.HttpServletRequest;
import tools.jackson.core.JsonGenerator;

/**
 * What may be changed on the port by whoever has opened a page, or might be with a token; the page
 * offers it then.
 *
 * @param control weights, what stays on the device, whether a worker is drained; and recordings
 * @param loaded load a model, or take it out of service
 */
public record Changes(boolean control, boolean loaded) {

  /** By the one who asks. */
  public static Changes of(Access access, HttpServletRequest request) {
    Credentials shown = ServletCredentials.of(request);
    return new Changes(
        access.mightChange(ApiCategory.CONTROL, shown),
        access.mightChange(ApiCategory.MODEL_REPOSITORY, shown));
  }

  /** Writes the property {@code changes}. */
  public void write(JsonGenerator json) {
    json.writeObjectPropertyStart("changes");
    json.writeBooleanProperty("control", control);
    json.writeBooleanProperty("loaded", loaded);
    json.writeEndObject();
  }
}
