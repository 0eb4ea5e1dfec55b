package dev.roundhouse.engine.schedule;

/**
 * What runs together.
 *
 * @param batchSize rows of the compiled program to use
 * @param requests how many requests, from the front of the queue
 * @param rows rows of those requests; the rest of {@code batchSize} is padding. A front request
 *     with more rows than the largest program runs alone, and only {@code batchSize} rows of it
 */
public record BatchPlan(int batchSize, int requests, int rows) {}
