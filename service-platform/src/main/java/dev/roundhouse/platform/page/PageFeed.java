package dev.roundhouse.platform.page;

import tools.jackson.core.JsonGenerator;

/** What an application's page shows. Thread-safe. */
public interface PageFeed {
  /**
   * For a page that has been opened.
   *
   * @param changes that it may offer
   */
  Reader open(Changes changes);

  /** What one open page is told. One thread's. */
  interface Reader {
    /** Writes the first event's data, one value. */
    void begin(JsonGenerator json);

    /**
     * Writes a later event's data, one value: what is news since the last.
     *
     * @return false when there is more that should follow at once, true when a second may pass
     */
    boolean next(JsonGenerator json);
  }
}
