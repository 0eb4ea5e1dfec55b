package dev.roundhouse.worker.transport.text;

/**
 * What a model made of all rows.
 *
 * @param numbers of each row, one row after the other
 * @param width numbers of one row
 * @param tokens of all rows; 0 when the model does not say
 */
record TextResults(float[] numbers, int width, long tokens) {}
