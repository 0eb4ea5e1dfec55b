package dev.roundhouse.hooks.detection;

import java.nio.FloatBuffer;

/**
 * Boxes in descending order of their scores.
 *
 * @param count how many there are
 * @param boxes {@code [count, 4]}: left, top, right, bottom
 * @param scores {@code [count]}
 */
public record ScoredBoxes(int count, FloatBuffer boxes, FloatBuffer scores) {}
