package dev.roundhouse.hooks.detection;

import java.nio.FloatBuffer;

/**
 * Features of one image, {@code [channels, height, width]}, from the buffer's position on. Borrows
 * the buffer, whose position stays.
 */
public record FeatureMap(FloatBuffer values, int channels, int height, int width) {

  public FeatureMap {
    long wanted = (long) channels * height * width;
    if (channels < 0 || height < 1 || width < 1 || values.remaining() < wanted) {
      throw new IllegalArgumentException(
          "features [%d, %d, %d] are %d values, the buffer has %d"
              .formatted(channels, height, width, wanted, values.remaining()));
    }
  }
}
