package dev.roundhouse.platform.operators;

import org.jspecify.annotations.Nullable;

/**
 * What a process has answered.
 *
 * @param value null when it has not, or not with 200
 * @param status of HTTP; 0 when there was no answer
 * @param failure why there is no value; empty when there is one
 */
record Answer<T>(
    OperatorsPort port, @Nullable T value, int status, String failure, double seconds) {}
