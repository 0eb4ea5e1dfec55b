package dev.roundhouse.kserve.codec;

/**
 * Which sequence a request belongs to, and where in it.
 *
 * @param number to be read as unsigned; 0 when the sequence has a text for a name
 * @param text empty when it has a number
 */
public record SequenceParameters(long number, String text, boolean start, boolean end) {}
